-- Accounts with their balances, keys, the append-only ledger, totals of usage, holds, the hash
-- chain over the ledger, and the functions that settle charges. Each function has a file in
-- ../../functions with the same text.
--
-- Amounts are USD in NUMERIC(38,14): 10^-14 USD is the smallest amount any charge can have. That
-- type rounds finer input silently, so the functions take unconstrained NUMERIC and refuse such
-- amounts. Ids compare bytewise (COLLATE "C"): every replica then locks accounts in the same order.

-- An account has one balance, which all of its keys spend.
CREATE TABLE "account" (
  "id" TEXT COLLATE "C" NOT NULL,
  "name" TEXT NOT NULL,
  "external_id" TEXT,
  "metadata" JSONB NOT NULL DEFAULT '{}',
  -- The event 'balance.low' is written when the balance falls to this amount or below.
  "low_balance" NUMERIC(38,14),
  "balance" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "spent" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "credited" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "adjusted" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "expired" NUMERIC(38,14) NOT NULL DEFAULT 0,
  -- The sum of all write-offs. "uncovered" is what was written off since the last credit because
  -- the balance did not cover it (see "standing_of").
  "written_off" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "uncovered" NUMERIC(38,14) NOT NULL DEFAULT 0,
  -- How much of "spent" the account's rows in "credit_lot" already take into account.
  "allotted" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "seq" BIGINT NOT NULL DEFAULT 0,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "last_charged_at" TIMESTAMPTZ(3),
  CONSTRAINT "account_pkey" PRIMARY KEY ("id")
) WITH (fillfactor = 50); -- room for a row's next version on the same page, so that no index changes

CREATE UNIQUE INDEX "account_external_id_key" ON "account" ("external_id");

-- "day_start", "week_start" and "month_start" are the first days of the cap windows of the last
-- charge, as days of UTC since 1970-01-01. While such a window lasts, what the key has used of it
-- is "spent" + "written_off" minus the window's base.
CREATE TABLE "api_key" (
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "name" TEXT NOT NULL,
  "external_id" TEXT,
  "metadata" JSONB NOT NULL DEFAULT '{}',
  "hint" TEXT NOT NULL,
  "credential_hmac" BYTEA NOT NULL,
  -- The credential before the last rotation. It works until "previous_until".
  "previous_hmac" BYTEA,
  "previous_until" TIMESTAMPTZ(3),
  -- The peppers under which the credential and the previous one are hashed.
  "pepper_id" TEXT NOT NULL,
  "previous_pepper_id" TEXT,
  "state" TEXT NOT NULL DEFAULT 'active',
  "scope" TEXT NOT NULL DEFAULT 'use',
  -- The models that the key may use; NULL for all.
  "models" JSONB,
  "expires_at" TIMESTAMPTZ(3),
  -- The "expires_at" for which the event 'key.expiring' was written.
  "expiry_told_at" TIMESTAMPTZ(3),
  "concurrency" INTEGER NOT NULL,
  "burst" INTEGER NOT NULL,
  "requests_per_minute" DOUBLE PRECISION NOT NULL,
  "cap_day" NUMERIC(38,14),
  "cap_week" NUMERIC(38,14),
  "cap_month" NUMERIC(38,14),
  "cap_total" NUMERIC(38,14),
  "spent" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "written_off" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "day_start" INTEGER NOT NULL DEFAULT 0,
  "day_base" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "week_start" INTEGER NOT NULL DEFAULT 0,
  "week_base" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "month_start" INTEGER NOT NULL DEFAULT 0,
  "month_base" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "last_charged_at" TIMESTAMPTZ(3),
  CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "api_key_account" FOREIGN KEY ("account_id") REFERENCES "account" ("id"),
  CONSTRAINT "api_key_state" CHECK ("state" IN ('active', 'suspended', 'revoked')),
  CONSTRAINT "api_key_scope" CHECK ("scope" IN ('use', 'manage')),
  CONSTRAINT "api_key_limits"
    CHECK ("concurrency" > 0 AND "burst" > 0 AND "requests_per_minute" > 0),
  CONSTRAINT "api_key_caps"
    CHECK (least("cap_day", "cap_week", "cap_month", "cap_total") >= 0)
) WITH (fillfactor = 50);

CREATE INDEX "api_key_account_id_idx" ON "api_key" ("account_id");
CREATE UNIQUE INDEX "api_key_external_id_key" ON "api_key" ("external_id");
CREATE UNIQUE INDEX "api_key_previous_hmac_key" ON "api_key" ("previous_hmac");
CREATE UNIQUE INDEX "api_key_credential_hmac_key" ON "api_key" ("credential_hmac");

CREATE TABLE "ledger" (
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "seq" BIGINT NOT NULL,
  "kind" TEXT NOT NULL,
  "delta" NUMERIC(38,14) NOT NULL,
  "balance_after" NUMERIC(38,14) NOT NULL,
  -- The part of a charge's list price that was not charged, so "delta" does not contain it.
  -- "over_cap" is the part of it that the balance would have covered, but a cap of the key forbade.
  "written_off" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "over_cap" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "input_hash" BYTEA NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  -- Charges only: the key that made the request, and what the request used.
  "key_id" TEXT COLLATE "C",
  "model" TEXT,
  "input_tokens" INTEGER,
  "output_tokens" INTEGER,
  "cache_read_input_tokens" INTEGER,
  "cache_creation_input_tokens" INTEGER,
  "cache_creation_1h_input_tokens" INTEGER,
  "input_rate" NUMERIC(38,14),
  "output_rate" NUMERIC(38,14),
  "cache_read_rate" NUMERIC(38,14),
  "cache_write_5m_rate" NUMERIC(38,14),
  "cache_write_1h_rate" NUMERIC(38,14),
  "endpoint" TEXT,
  "streamed" BOOLEAN,
  "upstream_id" TEXT,
  -- Which of several upstream accounts answered.
  "upstream_account" TEXT,
  -- What was odd about the usage object that this charge was made from.
  "remarks" TEXT,
  -- All other entries: who made the entry; the source of a top-up and when it expires; the reason
  -- of an adjustment; what the entry refers to, such as the credit that an expiry takes back; and
  -- the id of its note in "personal_text".
  "actor" TEXT,
  "source" TEXT,
  "expires_at" TIMESTAMPTZ(3),
  "reason" TEXT,
  "reference" TEXT,
  "note_id" TEXT,
  CONSTRAINT "ledger_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "ledger_kind" CHECK (
    CASE "kind"
      WHEN 'charge' THEN
        "delta" <= 0
        AND "over_cap" >= 0
        AND "written_off" >= "over_cap"
        AND "input_tokens" >= 0
        AND "output_tokens" >= 0
        AND "cache_read_input_tokens" >= 0
        AND "cache_creation_1h_input_tokens" >= 0
        AND "cache_creation_input_tokens" >= "cache_creation_1h_input_tokens"
        AND num_nulls("key_id", "model", "input_tokens", "output_tokens",
          "cache_read_input_tokens", "cache_creation_input_tokens",
          "cache_creation_1h_input_tokens", "input_rate", "output_rate", "cache_read_rate",
          "cache_write_5m_rate", "cache_write_1h_rate", "endpoint", "streamed") = 0
      WHEN 'top_up' THEN
        "delta" > 0 AND "written_off" = 0 AND "actor" IS NOT NULL
        AND coalesce("source" IN ('paid', 'promotional'), false)
      WHEN 'adjustment' THEN
        "delta" <> 0 AND "written_off" = 0 AND "actor" IS NOT NULL
        AND coalesce("reason" IN
          ('refund', 'chargeback', 'correction', 'goodwill', 'write_off', 'transfer'), false)
      WHEN 'expiry' THEN
        "delta" < 0 AND "written_off" = 0 AND num_nulls("actor", "reference") = 0
      ELSE false
    END
  )
);

