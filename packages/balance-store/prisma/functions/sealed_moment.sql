-- A time as milliseconds since the epoch, in the form of "sealed_field".
CREATE OR REPLACE FUNCTION "sealed_moment"("p_moment" TIMESTAMPTZ) RETURNS TEXT
LANGUAGE sql STABLE AS $$
  SELECT "sealed_field"((extract(epoch FROM "p_moment") * 1000)::BIGINT::TEXT)
$$;
