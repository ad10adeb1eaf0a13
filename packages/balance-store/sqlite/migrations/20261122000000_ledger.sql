-- Accounts with their balances, keys, the append-only ledger, totals of usage, holds, and the hash
-- chain over the ledger. The tables are the same as on PostgreSQL. The comments in
-- prisma/migrations explain them. The rules that are SQL functions there are TypeScript here, in
-- src/embedded/sqlite, and run in the one thread that writes.
--
-- Amounts are USD as decimal text with 14 decimals, exactly as PostgreSQL writes them, because a sum
-- may have more digits than an integer of SQLite. Times are milliseconds since the epoch.

CREATE TABLE account (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  external_id TEXT,
  metadata TEXT NOT NULL DEFAULT '{}',
  low_balance TEXT,
  balance TEXT NOT NULL DEFAULT '0.00000000000000',
  spent TEXT NOT NULL DEFAULT '0.00000000000000',
  credited TEXT NOT NULL DEFAULT '0.00000000000000',
  adjusted TEXT NOT NULL DEFAULT '0.00000000000000',
  expired TEXT NOT NULL DEFAULT '0.00000000000000',
  -- The sum of all write-offs. "uncovered" is what was written off since the last credit because
  -- the balance did not cover it (see standing.ts).
  written_off TEXT NOT NULL DEFAULT '0.00000000000000',
  uncovered TEXT NOT NULL DEFAULT '0.00000000000000',
  allotted TEXT NOT NULL DEFAULT '0.00000000000000',
  seq INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  last_charged_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX account_external_id_key ON account (external_id);

CREATE TABLE api_key (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  external_id TEXT,
  metadata TEXT NOT NULL DEFAULT '{}',
  hint TEXT NOT NULL,
  credential_hmac BLOB NOT NULL,
  previous_hmac BLOB,
  previous_until INTEGER,
  pepper_id TEXT NOT NULL,
  previous_pepper_id TEXT,
  state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'revoked')),
  scope TEXT NOT NULL DEFAULT 'use' CHECK (scope IN ('use', 'manage')),
  models TEXT,
  expires_at INTEGER,
  expiry_told_at INTEGER,
  concurrency INTEGER NOT NULL CHECK (concurrency > 0),
  burst INTEGER NOT NULL CHECK (burst > 0),
  requests_per_minute REAL NOT NULL CHECK (requests_per_minute > 0),
  cap_day TEXT CHECK (cap_day NOT GLOB '-*'),
  cap_week TEXT CHECK (cap_week NOT GLOB '-*'),
  cap_month TEXT CHECK (cap_month NOT GLOB '-*'),
  cap_total TEXT CHECK (cap_total NOT GLOB '-*'),
  spent TEXT NOT NULL DEFAULT '0.00000000000000',
  written_off TEXT NOT NULL DEFAULT '0.00000000000000',
  day_start INTEGER NOT NULL DEFAULT 0,
  day_base TEXT NOT NULL DEFAULT '0.00000000000000',
  week_start INTEGER NOT NULL DEFAULT 0,
  week_base TEXT NOT NULL DEFAULT '0.00000000000000',
  month_start INTEGER NOT NULL DEFAULT 0,
  month_base TEXT NOT NULL DEFAULT '0.00000000000000',
  created_at INTEGER NOT NULL,
  last_charged_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX api_key_credential_hmac_key ON api_key (credential_hmac);
CREATE INDEX api_key_account_id_idx ON api_key (account_id);
CREATE UNIQUE INDEX api_key_external_id_key ON api_key (external_id);
CREATE UNIQUE INDEX api_key_previous_hmac_key ON api_key (previous_hmac);

