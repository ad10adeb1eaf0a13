-- When the period of a budget that a time is in began, in milliseconds since 1970; null if the budget
-- counts nothing at that time. src/ledger/rules/budgets.ts has the same rule.
CREATE OR REPLACE FUNCTION "budget_start"("b" "budget", "p_moment" TIMESTAMPTZ)
RETURNS BIGINT LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN "p_moment" < b."from_at" OR "p_moment" >= b."until_at" THEN NULL
    WHEN b."period" = 'once' THEN coalesce((extract(epoch FROM b."from_at") * 1000)::BIGINT, 0)
    ELSE (extract(epoch FROM date_trunc(b."period", "p_moment", b."zone")) * 1000)::BIGINT
  END
$$;
