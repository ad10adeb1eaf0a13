-- What is not in the sums of requests yet (docs/decisions/0111): a block, or requests that are only
-- counted. Blocks of earlier versions are not listed, because most of them are in the sums.

CREATE TABLE request_unsummed (
  seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  block INTEGER,
  counted TEXT
) STRICT;
