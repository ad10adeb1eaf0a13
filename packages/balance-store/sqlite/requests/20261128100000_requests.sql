-- The record of requests (docs/decisions/0080). Blocks of a few hundred requests, because one row with
-- its indexes for each request would cost several times as much. Tags find the blocks that have a
-- series or a session; sums answer histograms and comparisons without reading any block.

CREATE TABLE request_series (
  id INTEGER NOT NULL PRIMARY KEY,
  account_id TEXT,
  key_id TEXT,
  model TEXT,
  endpoint TEXT NOT NULL,
  status INTEGER NOT NULL,
  error_type TEXT,
  upstream_account TEXT,
  last_at INTEGER NOT NULL
) STRICT;
CREATE INDEX request_series_account_idx ON request_series (account_id);

CREATE TABLE request_sum (
  minutes INTEGER NOT NULL,
  period INTEGER NOT NULL,
  series INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  kept INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  first_byte_ms INTEGER NOT NULL,
  first_bytes INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  charge TEXT NOT NULL,
  PRIMARY KEY (minutes, period, series)
) STRICT, WITHOUT ROWID;

-- The text is the last column: a search for an id reads only the columns before it.
CREATE TABLE request_block (
  seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  ended_at INTEGER NOT NULL,
  ids BLOB NOT NULL,
  requests TEXT NOT NULL
) STRICT;
CREATE INDEX request_block_ended_idx ON request_block (ended_at);

CREATE TABLE request_tag (
  tag INTEGER NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (tag, block)
) STRICT, WITHOUT ROWID;
