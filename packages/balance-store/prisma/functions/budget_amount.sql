-- The amount of a budget with the raises of this subject at this time. A row, because PostgreSQL puts
-- only a function that returns rows into the query that calls it, if it aggregates.
CREATE OR REPLACE FUNCTION "budget_amount"("b" "budget", "p_subject" TEXT, "p_moment" TIMESTAMPTZ)
RETURNS TABLE ("amount" NUMERIC) LANGUAGE sql STABLE AS $$
  SELECT b."amount" + coalesce(sum(r."amount"), 0) FROM "budget_raise" r
  WHERE r."budget_id" = b."id" AND r."from_at" <= "p_moment" AND r."until_at" > "p_moment"
    AND (r."subject" IS NULL OR r."subject" = "p_subject")
$$;