CREATE TABLE ledger (
  id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  delta TEXT NOT NULL,
  balance_after TEXT NOT NULL,
  written_off TEXT NOT NULL DEFAULT '0.00000000000000',
  over_cap TEXT NOT NULL DEFAULT '0.00000000000000',
  input_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  key_id TEXT,
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
  upstream_account TEXT,
  remarks TEXT,
  actor TEXT,
  source TEXT,
  expires_at INTEGER,
  reason TEXT,
  reference TEXT,
  note_id TEXT,
  CONSTRAINT ledger_kind CHECK (
    CASE kind
      WHEN 'charge' THEN
        (delta GLOB '-*' OR delta = '0.00000000000000')
        AND written_off NOT GLOB '-*'
        AND over_cap NOT GLOB '-*'
        AND input_tokens >= 0
        AND output_tokens >= 0
        AND cache_read_input_tokens >= 0
        AND cache_creation_1h_input_tokens >= 0
        AND cache_creation_input_tokens >= cache_creation_1h_input_tokens
        AND key_id IS NOT NULL AND model IS NOT NULL AND input_rate IS NOT NULL
        AND output_rate IS NOT NULL AND cache_read_rate IS NOT NULL
        AND cache_write_5m_rate IS NOT NULL AND cache_write_1h_rate IS NOT NULL
        AND endpoint IS NOT NULL AND streamed IN (0, 1)
      WHEN 'top_up' THEN
        delta NOT GLOB '-*' AND delta <> '0.00000000000000'
        AND written_off = '0.00000000000000' AND actor IS NOT NULL
        AND source IN ('paid', 'promotional')
      WHEN 'adjustment' THEN
        delta <> '0.00000000000000' AND written_off = '0.00000000000000' AND actor IS NOT NULL
        AND reason IN ('refund', 'chargeback', 'correction', 'goodwill', 'write_off', 'transfer')
      WHEN 'expiry' THEN
        delta GLOB '-*' AND written_off = '0.00000000000000' AND actor IS NOT NULL
        AND reference IS NOT NULL
      ELSE 0
    END IS 1
  )
) STRICT;

CREATE UNIQUE INDEX ledger_id_key ON ledger (id);
CREATE UNIQUE INDEX ledger_account_id_seq_key ON ledger (account_id, seq);
CREATE INDEX ledger_created_at_idx ON ledger (created_at);
CREATE INDEX ledger_not_charge_idx ON ledger (account_id, seq) WHERE kind <> 'charge';

