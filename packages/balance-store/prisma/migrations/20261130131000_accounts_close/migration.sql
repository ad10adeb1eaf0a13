-- An account can be closed: its keys are revoked, it has no money, and it gets none.

-- The rows satisfy the new constraint, because they satisfied the old one.
ALTER TABLE "account" DROP CONSTRAINT "account_state";
ALTER TABLE "account" ADD CONSTRAINT "account_state"
  CHECK ("state" IN ('active', 'suspended', 'closed')) NOT VALID;
