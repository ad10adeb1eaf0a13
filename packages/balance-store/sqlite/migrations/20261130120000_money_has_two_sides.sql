-- An entry says from where to where money goes, and a charge says which part of it was paid from given
-- money. Of earlier entries nobody recorded this: they stay as they are, and before its next booking
-- each account gets an entry "opening:<account>", which states how much of its balance was given.

ALTER TABLE ledger ADD COLUMN given TEXT;
ALTER TABLE ledger ADD COLUMN counter TEXT;
ALTER TABLE ledger ADD COLUMN tax TEXT;
ALTER TABLE ledger ADD COLUMN fee TEXT;
ALTER TABLE ledger ADD COLUMN lots TEXT;
ALTER TABLE ledger ADD COLUMN reverses TEXT;
-- Only few rows have it, so the index has only these.
CREATE UNIQUE INDEX ledger_reverses_key ON ledger (reverses) WHERE reverses IS NOT NULL;

-- A fee, and the entry that opens an account, move money only between accounts of the operator. SQLite
-- can change a constraint only in the text of the schema; the rows satisfy the new one as well.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'delta <> ''0.00000000000000'' AND written_off = ''0.00000000000000'' AND actor IS NOT NULL',
    '(delta = ''0.00000000000000'') = (reason IN (''fee'', ''opening''))
        AND written_off = ''0.00000000000000'' AND actor IS NOT NULL'),
    '''write_off'', ''transfer'')',
    '''write_off'', ''transfer'', ''fee'', ''opening'')')
  WHERE type = 'table' AND name = 'ledger';
PRAGMA writable_schema = RESET;

ALTER TABLE account ADD COLUMN given TEXT NOT NULL DEFAULT '0.00000000000000';
ALTER TABLE account ADD COLUMN opened INTEGER NOT NULL DEFAULT FALSE;
CREATE INDEX account_not_opened_idx ON account (id) WHERE NOT opened;

CREATE TABLE money_hour (
  account_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  side TEXT NOT NULL,
  amount TEXT NOT NULL,
  PRIMARY KEY (account_id, hour, side)
) STRICT, WITHOUT ROWID;
CREATE INDEX money_hour_hour_idx ON money_hour (hour);
