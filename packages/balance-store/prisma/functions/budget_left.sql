-- What is left of a budget for this subject, not below zero. A period that begins later counts, too:
-- the clock was set back since the last charge.
CREATE OR REPLACE FUNCTION "budget_left"("b" "budget", "p_subject" TEXT, "p_moment" TIMESTAMPTZ)
RETURNS NUMERIC LANGUAGE sql STABLE AS $$
  SELECT greatest(0, m."amount" - coalesce((
    SELECT u."used" FROM "budget_use" u
    WHERE u."budget_id" = b."id" AND u."subject" = "p_subject"
      AND u."start_at" >= "budget_start"(b, "p_moment")
    ORDER BY u."start_at" DESC LIMIT 1
  ), 0)) FROM "budget_amount"(b, "p_subject", "p_moment") m
$$;
