-- The reserves of the chains of the budgets that count a request of this key and spender at this time,
-- with what is left of each: as "budget_states".
CREATE OR REPLACE FUNCTION "reserve_states"(
  "p_account" TEXT, "p_key" TEXT, "p_spender" JSONB, "p_moment" TIMESTAMPTZ
) RETURNS TABLE (
  "budget" "budget", "subject" TEXT, "amount" NUMERIC, "used" NUMERIC, "held" NUMERIC
)
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE "chain" AS (
    SELECT n."id" FROM "budget" b
    CROSS JOIN LATERAL "next_budget"(b, "p_moment") n
    WHERE b."account_id" = "p_account" AND b."ended_seq" IS NULL AND b."then_id" IS NOT NULL
      AND "budget_subject"(b, "p_key", "p_spender") IS NOT NULL
      AND "budget_start"(b, "p_moment") IS NOT NULL
    UNION
    SELECT n."id" FROM "chain" c
    JOIN "budget" b ON b."id" = c."id"
    CROSS JOIN LATERAL "next_budget"(b, "p_moment") n
  )
  SELECT b, '', m."amount", coalesce(u."used", 0),
    "reserve_need"(b, NULL, NULL, 0, "p_moment")
  FROM "chain" c
  JOIN "budget" b ON b."id" = c."id"
  CROSS JOIN LATERAL "budget_amount"(b, '', "p_moment") m
  LEFT JOIN LATERAL (
    SELECT "used" FROM "budget_use" u
    WHERE u."budget_id" = b."id" AND u."subject" = ''
      AND u."start_at" >= "budget_start"(b, "p_moment")
    ORDER BY u."start_at" DESC LIMIT 1
  ) u ON true
$$;