-- "settle_batch" checks the foreign keys itself, while it holds the account's row lock: constraints
-- would look the same rows up again for every entry. The triggers "account_fence" and
-- "api_key_fence" forbid deleting accounts and keys.
CREATE UNIQUE INDEX "ledger_account_id_seq_key" ON "ledger" ("account_id", "seq");
CREATE INDEX "ledger_created_at_idx" ON "ledger" ("created_at");
CREATE INDEX "ledger_not_charge_idx" ON "ledger" ("account_id", "seq") WHERE "kind" <> 'charge';

-- Hourly totals of charges, updated by "settle_batch". "hour" is the number of hours since
-- 1970-01-01 UTC. All charges of a row have the row's rates. Their list price is tokens times
-- rates, and "written_off" is the part of it that was not charged.
CREATE TABLE "usage_hour" (
  "account_id" TEXT COLLATE "C" NOT NULL,
  "hour" INTEGER NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "model" TEXT COLLATE "C" NOT NULL,
  "endpoint" TEXT COLLATE "C" NOT NULL,
  -- Empty if there is only one upstream account.
  "upstream_account" TEXT COLLATE "C" NOT NULL,
  "rates_id" TEXT COLLATE "C" NOT NULL,
  -- Whether the row has been added to its daily totals. Charges are only added to rows that have
  -- not: a charge that comes later starts a second row, which the next roll-up merges into the
  -- first.
  "rolled_up" BOOLEAN NOT NULL DEFAULT FALSE,
  "requests" BIGINT NOT NULL,
  "input_tokens" BIGINT NOT NULL,
  "output_tokens" BIGINT NOT NULL,
  "cache_read_input_tokens" BIGINT NOT NULL,
  "cache_creation_input_tokens" BIGINT NOT NULL,
  "cache_creation_1h_input_tokens" BIGINT NOT NULL,
  "input_rate" NUMERIC(38,14) NOT NULL,
  "output_rate" NUMERIC(38,14) NOT NULL,
  "cache_read_rate" NUMERIC(38,14) NOT NULL,
  "cache_write_5m_rate" NUMERIC(38,14) NOT NULL,
  "cache_write_1h_rate" NUMERIC(38,14) NOT NULL,
  "written_off" NUMERIC(38,14) NOT NULL,
  CONSTRAINT "usage_hour_pkey"
    PRIMARY KEY ("account_id", "hour", "key_id", "model", "endpoint", "upstream_account", "rates_id",
      "rolled_up")
) WITH (fillfactor = 70);

CREATE INDEX "usage_hour_hour_idx" ON "usage_hour" ("rolled_up", "hour");

-- Daily totals of the hours that are rolled up: for each key; for each account, with an empty
-- "key_id"; and for the whole ledger, with both ids empty. So every report adds up few rows. "day"
-- is the number of days since 1970-01-01 UTC. Written by "roll_up_usage".
CREATE TABLE "usage_day" (
  "account_id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "day" INTEGER NOT NULL,
  "model" TEXT COLLATE "C" NOT NULL,
  "endpoint" TEXT COLLATE "C" NOT NULL,
  "upstream_account" TEXT COLLATE "C" NOT NULL,
  "rates_id" TEXT COLLATE "C" NOT NULL,
  "requests" BIGINT NOT NULL,
  "input_tokens" BIGINT NOT NULL,
  "output_tokens" BIGINT NOT NULL,
  "cache_read_input_tokens" BIGINT NOT NULL,
  "cache_creation_input_tokens" BIGINT NOT NULL,
  "cache_creation_1h_input_tokens" BIGINT NOT NULL,
  "input_rate" NUMERIC(38,14) NOT NULL,
  "output_rate" NUMERIC(38,14) NOT NULL,
  "cache_read_rate" NUMERIC(38,14) NOT NULL,
  "cache_write_5m_rate" NUMERIC(38,14) NOT NULL,
  "cache_write_1h_rate" NUMERIC(38,14) NOT NULL,
  "written_off" NUMERIC(38,14) NOT NULL,
  CONSTRAINT "usage_day_pkey"
    PRIMARY KEY ("account_id", "key_id", "day", "model", "endpoint", "upstream_account", "rates_id")
) WITH (fillfactor = 70);

CREATE INDEX "usage_day_day_idx" ON "usage_day" ("day");

-- What is left of each credit that expires or was given for free. Charges take from the credit that
-- expires first, then from those that do not expire, and then from all other money.
CREATE TABLE "credit_lot" (
  "entry_id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "source" TEXT NOT NULL,
  "expires_at" TIMESTAMPTZ(3),
  -- After the charges up to the account's "allotted".
  "remaining" NUMERIC(38,14) NOT NULL,
  CONSTRAINT "credit_lot_pkey" PRIMARY KEY ("entry_id"),
  CONSTRAINT "credit_lot_remaining" CHECK ("remaining" >= 0)
);

CREATE INDEX "credit_lot_left_idx" ON "credit_lot" ("account_id") WHERE "remaining" > 0;
CREATE INDEX "credit_lot_expiry_idx" ON "credit_lot" ("expires_at") WHERE "remaining" > 0;

-- The id of each creation, so that it does not happen twice, and what it created.
CREATE TABLE "creation" (
  "id" TEXT COLLATE "C" NOT NULL,
  "input_hash" BYTEA NOT NULL,
  "account_id" TEXT NOT NULL,
  "key_id" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "creation_pkey" PRIMARY KEY ("id")
);

-- Events to deliver to the operator's systems, such as a balance that fell below its threshold.
CREATE TABLE "event" (
  "seq" BIGINT GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  "id" TEXT COLLATE "C" NOT NULL,
  "type" TEXT NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT,
  "data" JSONB NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "attempts" INTEGER NOT NULL DEFAULT 0,
  -- When to send the event next; NULL once it is delivered or given up.
  "due_at" TIMESTAMPTZ(3),
  "delivered_at" TIMESTAMPTZ(3),
  "last_error" TEXT,
  CONSTRAINT "event_pkey" PRIMARY KEY ("seq")
);

CREATE UNIQUE INDEX "event_id_key" ON "event" ("id");
CREATE INDEX "event_due_idx" ON "event" ("account_id", "seq") WHERE "due_at" IS NOT NULL;

-- Small records that the parts of the gateway keep beside the ledger, such as the state of a
-- payment. Each change names the version that it read, so that of two replicas that change the same
-- version only one succeeds.
CREATE TABLE "document" (
  "seq" BIGINT GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  "kind" TEXT COLLATE "C" NOT NULL,
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "version" INTEGER NOT NULL,
  "data" JSONB NOT NULL,
  -- The document is due while its account's balance is below this amount.
  "balance_below" NUMERIC(38,14),
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "updated_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "document_pkey" PRIMARY KEY ("seq")
);

CREATE UNIQUE INDEX "document_kind_id_key" ON "document" ("kind", "id");
CREATE INDEX "document_account_idx" ON "document" ("kind", "account_id", "seq");
CREATE INDEX "document_due_idx" ON "document" ("kind", "seq") WHERE "balance_below" IS NOT NULL;

-- Who changed what. Values that may be about a person are in "personal_text".
CREATE TABLE "trail" (
  "seq" BIGINT NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "actor" TEXT NOT NULL,
  "address" TEXT,
  "action" TEXT NOT NULL,
  "account_id" TEXT COLLATE "C",
  "key_id" TEXT COLLATE "C",
  "details" TEXT NOT NULL,
  "personal_id" TEXT,
  CONSTRAINT "trail_pkey" PRIMARY KEY ("seq")
);

