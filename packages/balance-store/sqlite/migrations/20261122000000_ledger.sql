-- Keys, the append-only ledger, holds, and the hash chain over the ledger. The same tables as on
-- PostgreSQL (prisma/migrations). The rules that are SQL functions there are TypeScript here, in
-- src/embedded/sqlite, and run in the one thread that writes.
--
-- Amounts are USD as decimal text with 14 decimals, exactly as PostgreSQL writes them, because a sum
-- may have more digits than an integer of SQLite. Times are milliseconds since the epoch.

CREATE TABLE api_key (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  hint TEXT NOT NULL,
  credential_hmac BLOB NOT NULL,
  pepper_id TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'revoked')),
  expires_at INTEGER,
  concurrency INTEGER NOT NULL CHECK (concurrency > 0),
  burst INTEGER NOT NULL CHECK (burst > 0),
  requests_per_minute REAL NOT NULL CHECK (requests_per_minute > 0),
  balance TEXT NOT NULL DEFAULT '0.00000000000000',
  spent TEXT NOT NULL DEFAULT '0.00000000000000',
  credited TEXT NOT NULL DEFAULT '0.00000000000000',
  -- The sum of all write-offs, and of those since the last credit (see standing.ts).
  written_off TEXT NOT NULL DEFAULT '0.00000000000000',
  uncovered TEXT NOT NULL DEFAULT '0.00000000000000',
  seq INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  last_charged_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX api_key_credential_hmac_key ON api_key (credential_hmac);

CREATE TABLE ledger (
  id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  delta TEXT NOT NULL,
  balance_after TEXT NOT NULL,
  -- The part of a charge's list price that its balance could not cover: delta is less by it.
  written_off TEXT NOT NULL DEFAULT '0.00000000000000',
  input_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  model TEXT,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cache_read_input_tokens INTEGER,
  cache_creation_input_tokens INTEGER,
  cache_creation_1h_input_tokens INTEGER,
  input_rate TEXT,
  output_rate TEXT,
  cache_read_rate TEXT,
  cache_write_5m_rate TEXT,
  cache_write_1h_rate TEXT,
  endpoint TEXT,
  streamed INTEGER,
  upstream_id TEXT,
  -- What was odd about the usage object that this charge was made from.
  remarks TEXT,
  actor TEXT,
  CONSTRAINT ledger_kind CHECK (
    CASE kind
      WHEN 'charge' THEN
        (delta GLOB '-*' OR delta = '0.00000000000000')
        AND written_off NOT GLOB '-*'
        AND input_tokens >= 0
        AND output_tokens >= 0
        AND cache_read_input_tokens >= 0
        AND cache_creation_1h_input_tokens >= 0
        AND cache_creation_input_tokens >= cache_creation_1h_input_tokens
        AND model IS NOT NULL AND input_rate IS NOT NULL AND output_rate IS NOT NULL
        AND cache_read_rate IS NOT NULL AND cache_write_5m_rate IS NOT NULL
        AND cache_write_1h_rate IS NOT NULL AND endpoint IS NOT NULL AND streamed IN (0, 1)
      WHEN 'top_up' THEN
        delta NOT GLOB '-*' AND delta <> '0.00000000000000'
        AND written_off = '0.00000000000000' AND actor IS NOT NULL
      ELSE 0
    END IS 1
  )
) STRICT;

CREATE UNIQUE INDEX ledger_id_key ON ledger (id);
CREATE UNIQUE INDEX ledger_key_id_seq_key ON ledger (key_id, seq);
CREATE INDEX ledger_created_at_idx ON ledger (created_at);

CREATE TABLE quarantine (
  request_id TEXT NOT NULL PRIMARY KEY,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settle_conflict (
  request_id TEXT NOT NULL,
  input_hash BLOB NOT NULL,
  key_id TEXT NOT NULL,
  amount TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (request_id, input_hash)
) STRICT, WITHOUT ROWID;

-- The most a request may cost, set aside before it is sent upstream. A live hold lowers what other
-- requests of its key may hold; an orphaned one no longer does.
CREATE TABLE hold (
  request_id TEXT NOT NULL PRIMARY KEY,
  key_id TEXT NOT NULL,
  amount TEXT NOT NULL CHECK (amount NOT GLOB '-*'),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- Set when it expired without a charge or a release.
  orphaned_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX hold_live_key_id_idx ON hold (key_id) WHERE orphaned_at IS NULL;
CREATE INDEX hold_live_expires_at_idx ON hold (expires_at) WHERE orphaned_at IS NULL;

-- One block of the hash chain over all entries. Its hash covers the previous block's hash, its own
-- number, size and time, and the ranges of entries that ledger_seal lists for it.
CREATE TABLE ledger_block (
  id INTEGER NOT NULL PRIMARY KEY,
  previous_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  entries INTEGER NOT NULL,
  sealed_at INTEGER NOT NULL
) STRICT;

-- A range of one key's entries with a digest of 16 bytes for each of them, so that an audit can name
-- the entry that was changed and not only its block.
CREATE TABLE ledger_seal (
  key_id TEXT NOT NULL,
  from_seq INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  block_id INTEGER NOT NULL,
  digests BLOB NOT NULL,
  PRIMARY KEY (key_id, from_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_seal_block_id_idx ON ledger_seal (block_id);

-- Corrections are new entries.
CREATE TRIGGER ledger_fence_update BEFORE UPDATE ON ledger
BEGIN SELECT raise(ABORT, 'UPDATE on ledger is refused: corrections are new entries'); END;
CREATE TRIGGER ledger_fence_delete BEFORE DELETE ON ledger
BEGIN SELECT raise(ABORT, 'DELETE on ledger is refused: corrections are new entries'); END;
CREATE TRIGGER api_key_fence_delete BEFORE DELETE ON api_key
BEGIN SELECT raise(ABORT, 'DELETE on api_key is refused: its entries belong to it'); END;
CREATE TRIGGER ledger_block_fence_update BEFORE UPDATE ON ledger_block
BEGIN SELECT raise(ABORT, 'UPDATE on ledger_block is refused: the chain only grows'); END;
CREATE TRIGGER ledger_block_fence_delete BEFORE DELETE ON ledger_block
BEGIN SELECT raise(ABORT, 'DELETE on ledger_block is refused: the chain only grows'); END;
CREATE TRIGGER ledger_seal_fence_update BEFORE UPDATE ON ledger_seal
BEGIN SELECT raise(ABORT, 'UPDATE on ledger_seal is refused: the chain only grows'); END;
CREATE TRIGGER ledger_seal_fence_delete BEFORE DELETE ON ledger_seal
BEGIN SELECT raise(ABORT, 'DELETE on ledger_seal is refused: the chain only grows'); END;
