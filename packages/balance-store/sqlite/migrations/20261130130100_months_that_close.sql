-- Months that are closed, and the statements that were issued for them.

CREATE TABLE closed_month (
  month TEXT NOT NULL PRIMARY KEY,
  from_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL UNIQUE,
  zone TEXT NOT NULL,
  figures TEXT NOT NULL,
  digest TEXT NOT NULL,
  previous_hash TEXT NOT NULL,
  block INTEGER NOT NULL,
  block_hash TEXT NOT NULL,
  closed_at INTEGER NOT NULL,
  closed_by TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

CREATE TABLE issued_statement (
  issuer TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  kind TEXT NOT NULL CHECK (kind IN ('statement', 'credit_note')),
  month TEXT NOT NULL,
  account_id TEXT NOT NULL,
  contents TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (issuer, number),
  UNIQUE (month, account_id, kind)
) STRICT;

CREATE TRIGGER closed_month_fence_update BEFORE UPDATE ON closed_month
BEGIN SELECT raise(ABORT, 'UPDATE on closed_month is refused: a closed month is final'); END;
CREATE TRIGGER closed_month_fence_delete BEFORE DELETE ON closed_month
BEGIN SELECT raise(ABORT, 'DELETE on closed_month is refused: a closed month is final'); END;
CREATE TRIGGER issued_statement_fence_update BEFORE UPDATE ON issued_statement
BEGIN SELECT raise(ABORT, 'UPDATE on issued_statement is refused: it is issued'); END;
CREATE TRIGGER issued_statement_fence_delete BEFORE DELETE ON issued_statement
BEGIN SELECT raise(ABORT, 'DELETE on issued_statement is refused: it is issued'); END;
