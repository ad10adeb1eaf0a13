-- What live holds, and one more of this key, spender and amount, may use of a reserve: what does not
-- fit into the budgets that it pays for. src/embedded/sqlite/chains.ts has the same rule.
CREATE OR REPLACE FUNCTION "reserve_need"(
  "r" "budget", "p_key" TEXT, "p_spender" JSONB, "p_amount" NUMERIC, "p_moment" TIMESTAMPTZ
) RETURNS NUMERIC
LANGUAGE plpgsql STABLE AS $$
DECLARE
  payer "budget"%ROWTYPE;
  need NUMERIC := 0;
BEGIN
  FOR payer IN
    SELECT b.* FROM "budget" b
    WHERE b."then_id" = r."id" AND b."counts" IS NOT NULL AND b."ended_seq" IS NULL
      AND "budget_start"(b, "p_moment") IS NOT NULL
  LOOP
    need := need + greatest(0, "reserve_need"(payer, "p_key", "p_spender", "p_amount", "p_moment")
      - "budget_left"(payer, '', "p_moment"));
  END LOOP;
  RETURN need + (
    SELECT coalesce(sum(greatest(0, w."held" - "budget_left"(w."b", w."subject", "p_moment"))), 0)
    FROM (
      SELECT b, c."subject", sum(h."amount") AS "held"
      FROM "budget" b
      CROSS JOIN (
        SELECT "key_id", "spender", "amount" FROM "hold"
        WHERE "account_id" = r."account_id" AND "orphaned_at" IS NULL
        UNION ALL SELECT "p_key", "p_spender", "p_amount"
      ) h
      CROSS JOIN LATERAL (SELECT "budget_subject"(b, h."key_id", h."spender") AS "subject") c
      WHERE b."then_id" = r."id" AND b."counts" IS NULL AND b."ended_seq" IS NULL
        AND "budget_start"(b, "p_moment") IS NOT NULL AND c."subject" IS NOT NULL
      GROUP BY b."id", c."subject"
    ) w
  );
END
$$;
