-- The state of a key in its account: while the account is suspended, so is each key that would be
-- active. The key's own state stays as it is, and counts again when the account is resumed.
CREATE OR REPLACE FUNCTION "state_in"("account_state" TEXT, "key_state" TEXT)
RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN "key_state" = 'active' THEN "account_state" ELSE "key_state" END
$$;
