-- No entry is earlier than the one before it in its account, even if the clock is set back. So that a
-- charge writes nothing more, the row of an account has the time of its last charge already; now it
-- has that of its last other entry, too. At first it is that of the last entry, whatever it is.

ALTER TABLE "account" ADD COLUMN "last_booked_at" TIMESTAMPTZ(3);
UPDATE "account" a SET "last_booked_at" = (
  SELECT l."created_at" FROM "ledger" l WHERE l."account_id" = a."id" AND l."seq" = a."seq"
);
