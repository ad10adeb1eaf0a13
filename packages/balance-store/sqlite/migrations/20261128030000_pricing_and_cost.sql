-- A charge can have fees besides its tokens, rates that depend on circumstances, and a cost to the
-- operator. Totals of usage have the sums of fees and costs, and how many requests have a known
-- cost. Earlier charges have none of these; their digests stay the same.

ALTER TABLE ledger ADD COLUMN pricing TEXT;
ALTER TABLE ledger ADD COLUMN cost TEXT;

ALTER TABLE usage_hour ADD COLUMN fees TEXT NOT NULL DEFAULT '0.00000000000000';
ALTER TABLE usage_hour ADD COLUMN cost TEXT NOT NULL DEFAULT '0.00000000000000';
ALTER TABLE usage_hour ADD COLUMN costed INTEGER NOT NULL DEFAULT 0;

ALTER TABLE usage_day ADD COLUMN fees TEXT NOT NULL DEFAULT '0.00000000000000';
ALTER TABLE usage_day ADD COLUMN cost TEXT NOT NULL DEFAULT '0.00000000000000';
ALTER TABLE usage_day ADD COLUMN costed INTEGER NOT NULL DEFAULT 0;