-- Texts that may be about a person. They are kept apart so that they can be erased: a sealed row
-- contains only a digest of the text and the salt.
CREATE TABLE "personal_text" (
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C",
  "salt" TEXT NOT NULL,
  "text" TEXT NOT NULL,
  CONSTRAINT "personal_text_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "personal_text_account_id_idx" ON "personal_text" ("account_id");

CREATE TABLE "quarantine" (
  "request_id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT NOT NULL,
  "model" TEXT NOT NULL,
  "reason" TEXT NOT NULL,
  "detail" JSONB,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CONSTRAINT "quarantine_pkey" PRIMARY KEY ("request_id")
);

CREATE TABLE "settle_conflict" (
  "request_id" TEXT COLLATE "C" NOT NULL,
  "input_hash" BYTEA NOT NULL,
  "key_id" TEXT NOT NULL,
  "amount" NUMERIC NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CONSTRAINT "settle_conflict_pkey" PRIMARY KEY ("request_id", "input_hash")
);

-- The most that a request may cost, set aside before the request is sent upstream. A live hold
-- lowers what other requests of its account may hold; an orphaned hold no longer does.
CREATE TABLE "hold" (
  "request_id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "amount" NUMERIC(38,14) NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  -- Set when the hold expired without a charge or a release.
  "orphaned_at" TIMESTAMPTZ(3),
  CONSTRAINT "hold_pkey" PRIMARY KEY ("request_id"),
  CONSTRAINT "hold_amount" CHECK ("amount" >= 0)
);

CREATE INDEX "hold_live_account_id_idx" ON "hold" ("account_id") WHERE "orphaned_at" IS NULL;
CREATE INDEX "hold_live_expires_at_idx" ON "hold" ("expires_at") WHERE "orphaned_at" IS NULL;

-- One block of the hash chain over all entries. Its hash covers the previous block's hash, its own
-- number, size and time, and the ranges of entries that "ledger_seal" lists for it.
CREATE TABLE "ledger_block" (
  "id" BIGINT NOT NULL,
  "previous_hash" BYTEA NOT NULL,
  "hash" BYTEA NOT NULL,
  "entries" INTEGER NOT NULL,
  "sealed_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "ledger_block_pkey" PRIMARY KEY ("id")
);

-- A range of one account's entries, or of the trail, with a digest of 16 bytes for each entry, so
-- that an audit can name the entry that was changed and not only its block.
CREATE TABLE "ledger_seal" (
  "account_id" TEXT COLLATE "C" NOT NULL,
  "from_seq" BIGINT NOT NULL,
  "to_seq" BIGINT NOT NULL,
  "block_id" BIGINT NOT NULL,
  "digests" BYTEA NOT NULL,
  CONSTRAINT "ledger_seal_pkey" PRIMARY KEY ("account_id", "from_seq")
);

CREATE INDEX "ledger_seal_block_id_idx" ON "ledger_seal" ("block_id");

-- One row for each archive, numbered from 1: the sums of the charges that "gateway ledger archive"
-- moved into a file. A sealed row of the trail has the same figures, so an audit notices if one is
-- changed.
CREATE TABLE "ledger_archive" (
  "id" INTEGER NOT NULL,
  -- Charges before this time have left the ledger. It is 00:00 UTC of a day.
  "until_at" TIMESTAMPTZ(3) NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "charges" BIGINT NOT NULL,
  "charged" NUMERIC(38,14) NOT NULL,
  "written_off" NUMERIC(38,14) NOT NULL,
  -- The last block that seals one of these charges.
  "last_block" BIGINT NOT NULL,
  "last_hash" TEXT NOT NULL,
  -- SHA-256, in hexadecimal: of the archive's rows in "ledger_carry", of the rows in "usage_hour"
  -- from the end of the previous archive to the end of this one, and of the file up to its last
  -- line, which contains this digest.
  "carry_digest" TEXT NOT NULL,
  "usage_digest" TEXT NOT NULL,
  "file_digest" TEXT NOT NULL,
  CONSTRAINT "ledger_archive_pkey" PRIMARY KEY ("id")
);

-- The sums of archived charges that stay in the ledger: one row for each key in each run. A run is
-- a range of an account's entry numbers that has only charges.
CREATE TABLE "ledger_carry" (
  "account_id" TEXT COLLATE "C" NOT NULL,
  "from_seq" BIGINT NOT NULL,
  "to_seq" BIGINT NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "archive_id" INTEGER NOT NULL,
  "charges" BIGINT NOT NULL,
  "charged" NUMERIC(38,14) NOT NULL,
  "written_off" NUMERIC(38,14) NOT NULL,
  "over_cap" NUMERIC(38,14) NOT NULL,
  "first_at" TIMESTAMPTZ(3) NOT NULL,
  "last_at" TIMESTAMPTZ(3) NOT NULL,
  -- The account's balance after the last charge of the run.
  "balance_after" NUMERIC(38,14) NOT NULL,
  CONSTRAINT "ledger_carry_pkey" PRIMARY KEY ("account_id", "from_seq", "key_id")
);

CREATE INDEX "ledger_carry_archive_id_idx" ON "ledger_carry" ("archive_id", "account_id", "from_seq");

-- Refuses the statement that fired the trigger. Rows of append-only tables are never updated, and
-- no account or key is deleted. Archived charges may be deleted from "ledger": see
-- refuse_uncarried.
CREATE OR REPLACE FUNCTION "refuse_rewrite"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: what was recorded is never rewritten', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;

-- Refuses to delete entries, except charges whose sums are in "ledger_carry".
CREATE OR REPLACE FUNCTION "refuse_uncarried"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD."kind" = 'charge' AND OLD."seq" <= (
    SELECT c."to_seq" FROM "ledger_carry" c
    WHERE c."account_id" = OLD."account_id" AND c."from_seq" <= OLD."seq"
    ORDER BY c."from_seq" DESC LIMIT 1
  ) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% on % is refused: corrections are new entries', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER "ledger_fence" BEFORE UPDATE OR TRUNCATE ON "ledger"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_delete_fence" BEFORE DELETE ON "ledger"
  FOR EACH ROW EXECUTE FUNCTION "refuse_uncarried"();
CREATE TRIGGER "ledger_archive_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_archive"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_carry_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_carry"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "trail_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "trail"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "account_fence" BEFORE DELETE OR TRUNCATE ON "account"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "api_key_fence" BEFORE DELETE OR TRUNCATE ON "api_key"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_block_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_block"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_seal_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_seal"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();

-- The day of a time in UTC, as days since 1970-01-01.
CREATE OR REPLACE FUNCTION "day_of"("p_moment" TIMESTAMPTZ) RETURNS INTEGER
LANGUAGE sql IMMUTABLE AS $$
  SELECT floor(extract(epoch FROM "p_moment") / 86400)::INTEGER
$$;

-- The hour of a time in UTC, as hours since 1970-01-01.
CREATE OR REPLACE FUNCTION "hour_of"("p_moment" TIMESTAMPTZ) RETURNS INTEGER
LANGUAGE sql IMMUTABLE AS $$
  SELECT floor(extract(epoch FROM "p_moment") / 3600)::INTEGER
$$;

-- The first day of a time's month in UTC, as days since 1970-01-01.
CREATE OR REPLACE FUNCTION "month_start"("p_moment" TIMESTAMPTZ) RETURNS INTEGER
LANGUAGE sql IMMUTABLE AS $$
  SELECT date_trunc('month', "p_moment" AT TIME ZONE 'UTC')::DATE - DATE '1970-01-01'
$$;

-- The caps of a key, each with what the key has used since the cap's window began. Write-offs count
-- as used, so that a key cannot cause the same loss again and again.
CREATE OR REPLACE FUNCTION "caps_of"("p_key" "api_key", "p_moment" TIMESTAMPTZ)
RETURNS TABLE ("period" TEXT, "cap" NUMERIC, "used" NUMERIC)
LANGUAGE sql STABLE AS $$
  SELECT c."period", c."cap",
    CASE WHEN c."window_start" = c."this_window"
      THEN "p_key"."spent" + "p_key"."written_off" - c."base" ELSE 0 END
  FROM (
    SELECT "day_of"("p_moment") AS "today", "month_start"("p_moment") AS "this_month"
  ) t
  CROSS JOIN LATERAL (VALUES
    ('day', "p_key"."cap_day", "p_key"."day_start", t."today", "p_key"."day_base"),
    ('week', "p_key"."cap_week", "p_key"."week_start", t."today" - (t."today" + 3) % 7,
      "p_key"."week_base"),
    ('month', "p_key"."cap_month", "p_key"."month_start", t."this_month", "p_key"."month_base"),
    ('total', "p_key"."cap_total", 0, 0, 0::NUMERIC)
  ) AS c ("period", "cap", "window_start", "this_window", "base")
  WHERE c."cap" IS NOT NULL
$$;

-- The cap of a key that leaves the least to spend, or no row if the key has no caps.
CREATE OR REPLACE FUNCTION "tightest_cap"("p_key" "api_key", "p_moment" TIMESTAMPTZ)
RETURNS TABLE ("period" TEXT, "cap" NUMERIC, "used" NUMERIC)
LANGUAGE sql STABLE AS $$
  SELECT c."period", c."cap", c."used" FROM "caps_of"("p_key", "p_moment") c
  WHERE num_nonnulls("p_key"."cap_day", "p_key"."cap_week", "p_key"."cap_month",
    "p_key"."cap_total") > 0
  ORDER BY c."cap" - c."used", c."period" LIMIT 1
$$;

-- Decides whether a key is active, or why it is disabled. On PostgreSQL, each read of a key's
-- standing calls this function. The counts of an account's active keys and the event
-- `balance.exhausted` repeat its conditions, so change them together. The standing is derived and
-- never stored, so a credit that races with an exhausting charge cannot leave the key in the wrong
-- state.
--
-- "uncovered" is the part of the charges since the last credit that the balance could not cover. It
-- is the operator's loss. The key stays exhausted until the next credit, even if the balance is
-- above zero once other holds have ended. Otherwise the same loss could be caused again and again.
CREATE OR REPLACE FUNCTION "standing_of"(
  "state" TEXT, "expires_at" TIMESTAMPTZ, "balance" NUMERIC, "uncovered" NUMERIC
) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN "state" <> 'active' THEN "state"
    WHEN "expires_at" <= now() THEN 'expired'
    WHEN "balance" <= 0 OR "uncovered" > 0 THEN 'exhausted'
    ELSE 'active'
  END
$$;

-- Each key with its account and its standing by the database's clock.
CREATE VIEW "key_standing" AS
  SELECT k.*, a."name" AS "account_name", a."external_id" AS "account_external_id", a."balance",
    a."credited", a."adjusted", a."expired", a."uncovered",
    "standing_of"(k."state", k."expires_at", a."balance", a."uncovered") AS "standing"
  FROM "api_key" k JOIN "account" a ON a."id" = k."account_id";

-- How much of each charge must be written off, so that no guarded charge takes its account's
-- balance below zero, exceeds a cap of its key, or takes money that is held for other requests.
--
-- A charge is guarded if "p_guarded" says so or if its request has a hold. As far as the balance
-- covers it, a guarded charge may take the money that no other live hold covers, and at least its
-- own live hold. Returns two amounts per charge, in the order given: "written_off", and "over_cap",
-- the part of it that the balance would have covered but a cap did not allow. Both are zero for
-- charges that are not guarded, that are in the ledger already, or that repeat an earlier charge of
-- the batch.
--
-- Call it while the accounts' rows are locked and before the holds of the charges are deleted.
CREATE OR REPLACE FUNCTION "write_offs"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_guarded" BOOLEAN[],
  "p_moment" TIMESTAMPTZ, OUT "written_off" NUMERIC[], OUT "over_cap" NUMERIC[]
)
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  charge RECORD;
  of_account TEXT;
  balance_left NUMERIC;
  held_by_others NUMERIC;
  by_balance NUMERIC;
  by_cap NUMERIC;
  -- For each key: what its caps leave (NULL if it has none), and the sum of its live holds.
  cap_left JSONB := '{}';
  key_held JSONB := '{}';
