-- The day of a time in UTC, as days since 1970-01-01. Like "hour_of", it uses only what is immutable:
-- otherwise PostgreSQL would not put the expression into the queries that call it, but parse and plan
-- it anew in each of them.
CREATE OR REPLACE FUNCTION "day_of"("p_moment" TIMESTAMPTZ) RETURNS INTEGER
LANGUAGE sql IMMUTABLE AS $$
  SELECT ("p_moment" AT TIME ZONE 'UTC')::DATE - DATE '1970-01-01'
$$;
