-- The reserve that pays when a budget is empty, if it counts at this time.
CREATE OR REPLACE FUNCTION "next_budget"("b" "budget", "p_moment" TIMESTAMPTZ)
RETURNS SETOF "budget" LANGUAGE sql STABLE AS $$
  SELECT n.* FROM "budget" n
  WHERE n."id" = b."then_id" AND n."ended_seq" IS NULL
    AND "budget_start"(n, "p_moment") IS NOT NULL
$$;
