-- Whether the keys of members show the balance of the account. Null: as before, calls do, and the
-- customer's page does not.

ALTER TABLE account ADD COLUMN members_see_balance INTEGER;
