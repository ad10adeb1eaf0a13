-- The hour of a time in UTC, as hours since 1970-01-01.
CREATE OR REPLACE FUNCTION "hour_of"("p_moment" TIMESTAMPTZ) RETURNS INTEGER
LANGUAGE sql IMMUTABLE AS $$
  SELECT floor(extract(epoch FROM "p_moment" AT TIME ZONE 'UTC') / 3600)::INTEGER
$$;
