-- Keys, the append-only ledger, holds, the hash chain over the ledger, and the functions that are the
-- only way money moves. The text of each function is the one in ../../functions.
--
-- Amounts are USD in NUMERIC(38,14): 10^-14 USD is the smallest amount any charge can have. That type
-- rounds finer input silently, so the functions take unconstrained NUMERIC and refuse it instead.
-- Ids compare bytewise (COLLATE "C"): every replica then locks keys in the same order.

CREATE TABLE "api_key" (
  "id" TEXT COLLATE "C" NOT NULL,
  "name" TEXT NOT NULL,
  "hint" TEXT NOT NULL,
  "credential_hmac" BYTEA NOT NULL,
  "pepper_id" TEXT NOT NULL,
  "state" TEXT NOT NULL DEFAULT 'active',
  "expires_at" TIMESTAMPTZ(3),
  "concurrency" INTEGER NOT NULL,
  "burst" INTEGER NOT NULL,
  "requests_per_minute" DOUBLE PRECISION NOT NULL,
  "balance" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "spent" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "credited" NUMERIC(38,14) NOT NULL DEFAULT 0,
  -- The sum of all write-offs, and of those since the last credit (see "standing_of").
  "written_off" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "uncovered" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "seq" BIGINT NOT NULL DEFAULT 0,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "last_charged_at" TIMESTAMPTZ(3),
  CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "api_key_state" CHECK ("state" IN ('active', 'suspended', 'revoked')),
  CONSTRAINT "api_key_limits"
    CHECK ("concurrency" > 0 AND "burst" > 0 AND "requests_per_minute" > 0)
) WITH (fillfactor = 50); -- room for a row's next version on the same page, so that no index changes

CREATE UNIQUE INDEX "api_key_credential_hmac_key" ON "api_key" ("credential_hmac");

CREATE TABLE "ledger" (
  "id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "seq" BIGINT NOT NULL,
  "kind" TEXT NOT NULL,
  "delta" NUMERIC(38,14) NOT NULL,
  "balance_after" NUMERIC(38,14) NOT NULL,
  -- The part of a charge's list price that its balance could not cover: "delta" is less by it.
  "written_off" NUMERIC(38,14) NOT NULL DEFAULT 0,
  "input_hash" BYTEA NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
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
  -- What was odd about the usage object that this charge was made from.
  "remarks" TEXT,
  "actor" TEXT,
  CONSTRAINT "ledger_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "ledger_kind" CHECK (
    CASE "kind"
      WHEN 'charge' THEN
        "delta" <= 0
        AND "written_off" >= 0
        AND "input_tokens" >= 0
        AND "output_tokens" >= 0
        AND "cache_read_input_tokens" >= 0
        AND "cache_creation_1h_input_tokens" >= 0
        AND "cache_creation_input_tokens" >= "cache_creation_1h_input_tokens"
        AND num_nulls("model", "input_tokens", "output_tokens", "cache_read_input_tokens",
          "cache_creation_input_tokens", "cache_creation_1h_input_tokens", "input_rate",
          "output_rate", "cache_read_rate", "cache_write_5m_rate", "cache_write_1h_rate",
          "endpoint", "streamed") = 0
      WHEN 'top_up' THEN "delta" > 0 AND "written_off" = 0 AND "actor" IS NOT NULL
      ELSE false
    END
  )
);

-- "settle_batch" and "top_up" check the foreign key themselves, while they hold the key's row lock: a
-- constraint would look the same row up again for every entry. "api_key_fence" forbids deleting keys.
CREATE UNIQUE INDEX "ledger_key_id_seq_key" ON "ledger" ("key_id", "seq");
CREATE INDEX "ledger_created_at_idx" ON "ledger" ("created_at");

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

-- The most a request may cost, set aside before it is sent upstream. A live hold lowers what other
-- requests of its key may hold; an orphaned one no longer does.
CREATE TABLE "hold" (
  "request_id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "amount" NUMERIC(38,14) NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  -- Set when it expired without a charge or a release.
  "orphaned_at" TIMESTAMPTZ(3),
  CONSTRAINT "hold_pkey" PRIMARY KEY ("request_id"),
  CONSTRAINT "hold_amount" CHECK ("amount" >= 0)
);