BEGIN
  "written_off" := array_fill(0::NUMERIC, ARRAY[cardinality("p_ids")]);
  "over_cap" := "written_off";
  FOR charge IN
    SELECT p."id", p."key_id", k."account_id", p."amount", p."ordinal", a."balance", k AS key_row,
      p."guarded" OR h."request_id" IS NOT NULL AS is_guarded,
      CASE WHEN h."orphaned_at" IS NULL THEN coalesce(h."amount", 0) ELSE 0 END AS own_hold
    FROM (
      SELECT u.*, min(u."ordinal") OVER (PARTITION BY u."id") AS first_ordinal
      FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_guarded")
        WITH ORDINALITY AS u ("id", "key_id", "amount", "guarded", "ordinal")
    ) p
    JOIN "api_key" k ON k."id" = p."key_id"
    JOIN "account" a ON a."id" = k."account_id"
    LEFT JOIN "hold" h ON h."request_id" = p."id" AND h."key_id" = p."key_id"
    WHERE p."ordinal" = p."first_ordinal"
      AND NOT EXISTS (SELECT FROM "ledger" l WHERE l."id" = p."id")
    ORDER BY k."account_id", p."ordinal"
  LOOP
    IF charge."account_id" IS DISTINCT FROM of_account THEN
      of_account := charge."account_id";
      balance_left := charge."balance";
      SELECT coalesce(sum(h."amount"), 0) INTO held_by_others FROM "hold" h
        WHERE h."account_id" = of_account AND h."orphaned_at" IS NULL;
    END IF;
    IF NOT cap_left ? charge."key_id" THEN
      cap_left := cap_left || jsonb_build_object(charge."key_id",
        (SELECT c."cap" - c."used" FROM "tightest_cap"(charge.key_row, "p_moment") c));
      key_held := key_held || jsonb_build_object(charge."key_id",
        (SELECT coalesce(sum(h."amount"), 0) FROM "hold" h
          WHERE h."account_id" = of_account AND h."key_id" = charge."key_id"
            AND h."orphaned_at" IS NULL));
    END IF;
    held_by_others := held_by_others - charge.own_hold;
    key_held := jsonb_set(key_held, ARRAY[charge."key_id"],
      to_jsonb((key_held ->> charge."key_id")::NUMERIC - charge.own_hold));
    by_cap := (cap_left ->> charge."key_id")::NUMERIC;
    IF charge.is_guarded THEN
      -- The balance less what others hold. Unguarded charges or adjustments of the account may have
      -- lowered the balance below the sum of its holds: then the own hold counts, as far as the
      -- balance covers it.
      by_balance := greatest(0,
        least(balance_left, greatest(charge.own_hold, balance_left - held_by_others)));
      -- Write-offs of other requests count against the cap, too. So the cap may leave less than the
      -- charge's own hold, but the charge may take its own hold all the same. Without a cap the
      -- CASE gives NULL, which the outer "greatest" ignores.
      "written_off"[charge."ordinal"] := greatest(0, charge."amount" - by_balance,
        CASE WHEN by_cap IS NOT NULL THEN charge."amount"
          - greatest(charge.own_hold, by_cap - (key_held ->> charge."key_id")::NUMERIC) END);
      "over_cap"[charge."ordinal"] := "written_off"[charge."ordinal"]
        - greatest(0, charge."amount" - by_balance);
    END IF;
    balance_left := balance_left - charge."amount" + "written_off"[charge."ordinal"];
    IF by_cap IS NOT NULL THEN
      cap_left := jsonb_set(cap_left, ARRAY[charge."key_id"], to_jsonb(by_cap - charge."amount"));
    END IF;
  END LOOP;
END
$$;

