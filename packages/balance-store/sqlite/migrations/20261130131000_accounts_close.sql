-- An account can be closed: its keys are revoked, it has no money, and it gets none.

-- SQLite can change a constraint only in the text of the schema; the rows satisfy the new one as well.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''active'', ''suspended''))',
    'CHECK (state IN (''active'', ''suspended'', ''closed''))')
  WHERE type = 'table' AND name = 'account';
PRAGMA writable_schema = RESET;
