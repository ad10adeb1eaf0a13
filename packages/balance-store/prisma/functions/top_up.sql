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