-- Settles a batch of charges in one transaction and deletes the holds of their requests. Each array
-- has one element per charge, all in the same order.
--
-- Returns one row per charge: 'settled', 'replayed' (same id, same contents) or 'conflict' (same id,
-- other contents: an alarm row, no charge); the account's balance after the entry; whether the key is
-- active after the whole batch; and what could not be charged and was written off (see "write_offs").
--
-- Adds the charges to "usage_hour", and writes an event for each account whose balance falls to its
-- threshold or to zero, or does not cover a charge, and for each cap that is reached.
--
-- All joins are forced to be index lookups from the batch, and one plan serves every batch: planning
-- would take as long as settling a single charge, and a plan made while the tables are small must not
-- scan the ledger once it is large.
--
-- It stops waiting for a lock (after 8 seconds) before its caller stops waiting for the answer (10
-- seconds). Otherwise a call for which nobody waits would keep its connection, and settle late.
CREATE OR REPLACE FUNCTION "settle_batch"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_hashes" BYTEA[], "p_models" TEXT[],
  "p_input_tokens" INTEGER[], "p_output_tokens" INTEGER[], "p_cache_read_tokens" INTEGER[],
  "p_cache_write_tokens" INTEGER[], "p_cache_write_1h_tokens" INTEGER[],
  "p_input_rates" NUMERIC[], "p_output_rates" NUMERIC[], "p_cache_read_rates" NUMERIC[],
  "p_cache_write_5m_rates" NUMERIC[], "p_cache_write_1h_rates" NUMERIC[],
  "p_rates_ids" TEXT[],
  "p_endpoints" TEXT[], "p_streamed" BOOLEAN[], "p_upstream_ids" TEXT[],
  "p_upstream_accounts" TEXT[], "p_remarks" TEXT[],
  "p_guarded" BOOLEAN[]
) RETURNS TABLE (
  "ordinal" BIGINT, "outcome" TEXT, "balance" NUMERIC, "is_active" BOOLEAN, "written_off" NUMERIC
)
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
SET lock_timeout = '8s'
AS $$
#variable_conflict use_column
DECLARE
  moment TIMESTAMPTZ(3);
  today INTEGER;
  this_week INTEGER;
  this_month INTEGER;
  -- Empty when no charge of the batch is guarded, which is the usual case.
  batch_write_offs NUMERIC[] := '{}';
  batch_over_caps NUMERIC[] := '{}';
BEGIN
  IF EXISTS (
    SELECT FROM unnest("p_amounts") AS a ("amount")
    WHERE ("amount" < 0 OR scale(trim_scale("amount")) > 14) IS NOT FALSE
  ) THEN
    RAISE EXCEPTION 'an amount is missing, negative or finer than 10^-14 USD'
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;

  -- An acknowledged charge must be on disk, whatever the server's default is.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  -- Sorted, so that two replicas that lock the same accounts cannot deadlock. The next statement
  -- sees what earlier holders of these locks committed.
  PERFORM FROM "account" a
    WHERE a."id" IN (SELECT k."account_id" FROM "api_key" k WHERE k."id" = ANY ("p_key_ids"))
    ORDER BY a."id"
    FOR NO KEY UPDATE;

  -- Read only after the rows are locked, so that the entries of one account are in order of time.
  moment := clock_timestamp();
  today := "day_of"(moment);
  this_week := today - (today + 3) % 7;
  this_month := "month_start"(moment);

  IF EXISTS (
    SELECT FROM unnest("p_key_ids") AS p ("key_id")
    WHERE NOT EXISTS (SELECT FROM "api_key" k WHERE k."id" = p."key_id")
  ) THEN
    RAISE EXCEPTION 'no such API key' USING ERRCODE = 'foreign_key_violation';
  END IF;

  IF true = ANY ("p_guarded")
    OR EXISTS (SELECT FROM "hold" h WHERE h."request_id" = ANY ("p_ids"))
  THEN
    -- Deletes the holds that another key placed under the request id of a charge: they do not
    -- belong to the charge.
    DELETE FROM "hold" h USING unnest("p_ids", "p_key_ids") AS p ("id", "key_id")
      WHERE h."request_id" = p."id" AND h."key_id" <> p."key_id";
    SELECT w."written_off", w."over_cap" INTO batch_write_offs, batch_over_caps
      FROM "write_offs"("p_ids", "p_key_ids", "p_amounts", "p_guarded", moment) w;
    DELETE FROM "hold" h WHERE h."request_id" = ANY ("p_ids");
  END IF;

  RETURN QUERY
  WITH incoming AS (
    SELECT p.*, k."account_id", a."seq", a."balance", a."uncovered", k."state", k."expires_at",
      coalesce(batch_write_offs[p."ordinal"], 0) AS new_write_off,
      coalesce(batch_over_caps[p."ordinal"], 0) AS new_over_cap,
      l."input_hash" AS known_hash, l."balance_after" AS known_balance,
      l."written_off" AS known_write_off,
      l."id" IS NULL AND row_number() OVER same_id = 1 AS is_new,
      first_value(p."input_hash") OVER same_id AS first_hash
    FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_hashes", "p_models", "p_input_tokens",
      "p_output_tokens", "p_cache_read_tokens", "p_cache_write_tokens", "p_cache_write_1h_tokens",
      "p_input_rates", "p_output_rates", "p_cache_read_rates", "p_cache_write_5m_rates",
      "p_cache_write_1h_rates", "p_rates_ids", "p_endpoints", "p_streamed", "p_upstream_ids",
      "p_upstream_accounts", "p_remarks")
      WITH ORDINALITY AS p ("id", "key_id", "amount", "input_hash", "model", "input_tokens",
        "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens",
        "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
        "cache_write_1h_rate", "rates_id", "endpoint", "streamed", "upstream_id",
        "upstream_account", "remarks", "ordinal")
    JOIN "api_key" k ON k."id" = p."key_id"
    JOIN "account" a ON a."id" = k."account_id"
    LEFT JOIN "ledger" l ON l."id" = p."id"
    WINDOW same_id AS (PARTITION BY p."id" ORDER BY p."ordinal")
  ),
  numbered AS MATERIALIZED (
    SELECT i.*,
      i."seq" + count(*) FILTER (WHERE i.is_new) OVER so_far AS entry_seq,
      i."balance"
        - coalesce(sum(i."amount" - i.new_write_off) FILTER (WHERE i.is_new) OVER so_far, 0)
        AS balance_after,
      i."balance"
        - coalesce(sum(i."amount" - i.new_write_off) FILTER (WHERE i.is_new) OVER of_account, 0)
        AS balance_at_end,
      i."uncovered"
        + coalesce(sum(i.new_write_off - i.new_over_cap) FILTER (WHERE i.is_new) OVER of_account, 0)
        AS uncovered_at_end
    FROM incoming i
    WINDOW of_account AS (PARTITION BY i."account_id"),
      so_far AS (PARTITION BY i."account_id" ORDER BY i."ordinal")
  ),
  entered AS (
    INSERT INTO "ledger" ("id", "account_id", "seq", "kind", "delta", "balance_after",
      "written_off", "over_cap", "input_hash", "created_at", "key_id", "model", "input_tokens", "output_tokens",
      "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation_1h_input_tokens",
      "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
      "cache_write_1h_rate", "endpoint", "streamed", "upstream_id",
      "upstream_account", "remarks")
    SELECT n."id", n."account_id", n.entry_seq, 'charge', n.new_write_off - n."amount",
      n.balance_after, n.new_write_off, n.new_over_cap, n."input_hash", moment, n."key_id", n."model", n."input_tokens",
      n."output_tokens", n."cache_read_tokens", n."cache_write_tokens",
      n."cache_write_1h_tokens", n."input_rate", n."output_rate", n."cache_read_rate",
      n."cache_write_5m_rate", n."cache_write_1h_rate", n."endpoint", n."streamed",
      n."upstream_id", n."upstream_account", n."remarks"
    FROM numbered n
    WHERE n.is_new
    ORDER BY n."ordinal"
  ),
  of_accounts AS (
    SELECT n."account_id", sum(n."amount" - n.new_write_off) AS charged,
      sum(n.new_write_off) AS written_off, sum(n.new_over_cap) AS over_cap, count(*) AS entries
    FROM numbered n WHERE n.is_new GROUP BY n."account_id"
  ),
  of_keys AS (
    SELECT n."key_id", sum(n."amount" - n.new_write_off) AS charged,
      sum(n.new_write_off) AS written_off
    FROM numbered n WHERE n.is_new GROUP BY n."key_id"
  ),
  folded_accounts AS (
    UPDATE "account" a
    SET "balance" = a."balance" - d.charged,
      "spent" = a."spent" + d.charged,
      "written_off" = a."written_off" + d.written_off,
      "uncovered" = a."uncovered" + d.written_off - d.over_cap,
      "seq" = a."seq" + d.entries,
      "last_charged_at" = moment
    FROM of_accounts d
    WHERE a."id" = d."account_id"
  ),
  folded_keys AS (
    UPDATE "api_key" k
    SET "spent" = k."spent" + d.charged,
      "written_off" = k."written_off" + d.written_off,
      "day_start" = today,
      "day_base" = CASE k."day_start"
        WHEN today THEN k."day_base" ELSE k."spent" + k."written_off" END,
      "week_start" = this_week,
      "week_base" = CASE k."week_start"
        WHEN this_week THEN k."week_base" ELSE k."spent" + k."written_off" END,
      "month_start" = this_month,
      "month_base" = CASE k."month_start"
        WHEN this_month THEN k."month_base" ELSE k."spent" + k."written_off" END,
      "last_charged_at" = moment
    FROM of_keys d
    WHERE k."id" = d."key_id"
  ),
  summed AS (
    INSERT INTO "usage_hour" ("account_id", "hour", "key_id", "model", "endpoint",
      "upstream_account", "rates_id", "requests", "input_tokens", "output_tokens", "cache_read_input_tokens",
      "cache_creation_input_tokens", "cache_creation_1h_input_tokens", "input_rate",
      "output_rate", "cache_read_rate", "cache_write_5m_rate", "cache_write_1h_rate",
      "written_off")
    SELECT n."account_id", "hour_of"(moment), n."key_id", n."model", n."endpoint",
      coalesce(n."upstream_account", ''), n."rates_id", count(*), sum(n."input_tokens"), sum(n."output_tokens"), sum(n."cache_read_tokens"),
      sum(n."cache_write_tokens"), sum(n."cache_write_1h_tokens"), min(n."input_rate"),
      min(n."output_rate"), min(n."cache_read_rate"), min(n."cache_write_5m_rate"),
      min(n."cache_write_1h_rate"), sum(n.new_write_off)
    FROM numbered n
    WHERE n.is_new
    GROUP BY n."account_id", n."key_id", n."model", n."endpoint",
      coalesce(n."upstream_account", ''), n."rates_id"
    ON CONFLICT ("account_id", "hour", "key_id", "model", "endpoint", "upstream_account",
      "rates_id", "rolled_up")
    DO UPDATE
    SET "requests" = usage_hour."requests" + excluded."requests",
      "input_tokens" = usage_hour."input_tokens" + excluded."input_tokens",
      "output_tokens" = usage_hour."output_tokens" + excluded."output_tokens",
      "cache_read_input_tokens"
        = usage_hour."cache_read_input_tokens" + excluded."cache_read_input_tokens",
      "cache_creation_input_tokens"
        = usage_hour."cache_creation_input_tokens" + excluded."cache_creation_input_tokens",
      "cache_creation_1h_input_tokens"
        = usage_hour."cache_creation_1h_input_tokens" + excluded."cache_creation_1h_input_tokens",
      "written_off" = usage_hour."written_off" + excluded."written_off"
  ),
  told AS (
    INSERT INTO "event" ("id", "type", "account_id", "key_id", "data", "created_at", "due_at")
    SELECT 'evt_' || gen_random_uuid(), e."type", e."account_id", e."key_id", e."data", moment, moment
    FROM (
      SELECT 'balance.low' AS "type", a."id" AS "account_id", NULL AS "key_id",
        jsonb_build_object('balance', (a."balance" - d.charged)::TEXT,
          'threshold', a."low_balance"::TEXT) AS "data"
      FROM of_accounts d JOIN "account" a ON a."id" = d."account_id"
      WHERE a."balance" > a."low_balance" AND a."balance" - d.charged <= a."low_balance"
      UNION ALL
      SELECT 'balance.exhausted', a."id", NULL,
        jsonb_build_object('balance', (a."balance" - d.charged)::TEXT)
      FROM of_accounts d JOIN "account" a ON a."id" = d."account_id"
      WHERE a."balance" > 0 AND a."uncovered" = 0
        AND (a."balance" <= d.charged OR d.written_off > d.over_cap)
      UNION ALL
      SELECT 'cap.reached', k."account_id", k."id",
        jsonb_build_object('period', c."period", 'cap', c."cap"::TEXT,
          'used', (c."used" + d.charged + d.written_off)::TEXT)
      FROM of_keys d JOIN "api_key" k ON k."id" = d."key_id"
      CROSS JOIN LATERAL "caps_of"(k, moment) c
      WHERE num_nonnulls(k."cap_day", k."cap_week", k."cap_month", k."cap_total") > 0
        AND c."used" < c."cap" AND c."used" + d.charged + d.written_off >= c."cap"
    ) e
  ),
  judged AS (
    SELECT n.*,
      CASE
        WHEN n.is_new THEN 'settled'
        WHEN n."input_hash" = coalesce(n.known_hash, n.first_hash) THEN 'replayed'
        ELSE 'conflict'
      END AS outcome,
      -- A charge that repeats an earlier one of the batch reports the entry of that one.
      coalesce(n.known_balance, first_value(n.balance_after) OVER same_id) AS entry_balance,
      coalesce(n.known_write_off, first_value(n.new_write_off) OVER same_id) AS entry_write_off
    FROM numbered n
    WINDOW same_id AS (PARTITION BY n."id" ORDER BY n."ordinal")
  ),
  alarmed AS (
    INSERT INTO "settle_conflict" ("request_id", "input_hash", "key_id", "amount")
    SELECT j."id", j."input_hash", j."key_id", j."amount" FROM judged j WHERE j.outcome = 'conflict'
    ON CONFLICT DO NOTHING
  )
  SELECT j."ordinal", j.outcome, j.entry_balance,
    "standing_of"(j."state", j."expires_at", j.balance_at_end, j.uncovered_at_end) = 'active',
    j.entry_write_off
  FROM judged j;
