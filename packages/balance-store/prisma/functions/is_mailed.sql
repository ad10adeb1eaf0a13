-- Whether an event is also sent by mail, if there is an address for it. A balance or a budget that is
-- used up is one mail, not a second one for the share of 100 %.
-- `src/ledger/rows/mailed-events.ts` has the same rule.
CREATE OR REPLACE FUNCTION "is_mailed"("p_type" TEXT, "p_data" JSONB)
RETURNS BOOLEAN LANGUAGE sql IMMUTABLE AS $$
  SELECT "p_type" IN ('balance.share', 'balance.exhausted', 'cap.share', 'budget.reached',
      'budget.share', 'auto_top_up.failed', 'key.new_model', 'key.new_network', 'key.pace')
    AND NOT ("p_type" IN ('balance.share', 'budget.share') AND "p_data" ->> 'share' = '100')
$$;
