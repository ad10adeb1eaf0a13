-- What is left of the credits of an account that have expired, as far as their expiry is not booked
-- yet. Nobody may spend it. Charges take from the credits that expire first, so the spending that is
-- not taken from the credits yet (see "allotted") is all taken from these, if they cover it.
--
-- Call it only for an account whose "next_expiry_at" has passed. `src/ledger/books/lots.ts` has the
-- same rule.
CREATE OR REPLACE FUNCTION "expired_credit"("p_account" "account", "p_moment" TIMESTAMPTZ)
RETURNS NUMERIC LANGUAGE sql STABLE AS $$
  SELECT greatest(0, coalesce(sum(l."remaining"), 0) - ("p_account"."spent" - "p_account"."allotted"))
  FROM "credit_lot" l
  WHERE l."account_id" = "p_account"."id" AND l."remaining" > 0 AND l."expires_at" <= "p_moment"
$$;
