-- The first day of a time's month in UTC, as days since 1970-01-01.
CREATE OR REPLACE FUNCTION "month_start"("p_moment" TIMESTAMPTZ) RETURNS INTEGER
LANGUAGE sql IMMUTABLE AS $$
  SELECT date_trunc('month', "p_moment" AT TIME ZONE 'UTC')::DATE - DATE '1970-01-01'
$$;
