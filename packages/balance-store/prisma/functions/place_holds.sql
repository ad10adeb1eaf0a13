-- Places holds in the order given. Returns one row per hold:
-- outcome: 'held' (also if it was placed before), 'short' (the balance less the account's live holds
--   is too small), 'over_budget' (a budget leaves too little), 'inactive' (the key is not active);
-- standing: of the key;
-- balance, held: the account's balance without credit that has expired, and the sum of its live
--   holds, a new one included;
-- cap_period, cap, cap_used, held_by_key: null; gateways of the previous version read them;
-- budget and so on: if the outcome is 'over_budget', the budget that leaves too little (see
--   "lacking_budget").
--
-- It stops waiting for a lock (after 4 seconds) before its caller stops waiting for the answer (5
-- seconds). Otherwise the caller could release a hold that is placed only afterwards, and that hold
-- would remain until it expires.
--
-- Dropped first, because the former version returns fewer columns, which cannot be replaced.
DROP FUNCTION IF EXISTS "place_holds"(TEXT[], TEXT[], NUMERIC[], INTERVAL, JSONB[]);
CREATE OR REPLACE FUNCTION "place_holds"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_lifetime" INTERVAL,
  "p_spenders" JSONB[]
) RETURNS TABLE (
  "ordinal" INTEGER, "outcome" TEXT, "standing" TEXT, "balance" NUMERIC, "held" NUMERIC,
  "cap_period" TEXT, "cap" NUMERIC, "cap_used" NUMERIC, "held_by_key" NUMERIC,
  "budget" "budget", "budget_subject" TEXT, "budget_amount" NUMERIC, "budget_used" NUMERIC,
  "budget_held" NUMERIC, "chain_left" NUMERIC, "chain_room" NUMERIC
)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
SET lock_timeout = '4s'
AS $$
#variable_conflict use_column
DECLARE
  k "api_key"%ROWTYPE;
  a "account"%ROWTYPE;
  s RECORD;
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
      WHEN NOT FOUND THEN 'unknown'
      -- It may have expired while this call waited for the lock.
      WHEN "state_in"(a."state", k."state") = 'active' AND k."expires_at" <= moment THEN 'expired'
    END;
    IF a."next_expiry_at" <= moment THEN
      a."balance" := a."balance" - "expired_credit"(a, moment);
    END IF;
    rights := coalesce(rights, "standing_of"(
      "state_in"(a."state", k."state"), k."expires_at", a."balance", a."uncovered"
    ));
    SELECT coalesce(sum(h."amount"), 0) INTO live FROM "hold" h
      WHERE h."account_id" = a."id" AND h."orphaned_at" IS NULL;
    SELECT t.* INTO s
      FROM "lacking_budget"(a."id", k."id", "p_spenders"[i], "p_amounts"[i], moment) t
      WHERE a."budgeted";
    IF rights <> 'active' THEN
      verdict := 'inactive';
    ELSIF EXISTS (
      SELECT FROM "hold" h WHERE h."request_id" = "p_ids"[i] AND h."orphaned_at" IS NULL
    ) THEN
      verdict := 'held';
    ELSIF s."subject" IS NOT NULL THEN
      verdict := 'over_budget';
    ELSIF live + "p_amounts"[i] > a."balance" THEN
      verdict := 'short';
    ELSE
      verdict := 'held';
      live := live + "p_amounts"[i];
      INSERT INTO "hold" ("request_id", "account_id", "key_id", "amount", "created_at", "expires_at",
          "spender")
        VALUES ("p_ids"[i], a."id", "p_key_ids"[i], "p_amounts"[i], moment, moment + "p_lifetime",
          "p_spenders"[i])
        ON CONFLICT ("request_id") DO UPDATE SET "account_id" = excluded."account_id",
          "key_id" = excluded."key_id", "amount" = excluded."amount",
          "created_at" = excluded."created_at", "expires_at" = excluded."expires_at",
          "orphaned_at" = NULL, "spender" = excluded."spender";
    END IF;
    RETURN QUERY SELECT i, verdict, rights, a."balance", live, NULL, NULL::NUMERIC, NULL::NUMERIC,
      NULL::NUMERIC, s."budget", s."subject", s."amount", s."used", s."held", s."chain_left",
      s."chain_room";
  END LOOP;
END
$$;

-- Places holds for a gateway of the previous version, which names no spenders. It knows no outcome of
-- budgets but that of caps: another such hold is refused as one that the balance does not cover.
CREATE OR REPLACE FUNCTION "place_holds"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_lifetime" INTERVAL
) RETURNS TABLE (
  "ordinal" INTEGER, "outcome" TEXT, "standing" TEXT, "balance" NUMERIC, "held" NUMERIC,
  "cap_period" TEXT, "cap" NUMERIC, "cap_used" NUMERIC, "held_by_key" NUMERIC
)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT h."ordinal",
    CASE WHEN h."outcome" <> 'over_budget' THEN h."outcome"
      WHEN (h."budget")."is_cap" THEN 'capped' ELSE 'short' END,
    h."standing", h."balance", h."held",
    CASE (h."budget")."period" WHEN 'once' THEN 'total' ELSE (h."budget")."period" END,
    h."budget_amount", h."budget_used", coalesce(h."budget_held", 0)
  FROM "place_holds"("p_ids", "p_key_ids", "p_amounts", "p_lifetime",
    array_fill(NULL::JSONB, ARRAY[cardinality("p_ids")])) h;
END
$$;
