-- The cap of a key that leaves the least to spend, or no row if the key has no caps. Gateways of the
-- previous version call it, too.
CREATE OR REPLACE FUNCTION "tightest_cap"("p_key" "api_key", "p_moment" TIMESTAMPTZ)
RETURNS TABLE ("period" TEXT, "cap" NUMERIC, "used" NUMERIC)
LANGUAGE sql STABLE AS $$
  SELECT c."period", c."cap", c."used" FROM (
    SELECT CASE b."period" WHEN 'once' THEN 'total' ELSE b."period" END AS "period",
      b."amount" AS "cap", coalesce((
        SELECT max(u."used") FROM "budget_use" u
        WHERE u."budget_id" = b."id" AND u."start_at" >= "budget_start"(b, "p_moment")
      ), 0) AS "used"
    FROM "budget" b
    WHERE b."account_id" = "p_key"."account_id" AND coalesce(b."subject", '') = "p_key"."id"
      AND b."ended_seq" IS NULL AND b."is_cap"
  ) c
  ORDER BY c."cap" - c."used", c."period" LIMIT 1
$$;