CREATE INDEX "hold_live_key_id_idx" ON "hold" ("key_id") WHERE "orphaned_at" IS NULL;
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

-- A range of one key's entries with a digest of 16 bytes for each of them, so that an audit can name the
-- entry that was changed and not only its block.
CREATE TABLE "ledger_seal" (
  "key_id" TEXT COLLATE "C" NOT NULL,
  "from_seq" BIGINT NOT NULL,
  "to_seq" BIGINT NOT NULL,
  "block_id" BIGINT NOT NULL,
  "digests" BYTEA NOT NULL,
  CONSTRAINT "ledger_seal_pkey" PRIMARY KEY ("key_id", "from_seq")
);

CREATE INDEX "ledger_seal_block_id_idx" ON "ledger_seal" ("block_id");

-- Trigger of every append-only table: corrections are new entries.
CREATE OR REPLACE FUNCTION "refuse_rewrite"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: corrections are new entries', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER "ledger_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "api_key_fence" BEFORE DELETE OR TRUNCATE ON "api_key"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_block_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_block"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_seal_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_seal"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();

-- What a key may do: the only place where a key is disabled or enabled. The standing is derived and
-- never stored, so a credit that races an exhausting charge cannot end in the wrong state.
--
-- "uncovered" is what responses cost since the last credit beyond what the balance could cover. It is
-- the operator's loss, and the key stays exhausted until the next credit even if holds that end later
-- leave it a balance above zero: otherwise the same loss could be caused again and again.
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

CREATE VIEW "key_standing" AS
  SELECT "id", "name", "hint", "credential_hmac", "state", "expires_at", "concurrency", "burst",
    "requests_per_minute", "balance", "spent", "credited", "written_off", "uncovered", "seq",
    "created_at", "last_charged_at",
    "standing_of"("state", "expires_at", "balance", "uncovered") AS "standing"
  FROM "api_key";

-- What must be written off of each charge, so that no guarded one takes its key's balance below zero
-- or into money that is held for other requests. Zero for charges that are not guarded.
--
-- A charge is guarded if the gateway says so or if its request has a hold. A guarded charge may take its
-- own live hold and whatever no other live hold covers. Returns one amount per charge, in the order
-- given; zero for charges that are in the ledger already and for repeats within the batch.
--
-- To be called while the keys' rows are locked and before the holds of the charges are deleted.
CREATE OR REPLACE FUNCTION "write_offs"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_guarded" BOOLEAN[]
) RETURNS NUMERIC[]
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  written_off NUMERIC[] := array_fill(0::NUMERIC, ARRAY[cardinality("p_ids")]);
  charge RECORD;
  of_key TEXT;
  balance_left NUMERIC;
  held_by_others NUMERIC;
  affordable NUMERIC;
BEGIN
  FOR charge IN
    SELECT p."id", p."key_id", p."amount", p."ordinal", k."balance",
      p."guarded" OR h."request_id" IS NOT NULL AS is_guarded,
      CASE WHEN h."orphaned_at" IS NULL THEN coalesce(h."amount", 0) ELSE 0 END AS own_hold
    FROM (
      SELECT u.*, min(u."ordinal") OVER (PARTITION BY u."id") AS first_ordinal
      FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_guarded")
        WITH ORDINALITY AS u ("id", "key_id", "amount", "guarded", "ordinal")
    ) p
    JOIN "api_key" k ON k."id" = p."key_id"
    LEFT JOIN "hold" h ON h."request_id" = p."id" AND h."key_id" = p."key_id"
    WHERE p."ordinal" = p."first_ordinal"
      AND NOT EXISTS (SELECT FROM "ledger" l WHERE l."id" = p."id")
    ORDER BY p."key_id", p."ordinal"
  LOOP
    IF charge."key_id" IS DISTINCT FROM of_key THEN
      of_key := charge."key_id";
      balance_left := charge."balance";
      SELECT coalesce(sum(h."amount"), 0) INTO held_by_others FROM "hold" h
        WHERE h."key_id" = of_key AND h."orphaned_at" IS NULL;
    END IF;
    held_by_others := held_by_others - charge.own_hold;
    IF charge.is_guarded THEN
      -- Without unguarded charges of the same key, the first two are the same.
      affordable := greatest(0,
        least(balance_left, greatest(charge.own_hold, balance_left - held_by_others)));
      written_off[charge."ordinal"] := greatest(0, charge."amount" - affordable);
    END IF;
    balance_left := balance_left - charge."amount" + written_off[charge."ordinal"];
  END LOOP;
  RETURN written_off;
