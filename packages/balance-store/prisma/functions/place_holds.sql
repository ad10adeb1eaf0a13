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
