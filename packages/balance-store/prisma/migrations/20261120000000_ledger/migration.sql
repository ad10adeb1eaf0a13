-- Keys, the append-only ledger, and the functions that are the only way money moves.
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
  "seq" BIGINT NOT NULL DEFAULT 0,
  "exhausted_at" TIMESTAMPTZ(3),
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "last_charged_at" TIMESTAMPTZ(3),
  CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "api_key_state" CHECK ("state" IN ('active', 'suspended', 'revoked')),
  CONSTRAINT "api_key_limits"
    CHECK ("concurrency" > 0 AND "burst" > 0 AND "requests_per_minute" > 0)
) WITH (fillfactor = 50); -- room for the next version of a row on its own page: no index is touched

CREATE UNIQUE INDEX "api_key_credential_hmac_key" ON "api_key" ("credential_hmac");

CREATE TABLE "ledger" (
  "id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "seq" BIGINT NOT NULL,
  "kind" TEXT NOT NULL,
  "delta" NUMERIC(38,14) NOT NULL,
  "balance_after" NUMERIC(38,14) NOT NULL,
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
  "actor" TEXT,
  CONSTRAINT "ledger_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "ledger_kind" CHECK (
    CASE "kind"
      WHEN 'charge' THEN
        "delta" <= 0
        AND "input_tokens" >= 0
        AND "output_tokens" >= 0
        AND "cache_read_input_tokens" >= 0
        AND "cache_creation_1h_input_tokens" >= 0
        AND "cache_creation_input_tokens" >= "cache_creation_1h_input_tokens"
        AND num_nulls("model", "input_tokens", "output_tokens", "cache_read_input_tokens",
          "cache_creation_input_tokens", "cache_creation_1h_input_tokens", "input_rate",
          "output_rate", "cache_read_rate", "cache_write_5m_rate", "cache_write_1h_rate",
          "endpoint", "streamed") = 0
      WHEN 'top_up' THEN "delta" > 0 AND "actor" IS NOT NULL
      ELSE false
    END
  )
);

-- The foreign key is checked by hand in both functions, which hold the key's row lock: a constraint
-- would look the same row up once more for every entry. "api_key_fence" forbids deleting keys.
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

CREATE FUNCTION "refuse_rewrite"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: corrections are new entries', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER "ledger_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "api_key_fence" BEFORE DELETE OR TRUNCATE ON "api_key"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();

-- The one definition of what a key may do. It is derived, never stored: a top-up that races an
-- exhausting charge has no wrong order.
CREATE FUNCTION "standing_of"("state" TEXT, "expires_at" TIMESTAMPTZ, "balance" NUMERIC)
RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN "state" <> 'active' THEN "state"
    WHEN "expires_at" <= now() THEN 'expired'
    WHEN "balance" <= 0 THEN 'exhausted'
    ELSE 'active'
  END
$$;

CREATE VIEW "key_standing" AS
  SELECT "id", "name", "hint", "credential_hmac", "state", "expires_at", "concurrency", "burst",
    "requests_per_minute", "balance", "spent", "credited", "seq", "created_at", "last_charged_at",
    "standing_of"("state", "expires_at", "balance") AS "standing"
  FROM "api_key";

