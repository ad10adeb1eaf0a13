-- The budgets of an account that count a request of this key and spender at this time, with what is
-- left of each: those that refuse first, then the one with the least left. A period that begins later
-- counts, too: the clock was set back since the last charge.
CREATE OR REPLACE FUNCTION "budget_states"(
  "p_account" TEXT, "p_key" TEXT, "p_spender" JSONB, "p_moment" TIMESTAMPTZ
) RETURNS TABLE (
  "budget" "budget", "subject" TEXT, "amount" NUMERIC, "used" NUMERIC, "held" NUMERIC
)
LANGUAGE sql STABLE AS $$
  SELECT b, s."subject", m."amount", coalesce(u."used", 0),
    coalesce((
      SELECT sum(h."amount") FROM "hold" h
      WHERE h."account_id" = "p_account" AND h."orphaned_at" IS NULL
        AND "budget_subject"(b, h."key_id", h."spender") = s."subject"
    ), 0)
  FROM "budget" b
  CROSS JOIN LATERAL (
    SELECT "budget_subject"(b, "p_key", "p_spender") AS "subject",
      "budget_start"(b, "p_moment") AS "start_at"
  ) s
  CROSS JOIN LATERAL "budget_amount"(b, s."subject", "p_moment") m
  LEFT JOIN LATERAL (
    SELECT "used" FROM "budget_use" u
    WHERE u."budget_id" = b."id" AND u."subject" = s."subject" AND u."start_at" >= s."start_at"
    ORDER BY u."start_at" DESC LIMIT 1
  ) u ON true
  WHERE b."account_id" = "p_account" AND b."ended_seq" IS NULL
    AND coalesce(b."subject", '') = ANY ("budget_subjects"("p_key", "p_spender"))
    AND s."subject" IS NOT NULL AND s."start_at" IS NOT NULL
$$;
