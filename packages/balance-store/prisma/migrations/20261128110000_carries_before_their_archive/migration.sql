-- The sums of an archive are written in small transactions before the archive is recorded, and
-- count from then on. An interrupted archive leaves sums that count for nothing: they may be
-- deleted. So the fence looks at each row, with "refuse_uncarried", whose text knows both tables.

DROP TRIGGER "ledger_carry_fence" ON "ledger_carry";
CREATE TRIGGER "ledger_carry_fence" BEFORE UPDATE OR TRUNCATE ON "ledger_carry"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_carry_delete_fence" BEFORE DELETE ON "ledger_carry"
  FOR EACH ROW EXECUTE FUNCTION "refuse_uncarried"();
