-- The caps of keys are budgets. The columns of "api_key" that they were in stay, because gateways of
-- the previous version read them during a rolling upgrade.

ALTER TABLE "budget" ADD COLUMN "is_cap" BOOLEAN NOT NULL DEFAULT FALSE;
-- A request looks up the budgets of its own subjects, and those that have none.
CREATE INDEX "budget_live_idx" ON "budget" ("account_id", coalesce("subject", ''))
  WHERE "ended_seq" IS NULL;
CREATE INDEX "budget_not_cap_idx" ON "budget" ("account_id") WHERE "ended_seq" IS NULL AND NOT "is_cap";

-- This locks the accounts as a charge does, so that the next statement sees what charges committed.
UPDATE "account" SET "budgeted" = TRUE WHERE "id" IN (
  SELECT "account_id" FROM "api_key"
  WHERE num_nonnulls("cap_day", "cap_week", "cap_month", "cap_total") > 0
);
-- As the trail is locked while a row of it gets its number.
SELECT pg_advisory_xact_lock(72707372);

WITH moment AS MATERIALIZED (
  SELECT date_trunc('milliseconds', clock_timestamp()) AS "at"
),
cap AS (
  SELECT 'cap_' || c."period" || '_' || k."id" AS "id", k."account_id", k."id" AS "key_id",
    c."period", c."amount", c."window_start", c."used", m."at"
  FROM "api_key" k
  CROSS JOIN moment m
  CROSS JOIN LATERAL (VALUES
    ('day', k."cap_day", k."day_start", k."day_base"),
    ('week', k."cap_week", k."week_start", k."week_base"),
    ('month', k."cap_month", k."month_start", k."month_base"),
    ('total', k."cap_total", 0, 0::NUMERIC)
  ) AS v ("period", "amount", "window_start", "base")
  CROSS JOIN LATERAL (
    SELECT v."period", v."amount", v."window_start", k."spent" + k."written_off" - v."base" AS "used"
  ) c
  WHERE c."amount" IS NOT NULL
),
budgets AS (
  INSERT INTO "budget" ("id", "account_id", "name", "scope", "subject", "amount", "period", "zone",
    "action", "created_at", "is_cap")
  SELECT c."id", c."account_id", 'cap', 'key', c."key_id", c."amount",
    CASE c."period" WHEN 'total' THEN 'once' ELSE c."period" END, 'UTC', 'refuse', c."at", TRUE
  FROM cap c
),
-- A window that is over does not count.
uses AS (
  INSERT INTO "budget_use" ("budget_id", "subject", "start_at", "account_id", "used")
  SELECT c."id", '', c."window_start" * 86400000::BIGINT, c."account_id", c."used"
  FROM cap c
  WHERE c."used" > 0 AND (c."period" = 'total' OR c."window_start" * INTERVAL '1 day'
    >= date_trunc(c."period", c."at" AT TIME ZONE 'UTC') - TIMESTAMP '1970-01-01')
)
INSERT INTO "trail" ("seq", "created_at", "actor", "action", "account_id", "key_id", "details")
SELECT (SELECT coalesce(max(t."seq"), 0) FROM "trail" t) + row_number() OVER (ORDER BY c."id"),
  c."at", 'gateway', 'budget.create', c."account_id", c."key_id",
  jsonb_build_object('of', c."id", 'scope', 'key', 'subject', c."key_id", 'within_group', NULL,
    'amount', c."amount"::TEXT,
    'period', CASE c."period" WHEN 'total' THEN 'once' ELSE c."period" END, 'zone', 'UTC',
    'from_at', NULL, 'until_at', NULL, 'action', 'refuse',
    'created_at', to_char(c."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'ended_seq', NULL, 'is_cap', TRUE)::TEXT
FROM cap c;

DROP FUNCTION IF EXISTS "caps_of"("api_key", TIMESTAMPTZ);
