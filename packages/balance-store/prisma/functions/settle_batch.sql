-- Settles a batch of charges in one transaction and deletes the holds of their requests. Each array
-- has one element per charge, all in the same order.
--
-- Returns one row per charge: 'settled', 'replayed' (same id, same contents) or 'conflict' (same id,
-- other contents: an alarm row, no charge); the account's balance after the entry; whether the key is
-- active after the whole batch; and what could not be charged and was written off (see "write_offs").
--
-- Adds the charges to "usage_hour", to the sums of their spenders and to the budgets that count them
-- (see "count_spending"), and writes an event for each account whose balance falls to its
-- threshold or to zero, or does not cover a charge, and for each share of a balance that the account's
-- customer chose and that is reached.
--
-- All joins are forced to be index lookups from the batch, and one plan serves every batch: planning
-- would take as long as settling a single charge, and a plan made while the tables are small must not
-- scan the ledger once it is large.
--
-- A charge is never paid with credit that has expired. If the expiry of such credit is not booked yet,
-- nothing is settled: it raises the error GWEXP, whose detail is a JSON array of the accounts to book,
-- and whose hint is the time, in milliseconds since the epoch. Book them as of this time or a later
-- one, then call it again. Credit that is held for requests in flight is left to them.
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
  "p_guarded" BOOLEAN[],
  "p_pricings" TEXT[], "p_fees" NUMERIC[], "p_costs" NUMERIC[], "p_spenders" JSONB[],
  "p_most_spenders" INTEGER
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
  last_entry TIMESTAMPTZ(3);
  first_expiry TIMESTAMPTZ(3);
  with_expired_credit JSON;
  -- Empty when no charge of the batch is guarded, which is the usual case.
  batch_write_offs NUMERIC[] := '{}';
  -- Empty when no charge of the batch names a spender.
  batch_spenders TEXT[] := '{}';
  -- Empty when no account of the batch has a chain of budgets.
  batch_parts TEXT[] := '{}';
  has_budgets BOOLEAN;
  batch_accounts TEXT[];
  -- The number of each account's last entry before the batch.
  last_seqs BIGINT[];
  answered INTEGER;
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
  SELECT min(locked."next_expiry_at"), max(greatest(locked."last_charged_at", locked."last_booked_at")),
      bool_or(locked."budgeted"), array_agg(locked."id"), array_agg(locked."seq")
    INTO first_expiry, last_entry, has_budgets, batch_accounts, last_seqs
  FROM (
    SELECT a."id", a."seq", a."budgeted", a."next_expiry_at", a."last_charged_at",
      a."last_booked_at"
    FROM "account" a
    WHERE a."id" IN (SELECT k."account_id" FROM "api_key" k WHERE k."id" = ANY ("p_key_ids"))
    ORDER BY a."id"
    FOR NO KEY UPDATE
  ) locked;

  -- Read only after the rows are locked, so that the entries of one account are in order of time.
  moment := "entry_time"(last_entry);

  IF first_expiry <= moment THEN
    SELECT json_agg(a."id") INTO with_expired_credit FROM "account" a
      WHERE a."id" IN (SELECT k."account_id" FROM "api_key" k WHERE k."id" = ANY ("p_key_ids"))
        AND a."next_expiry_at" <= moment
        AND a."balance" > (
          SELECT coalesce(sum(h."amount"), 0) FROM "hold" h
          WHERE h."account_id" = a."id" AND h."orphaned_at" IS NULL
        );
    IF with_expired_credit IS NOT NULL THEN
      RAISE EXCEPTION 'credit has expired whose expiry is not booked'
        USING ERRCODE = 'GWEXP', DETAIL = with_expired_credit::TEXT,
          HINT = (extract(epoch FROM moment) * 1000)::BIGINT::TEXT;
    END IF;
  END IF;

  IF true = ANY ("p_guarded")
    OR EXISTS (SELECT FROM "hold" h WHERE h."request_id" = ANY ("p_ids"))
  THEN
    -- Deletes the holds that another key placed under the request id of a charge: they do not
    -- belong to the charge.
    DELETE FROM "hold" h USING unnest("p_ids", "p_key_ids") AS p ("id", "key_id")
      WHERE h."request_id" = p."id" AND h."key_id" <> p."key_id";
    batch_write_offs := "write_offs"("p_ids", "p_key_ids", "p_amounts", "p_guarded");
    DELETE FROM "hold" h WHERE h."request_id" = ANY ("p_ids");
  END IF;

  IF num_nonnulls(VARIADIC "p_spenders") > 0 THEN
    batch_spenders := "spender_ids"("p_key_ids", "p_spenders", "p_most_spenders");
  END IF;

  IF has_budgets THEN
    batch_parts := "split_charges"("p_ids", "p_key_ids", "p_amounts", batch_spenders, moment);
  END IF;

  RETURN QUERY
  WITH incoming AS (
    SELECT p.*, k."account_id", a."seq", a."balance", a."uncovered",
      batch_spenders[p."ordinal"] AS "spender_id",
      a."given" AS given_left, a."spent" - a."allotted" AS unallotted,
      "state_in"(a."state", k."state") AS "state", k."expires_at",
      coalesce(batch_write_offs[p."ordinal"], 0) AS new_write_off,
      l."input_hash" AS known_hash, l."balance_after" AS known_balance,
      l."written_off" AS known_write_off,
      l."id" IS NULL AND row_number() OVER same_id = 1 AS is_new,
      first_value(p."input_hash") OVER same_id AS first_hash
    FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_hashes", "p_models", "p_input_tokens",
      "p_output_tokens", "p_cache_read_tokens", "p_cache_write_tokens", "p_cache_write_1h_tokens",
      "p_input_rates", "p_output_rates", "p_cache_read_rates", "p_cache_write_5m_rates",
      "p_cache_write_1h_rates", "p_rates_ids", "p_endpoints", "p_streamed", "p_upstream_ids",
      "p_upstream_accounts", "p_remarks", "p_pricings", "p_fees", "p_costs")
      WITH ORDINALITY AS p ("id", "key_id", "amount", "input_hash", "model", "input_tokens",
        "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens",
        "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
        "cache_write_1h_rate", "rates_id", "endpoint", "streamed", "upstream_id",
        "upstream_account", "remarks", "pricing", "fees", "cost", "ordinal")
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
      i.unallotted
        + coalesce(sum(i."amount" - i.new_write_off) FILTER (WHERE i.is_new) OVER so_far, 0)
        AS spent_after,
      i."balance"
        - coalesce(sum(i."amount" - i.new_write_off) FILTER (WHERE i.is_new) OVER of_account, 0)
        AS balance_at_end,
      i."uncovered"
        + coalesce(sum(i.new_write_off) FILTER (WHERE i.is_new) OVER of_account, 0)
        AS uncovered_at_end
    FROM incoming i
    WINDOW of_account AS (PARTITION BY i."account_id"),
      so_far AS (PARTITION BY i."account_id" ORDER BY i."ordinal")
  ),
  -- The part of each charge that is paid from given money: where the range that it spends meets the
  -- credits that were given. Most accounts have none left. src/ledger/books/lots.ts has the same rule.
  from_given AS (
    SELECT n."ordinal", n."account_id", sum(greatest(0, least(l.last, n.spent_after)
      - greatest(l.last - l."remaining", n.spent_after - n."amount" + n.new_write_off))) AS given
    FROM numbered n
    CROSS JOIN LATERAL (
      SELECT c."source", c."remaining",
        sum(c."remaining") OVER (ORDER BY c."expires_at" NULLS LAST, c."entry_id") AS last
      FROM "credit_lot" c WHERE c."account_id" = n."account_id" AND c."remaining" > 0
    ) l
    WHERE n.is_new AND n.given_left > 0 AND l."source" = 'promotional'
    GROUP BY n."ordinal", n."account_id"
  ),
  given_of_accounts AS (
    SELECT g."account_id", sum(g.given) AS given FROM from_given g GROUP BY g."account_id"
  ),
  redeemed AS (
    INSERT INTO "money_hour" ("account_id", "hour", "side", "amount")
    SELECT g."account_id", "hour_of"(moment), s."side", s."sign" * g.given
    FROM given_of_accounts g
    CROSS JOIN (VALUES ('balance:given', -1), ('redeemed', 1)) AS s ("side", "sign")
    WHERE g.given > 0
    ON CONFLICT ("account_id", "hour", "side")
    DO UPDATE SET "amount" = money_hour."amount" + excluded."amount"
  ),
  entered AS (
    INSERT INTO "ledger" ("id", "account_id", "seq", "kind", "delta", "balance_after",
      "written_off", "input_hash", "created_at", "key_id", "model", "input_tokens", "output_tokens",
      "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation_1h_input_tokens",
      "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
      "cache_write_1h_rate", "endpoint", "streamed", "upstream_id",
      "upstream_account", "remarks", "pricing", "cost", "given", "spender_id", "parts")
    SELECT n."id", n."account_id", n.entry_seq, 'charge', n.new_write_off - n."amount",
      n.balance_after, n.new_write_off, n."input_hash", moment, n."key_id", n."model", n."input_tokens",
      n."output_tokens", n."cache_read_tokens", n."cache_write_tokens",
      n."cache_write_1h_tokens", n."input_rate", n."output_rate", n."cache_read_rate",
      n."cache_write_5m_rate", n."cache_write_1h_rate", n."endpoint", n."streamed",
      n."upstream_id", n."upstream_account", n."remarks", n."pricing", n."cost",
      -nullif(g.given, 0), n."spender_id", batch_parts[n."ordinal"]
    FROM numbered n
    LEFT JOIN from_given g ON g."ordinal" = n."ordinal"
    WHERE n.is_new
    ORDER BY n."ordinal"
  ),
  of_accounts AS (
    SELECT n."account_id", sum(n."amount" - n.new_write_off) AS charged,
      sum(n.new_write_off) AS written_off, count(*) AS entries,
      (SELECT g.given FROM given_of_accounts g WHERE g."account_id" = n."account_id") AS given
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
      "uncovered" = a."uncovered" + d.written_off,
      "given" = a."given" - coalesce(d.given, 0),
      "seq" = a."seq" + d.entries,
      "last_charged_at" = moment
    FROM of_accounts d
    WHERE a."id" = d."account_id"
    RETURNING a."id", a."balance", a."balance" + d.charged AS balance_before, a."low_balance",
      d.written_off, a."uncovered" - d.written_off AS uncovered_before, a."notice_base",
      a."notice_shares", a."notice_email" IS NOT NULL AS has_mail
  ),
  folded_keys AS (
    UPDATE "api_key" k
    SET "spent" = k."spent" + d.charged,
      "written_off" = k."written_off" + d.written_off,
      "last_charged_at" = moment
    FROM of_keys d
    WHERE k."id" = d."key_id"
  ),
  summed AS (
    INSERT INTO "usage_hour" ("account_id", "hour", "key_id", "model", "endpoint",
      "upstream_account", "rates_id", "requests", "input_tokens", "output_tokens", "cache_read_input_tokens",
      "cache_creation_input_tokens", "cache_creation_1h_input_tokens", "input_rate",
      "output_rate", "cache_read_rate", "cache_write_5m_rate", "cache_write_1h_rate",
      "written_off", "fees", "cost", "costed")
    SELECT n."account_id", "hour_of"(moment), n."key_id", n."model", n."endpoint",
      coalesce(n."upstream_account", ''), n."rates_id", count(*), sum(n."input_tokens"), sum(n."output_tokens"), sum(n."cache_read_tokens"),
      sum(n."cache_write_tokens"), sum(n."cache_write_1h_tokens"), min(n."input_rate"),
      min(n."output_rate"), min(n."cache_read_rate"), min(n."cache_write_5m_rate"),
      min(n."cache_write_1h_rate"), sum(n.new_write_off), sum(n."fees"), coalesce(sum(n."cost"), 0),
      count(n."cost")
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
      "written_off" = usage_hour."written_off" + excluded."written_off",
      "fees" = usage_hour."fees" + excluded."fees",
      "cost" = usage_hour."cost" + excluded."cost",
      "costed" = usage_hour."costed" + excluded."costed"
  ),
  new_events AS (
    INSERT INTO "event" ("id", "type", "account_id", "key_id", "data", "created_at", "due_at",
      "mail_due_at")
    SELECT 'evt_' || gen_random_uuid(), e."type", e."account_id", NULL, e."data", moment,
      clock_timestamp(),
      CASE WHEN e.has_mail AND "is_mailed"(e."type", e."data") THEN clock_timestamp() END
    FROM (
      SELECT 'balance.low' AS "type", a."id" AS "account_id",
        jsonb_build_object('balance', a."balance"::TEXT,
          'threshold', a."low_balance"::TEXT) AS "data", a.has_mail
      FROM folded_accounts a
      WHERE a.balance_before > a."low_balance" AND a."balance" <= a."low_balance"
      UNION ALL
      SELECT 'balance.exhausted', a."id",
        jsonb_build_object('balance', a."balance"::TEXT), a.has_mail
      FROM folded_accounts a
      WHERE a.balance_before > 0 AND a.uncovered_before = 0
        AND (a."balance" <= 0 OR a.written_off > 0)
      UNION ALL
      SELECT 'balance.share', a."id",
        jsonb_build_object('share', s."share", 'balance', a."balance"::TEXT,
          'full', a."notice_base"::TEXT), a.has_mail
      FROM folded_accounts a
      CROSS JOIN LATERAL jsonb_array_elements_text(a."notice_shares") AS s ("share")
      WHERE a."notice_base" > 0
        AND (a."notice_base" - a.balance_before) * 100 < a."notice_base" * s."share"::INTEGER
        AND (a."notice_base" - a."balance") * 100 >= a."notice_base" * s."share"::INTEGER
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

  -- A charge of an unknown key joins nothing, so it has no row.
  GET DIAGNOSTICS answered = ROW_COUNT;
  IF answered < cardinality("p_ids") THEN
    RAISE EXCEPTION 'no such API key' USING ERRCODE = 'foreign_key_violation';
  END IF;
  -- Usually an account has only caps of other keys: then the charges need not be read again.
  IF has_budgets AND cardinality(batch_spenders) = 0 THEN
    has_budgets := EXISTS (
      SELECT FROM "budget" b
      WHERE b."account_id" = ANY (batch_accounts) AND b."ended_seq" IS NULL
        AND coalesce(b."subject", '') = ANY (ARRAY[''] || "p_key_ids")
    );
  END IF;
  IF has_budgets OR cardinality(batch_spenders) > 0 THEN
    PERFORM "count_spending"(batch_accounts, last_seqs, moment);
  END IF;
END
$$;

-- Settles a batch for a gateway of the previous version, which names no spenders, so that its charges
-- count in budgets during a rolling upgrade.
CREATE OR REPLACE FUNCTION "settle_batch"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_hashes" BYTEA[], "p_models"
  TEXT[], "p_input_tokens" INTEGER[], "p_output_tokens" INTEGER[], "p_cache_read_tokens"
  INTEGER[], "p_cache_write_tokens" INTEGER[], "p_cache_write_1h_tokens" INTEGER[],
  "p_input_rates" NUMERIC[], "p_output_rates" NUMERIC[], "p_cache_read_rates" NUMERIC[],
  "p_cache_write_5m_rates" NUMERIC[], "p_cache_write_1h_rates" NUMERIC[], "p_rates_ids" TEXT[],
  "p_endpoints" TEXT[], "p_streamed" BOOLEAN[], "p_upstream_ids" TEXT[], "p_upstream_accounts"
  TEXT[], "p_remarks" TEXT[], "p_guarded" BOOLEAN[], "p_pricings" TEXT[], "p_fees" NUMERIC[],
  "p_costs" NUMERIC[]
) RETURNS TABLE (
  "ordinal" BIGINT, "outcome" TEXT, "balance" NUMERIC, "is_active" BOOLEAN, "written_off" NUMERIC
)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT s.* FROM "settle_batch"(
    "p_ids", "p_key_ids", "p_amounts", "p_hashes", "p_models", "p_input_tokens",
    "p_output_tokens", "p_cache_read_tokens", "p_cache_write_tokens",
    "p_cache_write_1h_tokens", "p_input_rates", "p_output_rates", "p_cache_read_rates",
    "p_cache_write_5m_rates", "p_cache_write_1h_rates", "p_rates_ids", "p_endpoints",
    "p_streamed", "p_upstream_ids", "p_upstream_accounts", "p_remarks", "p_guarded",
    "p_pricings", "p_fees", "p_costs",
    array_fill(NULL::JSONB, ARRAY[cardinality("p_ids")]), 0
  ) s;
END
$$;
