-- Holds, for a balance that never falls below zero, and seals, for a ledger that shows tampering.

-- What a request may cost at most, set aside before it is sent upstream. A live hold lowers what other
-- requests of its key may hold; an orphaned one no longer does.
CREATE TABLE "hold" (
  "request_id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "amount" NUMERIC(38,14) NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  -- Set when it expired without a charge or a release, or when its charge did not fit.
  "orphaned_at" TIMESTAMPTZ(3),
  CONSTRAINT "hold_pkey" PRIMARY KEY ("request_id"),
  CONSTRAINT "hold_amount" CHECK ("amount" >= 0)
);

CREATE INDEX "hold_live_key_id_idx" ON "hold" ("key_id") WHERE "orphaned_at" IS NULL;
CREATE INDEX "hold_live_expires_at_idx" ON "hold" ("expires_at") WHERE "orphaned_at" IS NULL;

-- Places holds in the order given. Answers one row per hold: 'held' (also when it was placed before),
-- 'short' (it does not fit; nothing is held) or 'inactive' (the key may not go on); the key's standing and
-- balance; what its live holds add up to now.
CREATE FUNCTION "place_holds"(
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
      WHEN FOUND THEN "standing_of"(k."state", k."expires_at", k."balance") ELSE 'unknown' END;
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

-- Keeps live holds alive and orphans those that nobody kept. Rows that a charge has in hand are left to
-- it. Answers how many were orphaned.
CREATE FUNCTION "renew_holds"("p_ids" TEXT[], "p_lifetime" INTERVAL) RETURNS INTEGER
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

-- Which of these charges must be refused: those of requests with a hold that cost more than their live
-- hold and more than other live holds of the key leave over. A charge within its hold always fits, and
-- requests without holds are not judged. To be called under the keys' row locks.
CREATE FUNCTION "overdrawn_charges"("p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[])
RETURNS TEXT[]
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  overdrawn TEXT[] := '{}';
  charge RECORD;
  of_key TEXT;
  balance_left NUMERIC;
  live_left NUMERIC;
BEGIN
  FOR charge IN
    SELECT p."id", p."key_id", p."amount", k."balance",
      h."request_id" IS NOT NULL AS is_guarded,
      CASE WHEN h."orphaned_at" IS NULL THEN coalesce(h."amount", 0) ELSE 0 END AS own
    FROM (
      SELECT u.*, min(u."ordinal") OVER (PARTITION BY u."id") AS first_ordinal
      FROM unnest("p_ids", "p_key_ids", "p_amounts")
        WITH ORDINALITY AS u ("id", "key_id", "amount", "ordinal")
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
      SELECT coalesce(sum(h."amount"), 0) INTO live_left FROM "hold" h
        WHERE h."key_id" = of_key AND h."orphaned_at" IS NULL;
    END IF;
    live_left := live_left - charge.own;
    IF charge.is_guarded AND charge."amount" > charge.own
      AND balance_left - charge."amount" < live_left
    THEN
      overdrawn := overdrawn || charge."id";
    ELSE
      balance_left := balance_left - charge."amount";
    END IF;
  END LOOP;
  RETURN overdrawn;
END
$$;

-- As before, and with the holds of the charged requests taken away in the same transaction. Answers
-- 'overdrawn' for a charge that must be refused: nothing is charged.
CREATE OR REPLACE FUNCTION "settle_batch"(
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
  overdrawn TEXT[] := '{}';
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

  IF EXISTS (SELECT FROM "hold" h WHERE h."request_id" = ANY ("p_ids")) THEN
    overdrawn := "overdrawn_charges"("p_ids", "p_key_ids", "p_amounts");
    -- Kept as orphans: should the answer get lost and the charge be sent again, it is judged again.
    UPDATE "hold" h SET "orphaned_at" = moment
      WHERE h."request_id" = ANY (overdrawn) AND h."orphaned_at" IS NULL;
    DELETE FROM "hold" h
      WHERE h."request_id" = ANY ("p_ids") AND h."request_id" <> ALL (overdrawn);
  END IF;

  RETURN QUERY
  WITH incoming AS (
    SELECT p.*, k."seq", k."balance", k."state", k."expires_at",
      l."input_hash" AS known_hash, l."balance_after" AS known_balance,
      l."id" IS NULL AND row_number() OVER same_id = 1 AND p."id" <> ALL (overdrawn) AS is_new,
      p."id" = ANY (overdrawn) AS is_overdrawn,
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
        WHEN n.is_overdrawn THEN 'overdrawn'
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

-- One block of the hash chain over all entries. Its hash covers the block before, its own number, size
-- and time, and the ranges of entries that "ledger_seal" lists for it.
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

CREATE TRIGGER "ledger_block_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_block"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "ledger_seal_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_seal"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();

-- One field of a text that is hashed: its length in bytes before it, so that no two lists of fields
-- have the same text.
CREATE FUNCTION "sealed_field"("p_text" TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(octet_length("p_text") || ':' || "p_text", '-') || ','
$$;

CREATE FUNCTION "sealed_moment"("p_moment" TIMESTAMPTZ) RETURNS TEXT
LANGUAGE sql IMMUTABLE AS $$
  SELECT "sealed_field"((extract(epoch FROM "p_moment") * 1000)::BIGINT::TEXT)
$$;

CREATE FUNCTION "entry_digest"(l "ledger") RETURNS BYTEA
LANGUAGE sql IMMUTABLE AS $$
  SELECT substr(sha256(convert_to(
    "sealed_field"(l."id") || "sealed_field"(l."key_id") || "sealed_field"(l."seq"::TEXT)
    || "sealed_field"(l."kind") || "sealed_field"(l."delta"::TEXT)
    || "sealed_field"(l."balance_after"::TEXT) || "sealed_field"(encode(l."input_hash", 'hex'))
    || "sealed_moment"(l."created_at") || "sealed_field"(l."model")
    || "sealed_field"(l."input_tokens"::TEXT) || "sealed_field"(l."output_tokens"::TEXT)
    || "sealed_field"(l."cache_read_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_1h_input_tokens"::TEXT)
    || "sealed_field"(l."input_rate"::TEXT) || "sealed_field"(l."output_rate"::TEXT)
    || "sealed_field"(l."cache_read_rate"::TEXT) || "sealed_field"(l."cache_write_5m_rate"::TEXT)
    || "sealed_field"(l."cache_write_1h_rate"::TEXT) || "sealed_field"(l."endpoint")
    || "sealed_field"(l."streamed"::TEXT) || "sealed_field"(l."upstream_id")
    || "sealed_field"(l."actor"),
    'UTF8')), 1, 16)
$$;

-- Seals at most so many entries of these keys as the next block and answers how many; 0 also while
-- another session seals. One range per key, walked by index: a long ledger costs no more than a short one.
CREATE FUNCTION "seal_ledger"("p_key_ids" TEXT[], "p_max_entries" INTEGER) RETURNS INTEGER
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
