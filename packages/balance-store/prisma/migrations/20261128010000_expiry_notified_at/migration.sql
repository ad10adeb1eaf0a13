-- The column holds the expiry for which the event "key.expiring" was written. Its name now says so
-- in the words of the code. The view names its columns itself, so it is renamed there too.

ALTER TABLE "api_key" RENAME COLUMN "expiry_told_at" TO "expiry_notified_at";
ALTER VIEW "key_standing" RENAME COLUMN "expiry_told_at" TO "expiry_notified_at";
