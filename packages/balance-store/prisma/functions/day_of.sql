-- The day of a time in UTC, as days since 1970-01-01.
CREATE OR REPLACE FUNCTION "day_of"("p_moment" TIMESTAMPTZ) RETURNS INTEGER
LANGUAGE sql IMMUTABLE AS $$
  SELECT floor(extract(epoch FROM "p_moment") / 86400)::INTEGER
$$;
