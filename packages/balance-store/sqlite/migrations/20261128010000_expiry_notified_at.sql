-- The column holds the expiry for which the event "key.expiring" was written. Its name now says so
-- in the words of the code.

ALTER TABLE api_key RENAME COLUMN expiry_told_at TO expiry_notified_at;
