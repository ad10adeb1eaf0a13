-- The sums of an archive are written in small transactions before the archive is recorded, and
-- count from then on. An interrupted archive leaves sums that count for nothing: they may be
-- deleted, and no charge may be deleted because of them.

DROP TRIGGER ledger_carry_fence_delete;
CREATE TRIGGER ledger_carry_fence_delete BEFORE DELETE ON ledger_carry
WHEN EXISTS (SELECT 1 FROM ledger_archive WHERE id = OLD.archive_id)
BEGIN SELECT raise(ABORT, 'DELETE on ledger_carry is refused: an archive is final'); END;

DROP TRIGGER ledger_fence_delete;
CREATE TRIGGER ledger_fence_delete BEFORE DELETE ON ledger
WHEN OLD.kind <> 'charge' OR OLD.seq > coalesce(
  (SELECT to_seq FROM ledger_carry WHERE account_id = OLD.account_id AND from_seq <= OLD.seq
    AND archive_id <= (SELECT max(id) FROM ledger_archive)
    ORDER BY from_seq DESC LIMIT 1), 0)
BEGIN SELECT raise(ABORT, 'DELETE on ledger is refused: corrections are new entries'); END;