END
$$;

-- Settles a batch of charges in one transaction and deletes the holds of their requests. Arrays run in
-- parallel, one element per charge.
--
-- Returns one row per charge: 'settled', 'replayed' (same id, same contents) or 'conflict' (same id,
-- other contents: an alarm row, no charge); the balance after the entry; whether the key is active after
-- the whole batch; and what was written off because the balance could not cover it (see "write_offs").
--
-- All joins are forced to be index lookups from the batch, and one plan serves every batch: planning
-- would take as long as settling a single charge, and a plan made while the tables are small must not
-- scan the ledger once it is large.
CREATE OR REPLACE FUNCTION "settle_batch"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_hashes" BYTEA[], "p_models" TEXT[],
  "p_input_tokens" INTEGER[], "p_output_tokens" INTEGER[], "p_cache_read_tokens" INTEGER[],
  "p_cache_write_tokens" INTEGER[], "p_cache_write_1h_tokens" INTEGER[],
  "p_input_rates" NUMERIC[], "p_output_rates" NUMERIC[], "p_cache_read_rates" NUMERIC[],
  "p_cache_write_5m_rates" NUMERIC[], "p_cache_write_1h_rates" NUMERIC[],
  "p_endpoints" TEXT[], "p_streamed" BOOLEAN[], "p_upstream_ids" TEXT[], "p_remarks" TEXT[],
  "p_guarded" BOOLEAN[]
) RETURNS TABLE (
  "ordinal" BIGINT, "outcome" TEXT, "balance" NUMERIC, "is_active" BOOLEAN, "written_off" NUMERIC
)
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  moment TIMESTAMPTZ;
  -- Empty when no charge of the batch is guarded, which is the usual case.
  batch_write_offs NUMERIC[] := '{}';
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

  -- Sorted, so that two replicas with the same keys in another order cannot deadlock. The next
  -- statement sees what earlier holders of these locks committed.
  PERFORM FROM "api_key" k
    WHERE k."id" = ANY ("p_key_ids")
    ORDER BY k."id"
    FOR NO KEY UPDATE;

  -- Taken under the locks: entries of one key are then in order of time.
  moment := clock_timestamp();

  IF EXISTS (
    SELECT FROM unnest("p_key_ids") AS p ("key_id")
    WHERE NOT EXISTS (SELECT FROM "api_key" k WHERE k."id" = p."key_id")
  ) THEN
    RAISE EXCEPTION 'no such API key' USING ERRCODE = 'foreign_key_violation';
  END IF;

  IF true = ANY ("p_guarded")
    OR EXISTS (SELECT FROM "hold" h WHERE h."request_id" = ANY ("p_ids"))
  THEN
    batch_write_offs := "write_offs"("p_ids", "p_key_ids", "p_amounts", "p_guarded");
    DELETE FROM "hold" h WHERE h."request_id" = ANY ("p_ids");
  END IF;

  RETURN QUERY
  WITH incoming AS (
    SELECT p.*, k."seq", k."balance", k."uncovered", k."state", k."expires_at",
      coalesce(batch_write_offs[p."ordinal"], 0) AS new_write_off,
      l."input_hash" AS known_hash, l."balance_after" AS known_balance,
      l."written_off" AS known_write_off,
      l."id" IS NULL AND row_number() OVER same_id = 1 AS is_new,
      first_value(p."input_hash") OVER same_id AS first_hash
    FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_hashes", "p_models", "p_input_tokens",
      "p_output_tokens", "p_cache_read_tokens", "p_cache_write_tokens", "p_cache_write_1h_tokens",
      "p_input_rates", "p_output_rates", "p_cache_read_rates", "p_cache_write_5m_rates",
      "p_cache_write_1h_rates", "p_endpoints", "p_streamed", "p_upstream_ids", "p_remarks")
      WITH ORDINALITY AS p ("id", "key_id", "amount", "input_hash", "model", "input_tokens",
        "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens",
        "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
        "cache_write_1h_rate", "endpoint", "streamed", "upstream_id", "remarks", "ordinal")
    JOIN "api_key" k ON k."id" = p."key_id"
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
        - coalesce(sum(i."amount" - i.new_write_off) FILTER (WHERE i.is_new) OVER of_key, 0)
        AS balance_at_end,
      i."uncovered"
        + coalesce(sum(i.new_write_off) FILTER (WHERE i.is_new) OVER of_key, 0)
        AS uncovered_at_end
    FROM incoming i
    WINDOW of_key AS (PARTITION BY i."key_id"),
      so_far AS (PARTITION BY i."key_id" ORDER BY i."ordinal")
  ),
  entered AS (
    INSERT INTO "ledger" ("id", "key_id", "seq", "kind", "delta", "balance_after", "written_off",
      "input_hash", "created_at", "model", "input_tokens", "output_tokens",
      "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation_1h_input_tokens",
      "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
      "cache_write_1h_rate", "endpoint", "streamed", "upstream_id", "remarks")
    SELECT n."id", n."key_id", n.entry_seq, 'charge', n.new_write_off - n."amount",
      n.balance_after, n.new_write_off, n."input_hash", moment, n."model", n."input_tokens",
      n."output_tokens", n."cache_read_tokens", n."cache_write_tokens",
      n."cache_write_1h_tokens", n."input_rate", n."output_rate", n."cache_read_rate",
      n."cache_write_5m_rate", n."cache_write_1h_rate", n."endpoint", n."streamed",
      n."upstream_id", n."remarks"
    FROM numbered n
    WHERE n.is_new
    ORDER BY n."ordinal"
  ),
  folded AS (
    UPDATE "api_key" k
    SET "balance" = k."balance" - d.charged,
      "spent" = k."spent" + d.charged,
      "written_off" = k."written_off" + d.written_off,
      "uncovered" = k."uncovered" + d.written_off,
      "seq" = k."seq" + d.entries,
      "last_charged_at" = moment
    FROM (
      SELECT n."key_id", sum(n."amount" - n.new_write_off) AS charged,
        sum(n.new_write_off) AS written_off, count(*) AS entries
      FROM numbered n WHERE n.is_new GROUP BY n."key_id"
    ) d
    WHERE k."id" = d."key_id"
  ),
  judged AS (
    SELECT n.*,
      CASE
        WHEN n.is_new THEN 'settled'
        WHEN n."input_hash" = coalesce(n.known_hash, n.first_hash) THEN 'replayed'
        ELSE 'conflict'
      END AS outcome,
      -- A repeat within the batch stands after its first occurrence, whose entry is the one to report.
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

-- Credits a key once per id. Returns 'credited', 'replayed', 'conflict' (the id was used for another
-- key or amount) or 'unknown_key'. A credit ends the exhaustion that a write-off caused.
CREATE OR REPLACE FUNCTION "top_up"(
  "p_id" TEXT, "p_key_id" TEXT, "p_amount" NUMERIC, "p_hash" BYTEA, "p_actor" TEXT
) RETURNS TABLE ("outcome" TEXT, "balance" NUMERIC, "is_active" BOOLEAN)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  k "api_key"%ROWTYPE;
  known "ledger"%ROWTYPE;
  moment TIMESTAMPTZ;
BEGIN
  IF ("p_amount" > 0 AND scale(trim_scale("p_amount")) <= 14) IS NOT TRUE THEN
    RAISE EXCEPTION 'the amount is missing, not above zero or finer than 10^-14 USD'
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  SELECT * INTO k FROM "api_key" WHERE "id" = "p_key_id" FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'unknown_key', NULL::NUMERIC, NULL::BOOLEAN;
    RETURN;
  END IF;
  moment := clock_timestamp();

  SELECT * INTO known FROM "ledger" WHERE "id" = "p_id";
  IF FOUND THEN
    IF known."input_hash" = "p_hash" THEN
      RETURN QUERY SELECT 'replayed', known."balance_after",
        "standing_of"(k."state", k."expires_at", k."balance", k."uncovered") = 'active';
    ELSE
      RETURN QUERY SELECT 'conflict', NULL::NUMERIC, NULL::BOOLEAN;
    END IF;
    RETURN;
  END IF;

  INSERT INTO "ledger" ("id", "key_id", "seq", "kind", "delta", "balance_after", "input_hash",
    "created_at", "actor")
  VALUES ("p_id", k."id", k."seq" + 1, 'top_up', "p_amount", k."balance" + "p_amount", "p_hash",
    moment, "p_actor");
  UPDATE "api_key"
  SET "balance" = k."balance" + "p_amount",
    "credited" = k."credited" + "p_amount",
    "uncovered" = 0,
    "seq" = k."seq" + 1
  WHERE "id" = k."id";
  RETURN QUERY SELECT 'credited', k."balance" + "p_amount",
    "standing_of"(k."state", k."expires_at", k."balance" + "p_amount", 0) = 'active';
END
$$;

-- Places holds in the order given. Returns one row per hold: 'held' (also if it was placed before),
-- 'short' (it does not fit; nothing is held) or 'inactive' (the key is not active); the key's standing and
-- balance; the sum of its live holds now.
CREATE OR REPLACE FUNCTION "place_holds"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_lifetime" INTERVAL
) RETURNS TABLE (
  "ordinal" INTEGER, "outcome" TEXT, "standing" TEXT, "balance" NUMERIC, "held" NUMERIC
)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  k "api_key"%ROWTYPE;
  moment TIMESTAMPTZ;
  live NUMERIC;
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

  -- The locks that settling takes, in the same order: a charge and a hold of one key never overlap.
  PERFORM FROM "api_key" WHERE "id" = ANY ("p_key_ids") ORDER BY "id" FOR NO KEY UPDATE;
  moment := clock_timestamp();
  UPDATE "hold" SET "orphaned_at" = moment
    WHERE "key_id" = ANY ("p_key_ids") AND "orphaned_at" IS NULL AND "expires_at" <= moment;

  FOR i IN 1 .. cardinality("p_ids") LOOP
    SELECT * INTO k FROM "api_key" WHERE "id" = "p_key_ids"[i];
    rights := CASE
      WHEN FOUND THEN "standing_of"(k."state", k."expires_at", k."balance", k."uncovered")
      ELSE 'unknown'
    END;
    SELECT coalesce(sum(h."amount"), 0) INTO live FROM "hold" h
      WHERE h."key_id" = "p_key_ids"[i] AND h."orphaned_at" IS NULL;
    IF rights <> 'active' THEN
      verdict := 'inactive';
    ELSIF EXISTS (
      SELECT FROM "hold" h WHERE h."request_id" = "p_ids"[i] AND h."orphaned_at" IS NULL
    ) THEN
      verdict := 'held';
    ELSIF live + "p_amounts"[i] > k."balance" THEN
      verdict := 'short';
    ELSE
      verdict := 'held';
      live := live + "p_amounts"[i];
      INSERT INTO "hold" ("request_id", "key_id", "amount", "created_at", "expires_at")
        VALUES ("p_ids"[i], "p_key_ids"[i], "p_amounts"[i], moment, moment + "p_lifetime")
        ON CONFLICT ("request_id") DO UPDATE SET "key_id" = excluded."key_id",
          "amount" = excluded."amount", "created_at" = excluded."created_at",
          "expires_at" = excluded."expires_at", "orphaned_at" = NULL;
    END IF;
    RETURN QUERY SELECT i, verdict, rights, k."balance", live;
  END LOOP;
