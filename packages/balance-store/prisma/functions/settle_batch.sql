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
