-- Chains of budgets, and budgets of runs that the request that starts a run sets.

-- The parts of a charge that other budgets paid, as JSON.
ALTER TABLE ledger ADD COLUMN parts TEXT;

ALTER TABLE budget ADD COLUMN then_id TEXT;
ALTER TABLE budget ADD COLUMN counts TEXT CHECK (counts = 'passed');
ALTER TABLE budget ADD COLUMN only_for TEXT;
CREATE INDEX budget_then_idx ON budget (then_id) WHERE then_id IS NOT NULL;
CREATE INDEX budget_only_for_idx ON budget (account_id, subject)
  WHERE only_for IS NOT NULL AND ended_seq IS NULL;

-- What a run has spent before it gets a budget.
CREATE INDEX spender_run_idx ON spender (account_id, run) WHERE run IS NOT NULL;