END
$$;

-- Extends live holds and orphans those that have expired. Skips rows that a charge has locked: the
-- charge deletes them. Returns how many were orphaned.
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

-- One field of a text that is hashed, preceded by its length in bytes, so that two different lists of
-- fields never have the same text.
--
-- PostgreSQL inlines a SQL function into the calling query only if the function is not declared more
-- stable than its parts. A call per field of each entry would take thirty times as long, so the number
-- is cast explicitly: `integer || text` is only stable, `text || text` is immutable.
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
    "sealed_field"(l."id") || "sealed_field"(l."key_id") || "sealed_field"(l."seq"::TEXT)
    || "sealed_field"(l."kind") || "sealed_field"(l."delta"::TEXT)
    || "sealed_field"(l."balance_after"::TEXT) || "sealed_field"(l."written_off"::TEXT)
    || "sealed_field"(encode(l."input_hash", 'hex'))
    || "sealed_moment"(l."created_at") || "sealed_field"(l."model")
    || "sealed_field"(l."input_tokens"::TEXT) || "sealed_field"(l."output_tokens"::TEXT)
    || "sealed_field"(l."cache_read_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_1h_input_tokens"::TEXT)
    || "sealed_field"(l."input_rate"::TEXT) || "sealed_field"(l."output_rate"::TEXT)
    || "sealed_field"(l."cache_read_rate"::TEXT) || "sealed_field"(l."cache_write_5m_rate"::TEXT)
    || "sealed_field"(l."cache_write_1h_rate"::TEXT) || "sealed_field"(l."endpoint")
    || "sealed_field"(l."streamed"::TEXT) || "sealed_field"(l."upstream_id")
    || "sealed_field"(l."remarks") || "sealed_field"(l."actor"),
    'UTF8')), 1, 16)