-- Settles a batch of charges in one transaction. Arrays run in parallel, one element per charge.
-- Answers one row per charge: 'settled', 'replayed' (same id, same contents) or 'conflict' (same id,
-- other contents: an alarm row, no charge); the balance after the entry; whether the key may go on
-- after the whole batch.
--
-- All joins are forced to be index lookups from the batch, and one plan serves every batch: planning
-- would take as long as settling a single charge, and a plan made while the tables are small must not
-- scan the ledger once it is large.
CREATE FUNCTION "settle_batch"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_hashes" BYTEA[], "p_models" TEXT[],
  "p_input_tokens" INTEGER[], "p_output_tokens" INTEGER[], "p_cache_read_tokens" INTEGER[],
  "p_cache_write_tokens" INTEGER[], "p_cache_write_1h_tokens" INTEGER[],
  "p_input_rates" NUMERIC[], "p_output_rates" NUMERIC[], "p_cache_read_rates" NUMERIC[],
  "p_cache_write_5m_rates" NUMERIC[], "p_cache_write_1h_rates" NUMERIC[],
  "p_endpoints" TEXT[], "p_streamed" BOOLEAN[], "p_upstream_ids" TEXT[]
) RETURNS TABLE ("ordinal" BIGINT, "outcome" TEXT, "balance" NUMERIC, "is_active" BOOLEAN)
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  moment TIMESTAMPTZ;
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

  -- Sorted, so that two replicas with the same keys in another order never wait for each other in a
  -- circle. The next statement sees what earlier holders of these locks committed.
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

  RETURN QUERY
  WITH incoming AS (
    SELECT p.*, k."seq", k."balance", k."state", k."expires_at",
      l."input_hash" AS known_hash, l."balance_after" AS known_balance,
      l."id" IS NULL AND row_number() OVER same_id = 1 AS is_new,
      first_value(p."input_hash") OVER same_id AS first_hash
    FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_hashes", "p_models", "p_input_tokens",
      "p_output_tokens", "p_cache_read_tokens", "p_cache_write_tokens", "p_cache_write_1h_tokens",
      "p_input_rates", "p_output_rates", "p_cache_read_rates", "p_cache_write_5m_rates",
      "p_cache_write_1h_rates", "p_endpoints", "p_streamed", "p_upstream_ids")
      WITH ORDINALITY AS p ("id", "key_id", "amount", "input_hash", "model", "input_tokens",
        "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens",
        "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
        "cache_write_1h_rate", "endpoint", "streamed", "upstream_id", "ordinal")
    JOIN "api_key" k ON k."id" = p."key_id"
    LEFT JOIN "ledger" l ON l."id" = p."id"
    WINDOW same_id AS (PARTITION BY p."id" ORDER BY p."ordinal")
  ),
  numbered AS MATERIALIZED (
    SELECT i.*,
      i."seq" + count(*) FILTER (WHERE i.is_new) OVER so_far AS entry_seq,
      i."balance" - coalesce(sum(i."amount") FILTER (WHERE i.is_new) OVER so_far, 0) AS balance_after,
      i."balance" - coalesce(sum(i."amount") FILTER (WHERE i.is_new) OVER of_key, 0) AS balance_at_end
    FROM incoming i
    WINDOW of_key AS (PARTITION BY i."key_id"),
      so_far AS (PARTITION BY i."key_id" ORDER BY i."ordinal")
  ),
  entered AS (
    INSERT INTO "ledger" ("id", "key_id", "seq", "kind", "delta", "balance_after", "input_hash",
      "created_at", "model", "input_tokens", "output_tokens", "cache_read_input_tokens",
      "cache_creation_input_tokens", "cache_creation_1h_input_tokens", "input_rate", "output_rate",
      "cache_read_rate", "cache_write_5m_rate", "cache_write_1h_rate", "endpoint", "streamed",
      "upstream_id")
    SELECT n."id", n."key_id", n.entry_seq, 'charge', -n."amount", n.balance_after, n."input_hash",
      moment, n."model", n."input_tokens", n."output_tokens", n."cache_read_tokens",
      n."cache_write_tokens", n."cache_write_1h_tokens", n."input_rate", n."output_rate",
      n."cache_read_rate", n."cache_write_5m_rate", n."cache_write_1h_rate", n."endpoint",
      n."streamed", n."upstream_id"
    FROM numbered n
    WHERE n.is_new
    ORDER BY n."ordinal"
  ),
  folded AS (
    UPDATE "api_key" k
    SET "balance" = k."balance" - d.charged,
      "spent" = k."spent" + d.charged,
      "seq" = k."seq" + d.entries,
      "last_charged_at" = moment,
      "exhausted_at" =
        CASE WHEN k."balance" - d.charged <= 0 THEN coalesce(k."exhausted_at", moment) END
    FROM (
      SELECT n."key_id", sum(n."amount") AS charged, count(*) AS entries
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
      -- A repeat within the batch stands right after its first occurrence or later: the balance of
      -- that occurrence is the same entry's.
      coalesce(n.known_balance,
        first_value(n.balance_after) OVER (PARTITION BY n."id" ORDER BY n."ordinal")) AS entry_balance
    FROM numbered n
  ),
  alarmed AS (
    INSERT INTO "settle_conflict" ("request_id", "input_hash", "key_id", "amount")
    SELECT j."id", j."input_hash", j."key_id", j."amount" FROM judged j WHERE j.outcome = 'conflict'
    ON CONFLICT DO NOTHING
  )
  SELECT j."ordinal", j.outcome, j.entry_balance,
    "standing_of"(j."state", j."expires_at", j.balance_at_end) = 'active'
  FROM judged j;
END
$$;

-- Credits a key once per id. Answers 'credited', 'replayed', 'conflict' (the id was used for another
-- key or amount) or 'unknown_key'.
CREATE FUNCTION "top_up"(
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
        "standing_of"(k."state", k."expires_at", k."balance") = 'active';
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
    "seq" = k."seq" + 1,
    "exhausted_at" = CASE WHEN k."balance" + "p_amount" <= 0 THEN k."exhausted_at" END
  WHERE "id" = k."id";
  RETURN QUERY SELECT 'credited', k."balance" + "p_amount",
    "standing_of"(k."state", k."expires_at", k."balance" + "p_amount") = 'active';
END
$$;
