-- The cap of a key that leaves the least to spend, or no row if the key has no caps.
CREATE OR REPLACE FUNCTION "tightest_cap"("p_key" "api_key", "p_moment" TIMESTAMPTZ)
RETURNS TABLE ("period" TEXT, "cap" NUMERIC, "used" NUMERIC)
LANGUAGE sql STABLE AS $$
  SELECT c."period", c."cap", c."used" FROM "caps_of"("p_key", "p_moment") c
  WHERE num_nonnulls("p_key"."cap_day", "p_key"."cap_week", "p_key"."cap_month",
    "p_key"."cap_total") > 0
  ORDER BY c."cap" - c."used", c."period" LIMIT 1
$$;
