-- Credit that has expired is not spendable from that moment on, also before its expiry is booked. So
-- that an account without such a credit costs nothing more to read, its row has the earliest expiry
-- of its credits. It also has what took the balance to zero, if that was not charges: who is refused
-- then learns the reason.

ALTER TABLE account ADD COLUMN next_expiry_at INTEGER;
ALTER TABLE account ADD COLUMN emptied_by TEXT;
UPDATE account SET next_expiry_at = (
  SELECT min(expires_at) FROM credit_lot
  WHERE account_id = account.id AND remaining <> '0.00000000000000'
);
