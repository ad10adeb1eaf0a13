-- No entry is earlier than the one before it in its account, even if the clock is set back. So that a
-- charge writes nothing more, the row of an account has the time of its last charge already; now it
-- has that of its last other entry, too. At first it is that of the last entry, whatever it is.

ALTER TABLE account ADD COLUMN last_booked_at INTEGER;
UPDATE account SET last_booked_at = (
  SELECT created_at FROM ledger WHERE ledger.account_id = account.id AND ledger.seq = account.seq
);

-- Earlier versions followed the clock, so an audit compares only entries after this row of the trail.
-- A new ledger has no such row.
INSERT INTO trail (seq, created_at, actor, action, details)
  SELECT coalesce((SELECT max(seq) FROM trail), 0) + 1,
    max(CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), e.last),
    'migration', 'ledger.ordered', '{}'
  FROM (SELECT max(created_at) AS last FROM ledger) e
  WHERE e.last IS NOT NULL;
