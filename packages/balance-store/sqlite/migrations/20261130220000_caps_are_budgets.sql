-- The caps of keys are budgets. The columns of api_key that they were in are not used any more.

ALTER TABLE budget ADD COLUMN is_cap INTEGER NOT NULL DEFAULT FALSE;
-- A request looks up the budgets of its own subjects, and those that have none.
CREATE INDEX budget_live_idx ON budget (account_id, subject) WHERE ended_seq IS NULL;
CREATE INDEX budget_not_cap_idx ON budget (account_id) WHERE ended_seq IS NULL AND is_cap = FALSE;

-- `day` is the first day of the window in which the key was last charged; `today` is that of now.
CREATE TABLE cap AS
SELECT 'cap_' || c.name || '_' || k.id AS id, k.account_id, k.id AS key_id, c.name, c.period,
  CASE c.name WHEN 'day' THEN cap_day WHEN 'week' THEN cap_week WHEN 'month' THEN cap_month
    ELSE cap_total END AS amount,
  CASE c.name WHEN 'day' THEN day_start WHEN 'week' THEN week_start WHEN 'month' THEN month_start
    ELSE 0 END AS day,
  CASE c.name WHEN 'day' THEN n.day WHEN 'week' THEN n.day - (n.day + 3) % 7 WHEN 'month' THEN n.month
    ELSE 0 END AS today,
  add_usd(add_usd(spent, written_off), '-' || CASE c.name WHEN 'day' THEN day_base
    WHEN 'week' THEN week_base WHEN 'month' THEN month_base ELSE '0.00000000000000' END) AS used,
  n.second
FROM api_key k
JOIN (
  SELECT 'day' AS name, 'day' AS period UNION ALL SELECT 'week', 'week'
  UNION ALL SELECT 'month', 'month' UNION ALL SELECT 'total', 'once'
) c
JOIN (
  SELECT unixepoch() AS second, unixepoch() / 86400 AS day,
    unixepoch('now', 'start of month') / 86400 AS month
) n;
DELETE FROM cap WHERE amount IS NULL;

UPDATE account SET budgeted = TRUE WHERE id IN (SELECT account_id FROM cap);
INSERT INTO budget (id, account_id, name, scope, subject, amount, period, zone, action, created_at,
  is_cap)
SELECT id, account_id, 'cap', 'key', key_id, amount, period, 'UTC', 'refuse', second * 1000, TRUE
FROM cap;
-- A window that is over does not count.
INSERT INTO budget_use (budget_id, subject, start_at, account_id, used)
SELECT id, '', day * 86400000, account_id, used FROM cap
WHERE used <> '0.00000000000000' AND day >= today;
INSERT INTO trail (seq, created_at, actor, action, account_id, key_id, details)
SELECT (SELECT coalesce(max(seq), 0) FROM trail) + row_number() OVER (ORDER BY id), second * 1000,
  'gateway', 'budget.create', account_id, key_id,
  json_object('of', id, 'scope', 'key', 'subject', key_id, 'within_group', NULL, 'amount', amount,
    'period', period, 'zone', 'UTC', 'from_at', NULL, 'until_at', NULL, 'action', 'refuse',
    'created_at', strftime('%Y-%m-%dT%H:%M:%S.000Z', second, 'unixepoch'), 'ended_seq', NULL,
    'is_cap', json('true'))
FROM cap;
DROP TABLE cap;