$$;

-- Seals at most "p_max_entries" entries of these keys as the next block of the hash chain. Returns how
-- many; 0 also while another session is sealing. Reads one range per key through the index, so the time
-- does not grow with the length of the ledger.
CREATE OR REPLACE FUNCTION "seal_ledger"("p_key_ids" TEXT[], "p_max_entries" INTEGER) RETURNS INTEGER
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  last "ledger_block"%ROWTYPE;
  this_block BIGINT;
  moment TIMESTAMPTZ(3) := clock_timestamp();
  k RECORD;
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

  FOR k IN SELECT "id", "seq" FROM "api_key" WHERE "id" = ANY ("p_key_ids") ORDER BY "id" LOOP
    SELECT coalesce(max(s."to_seq"), 0) INTO sealed_seq FROM (
      SELECT "to_seq" FROM "ledger_seal" WHERE "key_id" = k."id" ORDER BY "from_seq" DESC LIMIT 1
    ) s;
    CONTINUE WHEN k."seq" <= sealed_seq;
    until_seq := least(k."seq", sealed_seq + "p_max_entries" - sealed);
    SELECT string_agg("entry_digest"(e), '' ORDER BY e."seq") INTO digests FROM "ledger" e
      WHERE e."key_id" = k."id" AND e."seq" > sealed_seq AND e."seq" <= until_seq;
    IF octet_length(digests) IS DISTINCT FROM (16 * (until_seq - sealed_seq))::INTEGER THEN
      RAISE EXCEPTION 'entries of key % are missing: audit the ledger before it is sealed', k."id";
    END IF;
    INSERT INTO "ledger_seal" ("key_id", "from_seq", "to_seq", "block_id", "digests")
      VALUES (k."id", sealed_seq + 1, until_seq, this_block, digests);
    ranges := ranges || convert_to("sealed_field"(k."id") || "sealed_field"((sealed_seq + 1)::TEXT)
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
