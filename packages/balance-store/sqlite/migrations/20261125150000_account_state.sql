-- An operator can suspend an account as a whole, with all its keys, those that are created later too.

ALTER TABLE account ADD COLUMN state TEXT NOT NULL DEFAULT 'active'
  CHECK (state IN ('active', 'suspended'));
