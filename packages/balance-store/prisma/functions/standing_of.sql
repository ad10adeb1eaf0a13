-- Decides whether a key is active, or why it is disabled. On PostgreSQL, each read of a key's
-- standing calls this function. The counts of an account's active keys and the event
-- `balance.exhausted` repeat its conditions, so change them together. The standing is derived and
-- never stored, so a credit that races with an exhausting charge cannot leave the key in the wrong
-- state.
--
-- "uncovered" is the part of the charges since the last credit that the balance could not cover. It
-- is the operator's loss. The key stays exhausted until the next credit, even if the balance is
-- above zero once other holds have ended. Otherwise the same loss could be caused again and again.
CREATE OR REPLACE FUNCTION "standing_of"(
  "state" TEXT, "expires_at" TIMESTAMPTZ, "balance" NUMERIC, "uncovered" NUMERIC
) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN "state" <> 'active' THEN "state"
    WHEN "expires_at" <= now() THEN 'expired'
    WHEN "balance" <= 0 OR "uncovered" > 0 THEN 'exhausted'
    ELSE 'active'
  END
$$;
