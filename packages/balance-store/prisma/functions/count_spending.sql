-- Adds new charges to the hourly sums of their spenders and to the budgets that count them, and writes
-- an event for each budget that is reached, and for each share of a budget that somebody chose and
-- that is reached. The shares of caps are those of the account. The new charges are those of these
-- accounts whose numbers are above "p_last_seqs".
--
-- Call it while the accounts' rows are locked. A batch without spenders and budgets need not.
CREATE OR REPLACE FUNCTION "count_spending"(
  "p_accounts" TEXT[], "p_last_seqs" BIGINT[], "p_moment" TIMESTAMPTZ
) RETURNS VOID
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  WITH fresh AS MATERIALIZED (
    SELECT l."account_id", l."key_id", l."spender_id", l."model", l."input_tokens",
      l."output_tokens", l."cache_read_input_tokens", l."cache_creation_input_tokens", l."delta",
      l."written_off", l."cost", a."budgeted", l."id", l."parts",
      jsonb_strip_nulls(jsonb_build_object('memberId', s."member_id", 'groups', s."groups",
        'tag', s."tag", 'run', s."run")) AS "spender"
    FROM unnest("p_accounts", "p_last_seqs") AS p ("account_id", "seq")
    JOIN "account" a ON a."id" = p."account_id"
    JOIN "ledger" l ON l."account_id" = p."account_id" AND l."seq" > p."seq"
    LEFT JOIN "spender" s ON s."id" = l."spender_id"
    WHERE l."kind" = 'charge'
  ),
  spent AS (
    INSERT INTO "spender_hour" ("account_id", "hour", "spender_id", "key_id", "model", "requests",
      "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "charged",
      "written_off", "cost", "costed")
    SELECT f."account_id", "hour_of"("p_moment"), f."spender_id", f."key_id", f."model", count(*),
      sum(f."input_tokens"), sum(f."output_tokens"), sum(f."cache_read_input_tokens"),
      sum(f."cache_creation_input_tokens"), -sum(f."delta"), sum(f."written_off"),
      coalesce(sum(f."cost"), 0), count(f."cost")
    FROM fresh f
    WHERE f."spender_id" IS NOT NULL
    GROUP BY f."account_id", f."spender_id", f."key_id", f."model"
    ON CONFLICT ("account_id", "hour", "spender_id", "key_id", "model")
    DO UPDATE
    SET "requests" = spender_hour."requests" + excluded."requests",
      "input_tokens" = spender_hour."input_tokens" + excluded."input_tokens",
      "output_tokens" = spender_hour."output_tokens" + excluded."output_tokens",
      "cache_read_tokens" = spender_hour."cache_read_tokens" + excluded."cache_read_tokens",
      "cache_write_tokens" = spender_hour."cache_write_tokens" + excluded."cache_write_tokens",
      "charged" = spender_hour."charged" + excluded."charged",
      "written_off" = spender_hour."written_off" + excluded."written_off",
      "cost" = spender_hour."cost" + excluded."cost",
      "costed" = spender_hour."costed" + excluded."costed"
  ),
  -- What reserves paid, and for which budget. See "split_charges".
  passed AS MATERIALIZED (
    SELECT f."id", f."key_id", p."part" ->> 0 AS "budget_id", p."part" ->> 1 AS "paid_by",
      (p."part" ->> 2)::NUMERIC AS "amount"
    FROM fresh f
    CROSS JOIN LATERAL jsonb_array_elements(f."parts"::JSONB) AS p ("part")
    WHERE f."parts" IS NOT NULL
  ),
  counts AS (
    SELECT b."id" AS "budget_id", b."is_cap", c."subject", c."start_at", b."account_id", f."key_id",
      f."written_off" - f."delta" - CASE WHEN f."parts" IS NULL THEN 0 ELSE coalesce((
        SELECT sum(p."amount") FROM passed p
        WHERE p."id" = f."id" AND p."budget_id" = b."id"
      ), 0) END AS "amount"
    FROM fresh f
    JOIN "budget" b ON b."account_id" = f."account_id" AND b."ended_seq" IS NULL
      AND coalesce(b."subject", '') = ANY ("budget_subjects"(f."key_id", f."spender"))
    CROSS JOIN LATERAL (
      SELECT "budget_subject"(b, f."key_id", f."spender") AS "subject",
        "budget_start"(b, "p_moment") AS "start_at"
    ) c
    WHERE f."budgeted" AND c."subject" IS NOT NULL AND c."start_at" IS NOT NULL
    UNION ALL
    -- A reserve that several budgets name pays a charge only once.
    SELECT b."id", b."is_cap", '', "budget_start"(b, "p_moment"), b."account_id", p."key_id", p."amount"
    FROM (
      SELECT p."id", p."paid_by", p."key_id", max(p."amount") AS "amount"
      FROM passed p GROUP BY p."id", p."paid_by", p."key_id"
    ) p
    JOIN "budget" b ON b."id" = p."paid_by"
  ),
  of_budgets AS (
    SELECT c."budget_id", c."is_cap", c."subject", c."start_at", c."account_id",
      min(c."key_id") AS "key_id", sum(c."amount") AS "used_now"
    FROM counts c
    GROUP BY c."budget_id", c."is_cap", c."account_id", c."subject", c."start_at"
  ),
  counted AS (
    INSERT INTO "budget_use" ("budget_id", "subject", "start_at", "account_id", "used")
    SELECT o."budget_id", o."subject", o."start_at", o."account_id", o."used_now"
    FROM of_budgets o
    ON CONFLICT ("budget_id", "subject", "start_at")
    DO UPDATE SET "used" = budget_use."used" + excluded."used"
    RETURNING "budget_id", "subject", "used"
  ),
  -- Of a cap, only the last period is kept.
  pruned AS (
    DELETE FROM "budget_use" u USING of_budgets o
    WHERE o."is_cap" AND u."budget_id" = o."budget_id" AND u."start_at" < o."start_at"
  ),
  used_budgets AS (
    SELECT o.*, c."used", c."used" - o."used_now" AS "used_before", m."amount",
      CASE WHEN b."is_cap" THEN 'cap' ELSE 'budget' END AS "kind",
      CASE WHEN b."is_cap" THEN a."notice_shares" ELSE b."shares" END AS "shares",
      CASE WHEN b."is_cap" THEN jsonb_build_object(
        'period', CASE b."period" WHEN 'once' THEN 'total' ELSE b."period" END,
        'cap', b."amount"::TEXT)
      ELSE jsonb_build_object('budget', b."id", 'subject', o."subject",
        'amount', m."amount"::NUMERIC(38, 14)::TEXT) END AS "data",
      a."notice_email" IS NOT NULL AS "has_mail"
    FROM counted c
    JOIN of_budgets o ON o."budget_id" = c."budget_id" AND o."subject" = c."subject"
    JOIN "budget" b ON b."id" = c."budget_id"
    JOIN "account" a ON a."id" = o."account_id"
    CROSS JOIN LATERAL "budget_amount"(b, o."subject", "p_moment") m
  )
  INSERT INTO "event" ("id", "type", "account_id", "key_id", "data", "created_at", "due_at",
    "mail_due_at")
  SELECT 'evt_' || gen_random_uuid(), u."kind" || e."type", u."account_id", u."key_id",
    u."data" || jsonb_build_object('used', u."used"::TEXT) || e."more", "p_moment", clock_timestamp(),
    CASE WHEN "is_mailed"(u."kind" || e."type", e."more")
      AND CASE WHEN u."is_cap" THEN u."has_mail"
        ELSE "budget_has_address"(u."budget_id", u."subject") END
      THEN clock_timestamp() END
  FROM used_budgets u
  CROSS JOIN LATERAL (
    SELECT '.reached' AS "type", '{}'::JSONB AS "more"
    WHERE u."used_before" < u."amount" AND u."used" >= u."amount"
    UNION ALL
    SELECT '.share', jsonb_build_object('share', s."share")
    FROM jsonb_array_elements_text(u."shares") AS s ("share")
    WHERE u."amount" > 0
      AND u."used_before" * 100 < u."amount" * s."share"::INTEGER
      AND u."used" * 100 >= u."amount" * s."share"::INTEGER
  ) e
  ORDER BY u."account_id", u."kind" DESC, u."amount" - u."used", u."budget_id", e."type";
END
$$;
