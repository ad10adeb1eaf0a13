-- No entry is earlier than the one before it in its account, even if the clock is set back. So that a
-- charge writes nothing more, the row of an account has the time of its last charge already; now it
-- has that of its last other entry, too. At first it is that of the last entry, whatever it is.

ALTER TABLE "account" ADD COLUMN "last_booked_at" TIMESTAMPTZ(3);
UPDATE "account" a SET "last_booked_at" = (
  SELECT l."created_at" FROM "ledger" l WHERE l."account_id" = a."id" AND l."seq" = a."seq"
);

-- Earlier versions followed the clock, so an audit compares only entries after this row of the trail.
-- A new ledger has no such row. The number is that of the lock on the trail.
SELECT pg_advisory_xact_lock(72707372);
INSERT INTO "trail" ("seq", "created_at", "actor", "action", "details")
  SELECT coalesce((SELECT max("seq") FROM "trail"), 0) + 1, greatest(clock_timestamp(), e."last"),
    'migration', 'ledger.ordered', '{}'
  FROM (SELECT max("created_at") AS "last" FROM "ledger") e
  WHERE e."last" IS NOT NULL;
