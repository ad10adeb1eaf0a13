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
      "cache_write_1h_rate", "written_off", "fees", "cost", "costed")
    SELECT t."account_id", t."hour", t."key_id", t."model", t."endpoint", t."upstream_account",
      t."rates_id", TRUE, t."requests", t."input_tokens", t."output_tokens",
      t."cache_read_input_tokens", t."cache_creation_input_tokens",
      t."cache_creation_1h_input_tokens", t."input_rate", t."output_rate", t."cache_read_rate",
      t."cache_write_5m_rate", t."cache_write_1h_rate", t."written_off", t."fees", t."cost", t."costed"
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
      "written_off" = usage_hour."written_off" + excluded."written_off",
      "fees" = usage_hour."fees" + excluded."fees",
      "cost" = usage_hour."cost" + excluded."cost",
      "costed" = usage_hour."costed" + excluded."costed"
  ),
  summed AS (
    INSERT INTO "usage_day" ("account_id", "key_id", "day", "model", "endpoint",
      "upstream_account", "rates_id", "requests", "input_tokens", "output_tokens",
      "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation_1h_input_tokens",
      "input_rate", "output_rate", "cache_read_rate", "cache_write_5m_rate",
      "cache_write_1h_rate", "written_off", "fees", "cost", "costed")
    SELECT coalesce(t."account_id", ''), coalesce(t."key_id", ''), t."hour" / 24, t."model",
      t."endpoint", t."upstream_account", t."rates_id", sum(t."requests"), sum(t."input_tokens"),
      sum(t."output_tokens"), sum(t."cache_read_input_tokens"),
      sum(t."cache_creation_input_tokens"), sum(t."cache_creation_1h_input_tokens"),
      min(t."input_rate"), min(t."output_rate"), min(t."cache_read_rate"),
      min(t."cache_write_5m_rate"), min(t."cache_write_1h_rate"), sum(t."written_off"), sum(t."fees"),
      sum(t."cost"), sum(t."costed")
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
      "written_off" = usage_day."written_off" + excluded."written_off",
      "fees" = usage_day."fees" + excluded."fees",
      "cost" = usage_day."cost" + excluded."cost",
      "costed" = usage_day."costed" + excluded."costed"
  )
  SELECT count(*) INTO sums FROM taken;
  RETURN sums;
END
$$;