END
$$;

-- Places holds in the order given. Returns one row per hold:
-- outcome: 'held' (also if it was placed before), 'short' (the balance less the account's live holds
--   is too small), 'capped' (a cap of the key leaves too little), 'inactive' (the key is not active);
-- standing: of the key;
-- balance, held: the account's balance, and the sum of its live holds, a new one included;
-- cap_period, cap, cap_used: the cap that leaves the least to spend; null if the key has none;
-- held_by_key: the sum of the key's live holds.
--
-- It stops waiting for a lock (after 4 seconds) before its caller stops waiting for the answer (5
-- seconds). Otherwise the caller could release a hold that is placed only afterwards, and that hold
-- would remain until it expires.
CREATE OR REPLACE FUNCTION "place_holds"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_lifetime" INTERVAL
) RETURNS TABLE (
  "ordinal" INTEGER, "outcome" TEXT, "standing" TEXT, "balance" NUMERIC, "held" NUMERIC,
  "cap_period" TEXT, "cap" NUMERIC, "cap_used" NUMERIC, "held_by_key" NUMERIC
)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
SET lock_timeout = '4s'
AS $$
#variable_conflict use_column
DECLARE
  k "api_key"%ROWTYPE;
  a "account"%ROWTYPE;
  c RECORD;
  moment TIMESTAMPTZ;
  live NUMERIC;
  live_of_key NUMERIC;
  verdict TEXT;
  rights TEXT;
