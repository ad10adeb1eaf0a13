-- The budget that leaves too little for a hold of this key, spender and amount, of a chain its last
-- one; no row if there is none. Of a chain, "chain_left" is what is not used yet in all of its
-- budgets, and "chain_room" what could be held now. src/ledger/rules/chains.ts has the same rule.
--
-- Call it while the account's row is locked.
CREATE OR REPLACE FUNCTION "lacking_budget"(
  "p_account" TEXT, "p_key" TEXT, "p_spender" JSONB, "p_amount" NUMERIC, "p_moment" TIMESTAMPTZ
) RETURNS TABLE (
  "budget" "budget", "subject" TEXT, "amount" NUMERIC, "used" NUMERIC, "held" NUMERIC,
  "chain_left" NUMERIC, "chain_room" NUMERIC
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  t RECORD;
  final "budget"%ROWTYPE;
  payer "budget"%ROWTYPE;
  hard BOOLEAN;
  left_in_last NUMERIC;
  left_in_all NUMERIC;
  need NUMERIC;
  excess NUMERIC;
BEGIN
  FOR t IN
    SELECT s."budget" AS "b", s."subject", s."amount", s."used", s."held"
    FROM "budget_states"("p_account", "p_key", "p_spender", "p_moment") s
    WHERE (s."budget")."action" = 'refuse'
      AND (s."used" >= s."amount" OR s."used" + s."held" + "p_amount" > s."amount")
    ORDER BY s."amount" - s."used" - s."held", (s."budget")."id"
  LOOP
    final := t."b";
    hard := true;
    left_in_all := greatest(0, t."amount" - t."used");
    LOOP
      SELECT n.* INTO payer FROM "next_budget"(final, "p_moment") n;
      EXIT WHEN NOT FOUND;
      final := payer;
      hard := hard AND final."action" = 'refuse';
      left_in_last := "budget_left"(final, '', "p_moment");
      left_in_all := left_in_all + left_in_last;
    END LOOP;
    IF final."counts" IS NULL THEN
      RETURN QUERY SELECT t."b", t."subject", t."amount", t."used", t."held", NULL::NUMERIC,
        NULL::NUMERIC;
      RETURN;
    END IF;
    CONTINUE WHEN NOT hard;
    need := "reserve_need"(final, NULL, NULL, 0, "p_moment");
    -- A hold that leaves the need of the last one as it is fits, whatever others hold.
    excess := "reserve_need"(final, "p_key", "p_spender", "p_amount", "p_moment")
      - greatest(left_in_last, need);
    IF left_in_all <= 0 OR excess > 0 THEN
      RETURN QUERY SELECT s."budget", s."subject", s."amount", s."used", need, left_in_all,
          CASE WHEN excess > 0 THEN "p_amount" - excess ELSE 0 END
        FROM "reserve_states"("p_account", "p_key", "p_spender", "p_moment") s
        WHERE (s."budget")."id" = final."id";
      RETURN;
    END IF;
  END LOOP;
END
$$;
