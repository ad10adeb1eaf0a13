-- The customer of an account chooses at which shares of its balance and of its keys' caps, in
-- percent, an event is written. A share of the balance is one of the balance after the last credit.

ALTER TABLE account ADD COLUMN notice_shares TEXT NOT NULL DEFAULT '[]';
ALTER TABLE account ADD COLUMN notice_base TEXT NOT NULL DEFAULT '0.00000000000000';
