-- Places holds in the order given. Returns one row per hold:
-- outcome: 'held' (also if it was placed before), 'short' (the balance less the account's live holds
--   is too small), 'capped' (a cap of the key leaves too little), 'inactive' (the key is not active);
-- standing: of the key;
-- balance, held: the account's balance without credit that has expired, and the sum of its live
--   holds, a new one included;
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
