-- The state of a key in its account: while the account is suspended, so is each key that would be
-- active. The key's own state stays as it is, and counts again when the account is resumed. Closing
-- an account revokes its keys; nothing else could make one of them work.
CREATE OR REPLACE FUNCTION "state_in"("account_state" TEXT, "key_state" TEXT)
RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN "account_state" = 'closed' THEN 'revoked'
    WHEN "key_state" = 'active' THEN "account_state"
    ELSE "key_state"
  END
$$;
