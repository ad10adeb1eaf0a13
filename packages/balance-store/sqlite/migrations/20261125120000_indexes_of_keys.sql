-- Holders create keys and revoke them, and revoked keys are never deleted. With these indexes, work
-- on the keys that are not revoked reads only those, and the trail of a key or an account is read
-- without the trail of the others.

CREATE INDEX api_key_not_revoked_idx ON api_key (account_id) WHERE state <> 'revoked';
CREATE INDEX api_key_expiry_idx ON api_key (expires_at) WHERE state = 'active';
CREATE INDEX trail_account_id_idx ON trail (account_id);
CREATE INDEX trail_key_id_idx ON trail (key_id);