BEGIN
  IF EXISTS (
    SELECT FROM unnest("p_amounts") AS a ("amount")
    WHERE ("amount" < 0 OR scale(trim_scale("amount")) > 14) IS NOT FALSE
  ) THEN
    RAISE EXCEPTION 'an amount is missing, negative or finer than 10^-14 USD'
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  -- The same locks as "settle_batch" takes, in the same order, so that a hold is never placed while
  -- a charge of the same account is being settled.
  PERFORM FROM "account"
    WHERE "id" IN (SELECT k."account_id" FROM "api_key" k WHERE k."id" = ANY ("p_key_ids"))
    ORDER BY "id" FOR NO KEY UPDATE;
  moment := clock_timestamp();
  UPDATE "hold" SET "orphaned_at" = moment
    WHERE "account_id" IN (SELECT k."account_id" FROM "api_key" k WHERE k."id" = ANY ("p_key_ids"))
      AND "orphaned_at" IS NULL AND "expires_at" <= moment;

  FOR i IN 1 .. cardinality("p_ids") LOOP
    SELECT * INTO k FROM "api_key" WHERE "id" = "p_key_ids"[i];
    SELECT * INTO a FROM "account" WHERE "id" = k."account_id";
    rights := CASE
      WHEN FOUND THEN "standing_of"(k."state", k."expires_at", a."balance", a."uncovered")
      ELSE 'unknown'
    END;
    SELECT coalesce(sum(h."amount"), 0),
        coalesce(sum(h."amount") FILTER (WHERE h."key_id" = k."id"), 0)
      INTO live, live_of_key FROM "hold" h
      WHERE h."account_id" = a."id" AND h."orphaned_at" IS NULL;
    SELECT * INTO c FROM "tightest_cap"(k, moment);
    IF rights <> 'active' THEN
      verdict := 'inactive';
    ELSIF EXISTS (
      SELECT FROM "hold" h WHERE h."request_id" = "p_ids"[i] AND h."orphaned_at" IS NULL
    ) THEN
      verdict := 'held';
    ELSIF c."used" >= c."cap" OR c."used" + live_of_key + "p_amounts"[i] > c."cap" THEN
      verdict := 'capped';
    ELSIF live + "p_amounts"[i] > a."balance" THEN
      verdict := 'short';
    ELSE
      verdict := 'held';
      live := live + "p_amounts"[i];
      live_of_key := live_of_key + "p_amounts"[i];
      INSERT INTO "hold" ("request_id", "account_id", "key_id", "amount", "created_at", "expires_at")
        VALUES ("p_ids"[i], a."id", "p_key_ids"[i], "p_amounts"[i], moment, moment + "p_lifetime")
        ON CONFLICT ("request_id") DO UPDATE SET "account_id" = excluded."account_id",
          "key_id" = excluded."key_id", "amount" = excluded."amount",
          "created_at" = excluded."created_at", "expires_at" = excluded."expires_at",
          "orphaned_at" = NULL;
    END IF;
    RETURN QUERY SELECT i, verdict, rights, a."balance", live, c."period", c."cap", c."used",
      live_of_key;
  END LOOP;
END
$$;

-- Extends the live holds of these requests, and marks all expired holds as orphaned. Skips rows
-- that a charge has locked, because the charge deletes them. Returns how many holds it marked.
CREATE OR REPLACE FUNCTION "renew_holds"("p_ids" TEXT[], "p_lifetime" INTERVAL) RETURNS INTEGER
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  orphaned INTEGER;
BEGIN
  UPDATE "hold" SET "expires_at" = clock_timestamp() + "p_lifetime"
    WHERE "request_id" IN (
      SELECT "request_id" FROM "hold"
      WHERE "request_id" = ANY ("p_ids") AND "orphaned_at" IS NULL
      FOR UPDATE SKIP LOCKED
    );
  UPDATE "hold" SET "orphaned_at" = clock_timestamp()
    WHERE "request_id" IN (
      SELECT "request_id" FROM "hold"
      WHERE "orphaned_at" IS NULL AND "expires_at" <= clock_timestamp()
      FOR UPDATE SKIP LOCKED
    );
  GET DIAGNOSTICS orphaned = ROW_COUNT;
  RETURN orphaned;
END
$$;

