-- Decides whether a key is active, or why it is disabled. On PostgreSQL, no other code decides
-- this. The standing is derived and never stored, so a credit that races with an exhausting charge
-- cannot leave the key in the wrong state.
--
-- "uncovered" is what responses cost since the last credit beyond what the balance could cover. It
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
