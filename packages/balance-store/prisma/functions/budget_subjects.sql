-- The subjects by which the budgets that may count a request of this key and spender are looked up, as
-- the index "budget_live_idx" has them: empty for budgets without a subject.
CREATE OR REPLACE FUNCTION "budget_subjects"("p_key" TEXT, "p_spender" JSONB) RETURNS TEXT[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['', "p_key", "p_spender" ->> 'memberId', "p_spender" ->> 'tag', "p_spender" ->> 'run']
    || string_to_array("p_spender" ->> 'groups', '/')
$$;
