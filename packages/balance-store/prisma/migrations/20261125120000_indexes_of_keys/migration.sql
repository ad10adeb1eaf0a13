-- Holders create keys and revoke them, and revoked keys are never deleted. With these indexes, work
-- on the keys that are not revoked reads only those, a page of an account's keys reads only its own
-- rows, and the trail of a key or an account is read without the trail of the others.

DROP INDEX "api_key_account_id_idx";
CREATE INDEX "api_key_account_id_id_idx" ON "api_key" ("account_id", "id");
CREATE INDEX "api_key_not_revoked_idx" ON "api_key" ("account_id", "id") WHERE "state" <> 'revoked';
CREATE INDEX "api_key_expiry_idx" ON "api_key" ("expires_at") WHERE "state" = 'active';
CREATE INDEX "trail_account_id_seq_idx" ON "trail" ("account_id", "seq");
CREATE INDEX "trail_key_id_seq_idx" ON "trail" ("key_id", "seq");