CREATE TABLE usage_hour (
  account_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  upstream_account TEXT NOT NULL,
  rates_id TEXT NOT NULL,
  rolled_up INTEGER NOT NULL DEFAULT FALSE,
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_input_tokens INTEGER NOT NULL,
  cache_creation_input_tokens INTEGER NOT NULL,
  cache_creation_1h_input_tokens INTEGER NOT NULL,
  input_rate TEXT NOT NULL,
  output_rate TEXT NOT NULL,
  cache_read_rate TEXT NOT NULL,
  cache_write_5m_rate TEXT NOT NULL,
  cache_write_1h_rate TEXT NOT NULL,
  written_off TEXT NOT NULL,
  PRIMARY KEY (account_id, hour, key_id, model, endpoint, upstream_account, rates_id, rolled_up)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_hour_hour_idx ON usage_hour (rolled_up, hour);

CREATE TABLE usage_day (
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  model TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  upstream_account TEXT NOT NULL,
  rates_id TEXT NOT NULL,
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_input_tokens INTEGER NOT NULL,
  cache_creation_input_tokens INTEGER NOT NULL,
  cache_creation_1h_input_tokens INTEGER NOT NULL,
  input_rate TEXT NOT NULL,
  output_rate TEXT NOT NULL,
  cache_read_rate TEXT NOT NULL,
  cache_write_5m_rate TEXT NOT NULL,
  cache_write_1h_rate TEXT NOT NULL,
  written_off TEXT NOT NULL,
  PRIMARY KEY (account_id, key_id, day, model, endpoint, upstream_account, rates_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_day_day_idx ON usage_day (day);

CREATE TABLE credit_lot (
  entry_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  source TEXT NOT NULL,
  expires_at INTEGER,
  remaining TEXT NOT NULL CHECK (remaining NOT GLOB '-*')
) STRICT, WITHOUT ROWID;

CREATE INDEX credit_lot_left_idx ON credit_lot (account_id)
  WHERE remaining <> '0.00000000000000';
CREATE INDEX credit_lot_expiry_idx ON credit_lot (expires_at)
  WHERE remaining <> '0.00000000000000';

CREATE TABLE creation (
  id TEXT NOT NULL PRIMARY KEY,
  input_hash BLOB NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT,
  data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  delivered_at INTEGER,
  last_error TEXT
) STRICT;

CREATE UNIQUE INDEX event_id_key ON event (id);
CREATE INDEX event_due_idx ON event (account_id, seq) WHERE due_at IS NOT NULL;

CREATE TABLE document (
  seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  data TEXT NOT NULL,
  balance_below TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX document_kind_id_key ON document (kind, id);
CREATE INDEX document_account_idx ON document (kind, account_id, seq);
CREATE INDEX document_due_idx ON document (kind, seq) WHERE balance_below IS NOT NULL;

CREATE TABLE trail (
  seq INTEGER NOT NULL PRIMARY KEY,
  created_at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  address TEXT,
  action TEXT NOT NULL,
  account_id TEXT,
  key_id TEXT,
  details TEXT NOT NULL,
  personal_id TEXT
) STRICT;

CREATE TABLE personal_text (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT,
  salt TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX personal_text_account_id_idx ON personal_text (account_id);

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

-- The most that a request may cost, set aside before the request is sent upstream. A live hold
-- lowers what other requests of its account may hold; an orphaned hold no longer does.
CREATE TABLE hold (
  request_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  amount TEXT NOT NULL CHECK (amount NOT GLOB '-*'),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- Set when the hold expired without a charge or a release.
  orphaned_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX hold_live_account_id_idx ON hold (account_id) WHERE orphaned_at IS NULL;
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

-- A range of one account's entries, or of the trail, with a digest of 16 bytes for each entry, so
-- that an audit can name the entry that was changed and not only its block.
CREATE TABLE ledger_seal (
  account_id TEXT NOT NULL,
  from_seq INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  block_id INTEGER NOT NULL,
  digests BLOB NOT NULL,
  PRIMARY KEY (account_id, from_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_seal_block_id_idx ON ledger_seal (block_id);

-- One row for each archive, numbered from 1: the sums of the charges that "gateway ledger archive"
-- moved into a file.
CREATE TABLE ledger_archive (
  id INTEGER NOT NULL PRIMARY KEY,
  until_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  charges INTEGER NOT NULL,
  charged TEXT NOT NULL,
  written_off TEXT NOT NULL,
  last_block INTEGER NOT NULL,
  last_hash TEXT NOT NULL,
  carry_digest TEXT NOT NULL,
  usage_digest TEXT NOT NULL,
  file_digest TEXT NOT NULL
) STRICT;

-- The sums of archived charges that stay in the ledger: one row for each key in each run. A run is
-- a range of an account's entry numbers that has only charges.
CREATE TABLE ledger_carry (
  account_id TEXT NOT NULL,
  from_seq INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  archive_id INTEGER NOT NULL,
  charges INTEGER NOT NULL,
  charged TEXT NOT NULL,
  written_off TEXT NOT NULL,
  over_cap TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  balance_after TEXT NOT NULL,
  PRIMARY KEY (account_id, from_seq, key_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_carry_archive_id_idx ON ledger_carry (archive_id, account_id, from_seq);

-- Entries never change: corrections are new entries.
CREATE TRIGGER ledger_fence_update BEFORE UPDATE ON ledger
BEGIN SELECT raise(ABORT, 'UPDATE on ledger is refused: corrections are new entries'); END;
-- Only charges whose sums are in ledger_carry may be deleted.
CREATE TRIGGER ledger_fence_delete BEFORE DELETE ON ledger
WHEN OLD.kind <> 'charge' OR OLD.seq > coalesce(
  (SELECT to_seq FROM ledger_carry WHERE account_id = OLD.account_id AND from_seq <= OLD.seq
    ORDER BY from_seq DESC LIMIT 1), 0)
BEGIN SELECT raise(ABORT, 'DELETE on ledger is refused: corrections are new entries'); END;
CREATE TRIGGER trail_fence_update BEFORE UPDATE ON trail
BEGIN SELECT raise(ABORT, 'UPDATE on trail is refused: what was done stays on record'); END;
CREATE TRIGGER trail_fence_delete BEFORE DELETE ON trail
BEGIN SELECT raise(ABORT, 'DELETE on trail is refused: what was done stays on record'); END;
CREATE TRIGGER account_fence_delete BEFORE DELETE ON account
BEGIN SELECT raise(ABORT, 'DELETE on account is refused: its entries belong to it'); END;
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
CREATE TRIGGER ledger_archive_fence_update BEFORE UPDATE ON ledger_archive
BEGIN SELECT raise(ABORT, 'UPDATE on ledger_archive is refused: an archive is final'); END;
CREATE TRIGGER ledger_archive_fence_delete BEFORE DELETE ON ledger_archive
BEGIN SELECT raise(ABORT, 'DELETE on ledger_archive is refused: an archive is final'); END;
CREATE TRIGGER ledger_carry_fence_update BEFORE UPDATE ON ledger_carry
BEGIN SELECT raise(ABORT, 'UPDATE on ledger_carry is refused: an archive is final'); END;
CREATE TRIGGER ledger_carry_fence_delete BEFORE DELETE ON ledger_carry
BEGIN SELECT raise(ABORT, 'DELETE on ledger_carry is refused: an archive is final'); END;