-- One field of a text that is hashed, preceded by its length in bytes, so that two different lists
-- of fields never give the same text.
--
-- PostgreSQL inlines a SQL function into the calling query only if the function is not declared
-- more stable than the expressions in its body. Without inlining, one call per field of each entry
-- would take thirty times as long. So the number is cast explicitly: `integer || text` is only
-- stable, but `text || text` is immutable.
CREATE OR REPLACE FUNCTION "sealed_field"("p_text" TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(octet_length("p_text")::TEXT || ':' || "p_text" || ',', '-,')
$$;

-- A time as milliseconds since the epoch, in the form of "sealed_field".
CREATE OR REPLACE FUNCTION "sealed_moment"("p_moment" TIMESTAMPTZ) RETURNS TEXT
LANGUAGE sql STABLE AS $$
  SELECT "sealed_field"((extract(epoch FROM "p_moment") * 1000)::BIGINT::TEXT)
$$;

-- The digest of one ledger entry that a seal contains: every column, in a fixed order.
CREATE OR REPLACE FUNCTION "entry_digest"(l "ledger") RETURNS BYTEA
LANGUAGE sql STABLE AS $$
  SELECT substr(sha256(convert_to(
    "sealed_field"(l."id") || "sealed_field"(l."account_id") || "sealed_field"(l."seq"::TEXT)
    || "sealed_field"(l."kind") || "sealed_field"(l."delta"::TEXT)
    || "sealed_field"(l."balance_after"::TEXT) || "sealed_field"(l."written_off"::TEXT)
    || "sealed_field"(l."over_cap"::TEXT)
    || "sealed_field"(encode(l."input_hash", 'hex'))
    || "sealed_moment"(l."created_at") || "sealed_field"(l."key_id")
    || "sealed_field"(l."model")
    || "sealed_field"(l."input_tokens"::TEXT) || "sealed_field"(l."output_tokens"::TEXT)
    || "sealed_field"(l."cache_read_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_1h_input_tokens"::TEXT)
    || "sealed_field"(l."input_rate"::TEXT) || "sealed_field"(l."output_rate"::TEXT)
    || "sealed_field"(l."cache_read_rate"::TEXT) || "sealed_field"(l."cache_write_5m_rate"::TEXT)
    || "sealed_field"(l."cache_write_1h_rate"::TEXT) || "sealed_field"(l."endpoint")
    || "sealed_field"(l."streamed"::TEXT) || "sealed_field"(l."upstream_id")
    || "sealed_field"(l."upstream_account")
    || "sealed_field"(l."remarks") || "sealed_field"(l."actor")
    || "sealed_field"(l."source") || "sealed_moment"(l."expires_at")
    || "sealed_field"(l."reason") || "sealed_field"(l."reference")
    || "sealed_field"(l."note_id"),
    'UTF8')), 1, 16)
$$;

-- The digest of one row of the trail. It covers every column, in a fixed order. A seal contains it.
CREATE OR REPLACE FUNCTION "trail_digest"(t "trail") RETURNS BYTEA
LANGUAGE sql STABLE AS $$
  SELECT substr(sha256(convert_to(
    "sealed_field"(t."seq"::TEXT) || "sealed_moment"(t."created_at") || "sealed_field"(t."actor")
    || "sealed_field"(t."address") || "sealed_field"(t."action") || "sealed_field"(t."account_id")
    || "sealed_field"(t."key_id") || "sealed_field"(t."details") || "sealed_field"(t."personal_id"),
    'UTF8')), 1, 16)
$$;

-- Adds hourly totals from before the hour "p_before", at most "p_limit" of them, to the daily
-- totals, and marks them as rolled up. Returns how many it added; 0 also while another session is
-- rolling up.
--
-- An hourly total that a charge is changing is left for later: waiting for it could end in a
-- deadlock, because the charge may wait for another total that is being rolled up.
CREATE OR REPLACE FUNCTION "roll_up_usage"("p_before" INTEGER, "p_limit" INTEGER) RETURNS INTEGER
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  sums INTEGER;
BEGIN
  IF NOT pg_try_advisory_xact_lock(72707371) THEN
    RETURN 0;
  END IF;
  WITH open AS (
    SELECT u."account_id", u."hour", u."key_id", u."model", u."endpoint", u."upstream_account",
      u."rates_id"
    FROM "usage_hour" u
    WHERE u."rolled_up" = FALSE AND u."hour" < "p_before"
    ORDER BY u."hour"
    LIMIT "p_limit"
    FOR UPDATE SKIP LOCKED
  ),
  taken AS (
    DELETE FROM "usage_hour" u USING open o
    WHERE u."account_id" = o."account_id" AND u."hour" = o."hour" AND u."key_id" = o."key_id"
      AND u."model" = o."model" AND u."endpoint" = o."endpoint"
      AND u."upstream_account" = o."upstream_account" AND u."rates_id" = o."rates_id"
      AND u."rolled_up" = FALSE
    RETURNING u.*
  ),
  kept AS (
    INSERT INTO "usage_hour" ("account_id", "hour", "key_id", "model", "endpoint",
      "upstream_account", "rates_id", "rolled_up", "requests", "input_tokens", "output_tokens",
      "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation_1h_input_tokens",
      "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
      "cache_write_1h_rate", "written_off")
    SELECT t."account_id", t."hour", t."key_id", t."model", t."endpoint", t."upstream_account",
      t."rates_id", TRUE, t."requests", t."input_tokens", t."output_tokens",
      t."cache_read_input_tokens", t."cache_creation_input_tokens",
      t."cache_creation_1h_input_tokens", t."input_rate", t."output_rate", t."cache_read_rate",
      t."cache_write_5m_rate", t."cache_write_1h_rate", t."written_off"
    FROM taken t
    ON CONFLICT ("account_id", "hour", "key_id", "model", "endpoint", "upstream_account",
      "rates_id", "rolled_up")
    DO UPDATE
    SET "requests" = usage_hour."requests" + excluded."requests",
      "input_tokens" = usage_hour."input_tokens" + excluded."input_tokens",
      "output_tokens" = usage_hour."output_tokens" + excluded."output_tokens",
      "cache_read_input_tokens"
        = usage_hour."cache_read_input_tokens" + excluded."cache_read_input_tokens",
      "cache_creation_input_tokens"
        = usage_hour."cache_creation_input_tokens" + excluded."cache_creation_input_tokens",
      "cache_creation_1h_input_tokens"
        = usage_hour."cache_creation_1h_input_tokens" + excluded."cache_creation_1h_input_tokens",
      "written_off" = usage_hour."written_off" + excluded."written_off"
  ),
  summed AS (
    INSERT INTO "usage_day" ("account_id", "key_id", "day", "model", "endpoint",
      "upstream_account", "rates_id", "requests", "input_tokens", "output_tokens",
      "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation_1h_input_tokens",
      "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
      "cache_write_1h_rate", "written_off")
    SELECT coalesce(t."account_id", ''), coalesce(t."key_id", ''), t."hour" / 24, t."model",
      t."endpoint", t."upstream_account", t."rates_id", sum(t."requests"), sum(t."input_tokens"),
      sum(t."output_tokens"), sum(t."cache_read_input_tokens"),
      sum(t."cache_creation_input_tokens"), sum(t."cache_creation_1h_input_tokens"),
      min(t."input_rate"), min(t."output_rate"), min(t."cache_read_rate"),
      min(t."cache_write_5m_rate"), min(t."cache_write_1h_rate"), sum(t."written_off")
    FROM taken t
    GROUP BY t."hour" / 24, t."model", t."endpoint", t."upstream_account", t."rates_id",
      GROUPING SETS ((t."account_id", t."key_id"), (t."account_id"), ())
    ON CONFLICT ("account_id", "key_id", "day", "model", "endpoint", "upstream_account", "rates_id")
    DO UPDATE
    SET "requests" = usage_day."requests" + excluded."requests",
      "input_tokens" = usage_day."input_tokens" + excluded."input_tokens",
      "output_tokens" = usage_day."output_tokens" + excluded."output_tokens",
      "cache_read_input_tokens"
        = usage_day."cache_read_input_tokens" + excluded."cache_read_input_tokens",
      "cache_creation_input_tokens"
        = usage_day."cache_creation_input_tokens" + excluded."cache_creation_input_tokens",
      "cache_creation_1h_input_tokens"
        = usage_day."cache_creation_1h_input_tokens" + excluded."cache_creation_1h_input_tokens",
      "written_off" = usage_day."written_off" + excluded."written_off"
  )
  SELECT count(*) INTO sums FROM taken;
  RETURN sums;
END
$$;

-- Seals at most "p_max_entries" entries of the accounts "p_account_ids" (the id 'trail' stands for
-- the trail) as the next block of the hash chain. Returns how many it sealed; 0 also while another
-- session is sealing. Reads one range per account through the index, so the time does not grow with
-- the length of the ledger.
CREATE OR REPLACE FUNCTION "seal_ledger"("p_account_ids" TEXT[], "p_max_entries" INTEGER) RETURNS INTEGER
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  last "ledger_block"%ROWTYPE;
  this_block BIGINT;
  moment TIMESTAMPTZ(3) := clock_timestamp();
  a RECORD;
  sealed_seq BIGINT;
  until_seq BIGINT;
  sealed INTEGER := 0;
  digests BYTEA;
  ranges BYTEA := '';
BEGIN
  IF NOT pg_try_advisory_xact_lock(72707370) THEN
    RETURN 0;
  END IF;
  SELECT * INTO last FROM "ledger_block" ORDER BY "id" DESC LIMIT 1;
  this_block := coalesce(last."id", 0) + 1;

  FOR a IN
    SELECT "id", "seq" FROM "account" WHERE "id" = ANY ("p_account_ids")
    UNION ALL
    SELECT 'trail', (SELECT max(t."seq") FROM "trail" t) WHERE 'trail' = ANY ("p_account_ids")
    ORDER BY 1
  LOOP
    SELECT coalesce(max(s."to_seq"), 0) INTO sealed_seq FROM (
      SELECT "to_seq" FROM "ledger_seal" WHERE "account_id" = a."id" ORDER BY "from_seq" DESC LIMIT 1
    ) s;
    CONTINUE WHEN coalesce(a."seq", 0) <= sealed_seq;
    until_seq := least(a."seq", sealed_seq + "p_max_entries" - sealed);
    IF a."id" = 'trail' THEN
      SELECT string_agg("trail_digest"(t), '' ORDER BY t."seq") INTO digests FROM "trail" t
        WHERE t."seq" > sealed_seq AND t."seq" <= until_seq;
    ELSE
      SELECT string_agg("entry_digest"(e), '' ORDER BY e."seq") INTO digests FROM "ledger" e
        WHERE e."account_id" = a."id" AND e."seq" > sealed_seq AND e."seq" <= until_seq;
    END IF;
    IF octet_length(digests) IS DISTINCT FROM (16 * (until_seq - sealed_seq))::INTEGER THEN
      RAISE EXCEPTION 'entries of % are missing, so nothing was sealed: audit the ledger', a."id";
    END IF;
    INSERT INTO "ledger_seal" ("account_id", "from_seq", "to_seq", "block_id", "digests")
      VALUES (a."id", sealed_seq + 1, until_seq, this_block, digests);
    ranges := ranges || convert_to("sealed_field"(a."id") || "sealed_field"((sealed_seq + 1)::TEXT)
      || "sealed_field"(until_seq::TEXT), 'UTF8') || digests;
    sealed := sealed + (until_seq - sealed_seq)::INTEGER;
    EXIT WHEN sealed >= "p_max_entries";
  END LOOP;
  IF sealed = 0 THEN
    RETURN 0;
  END IF;

  INSERT INTO "ledger_block" ("id", "previous_hash", "hash", "entries", "sealed_at")
  VALUES (this_block, coalesce(last."hash", ''),
    sha256(coalesce(last."hash", '')
      || convert_to("sealed_field"(this_block::TEXT) || "sealed_field"(sealed::TEXT)
        || "sealed_moment"(moment), 'UTF8')
      || ranges),
    sealed, moment);
  RETURN sealed;
END
$$;
