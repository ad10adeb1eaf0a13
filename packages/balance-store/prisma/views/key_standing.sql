-- Each key with its account and its standing by the database's clock. "expired_credit" is computed
-- as in the function of this name.
SELECT k.*, a."name" AS "account_name", a."external_id" AS "account_external_id", a."balance",
  a."credited", a."adjusted", a."expired", a."uncovered",
  "standing_of"(
    "state_in"(a."state", k."state"), k."expires_at", a."balance" - e."credit", a."uncovered"
  ) AS "standing", a."prices", a."allowance", a."allowance_start", a."next_expiry_at",
  e."credit" AS "expired_credit", a."budgeted"
FROM "api_key" k
JOIN "account" a ON a."id" = k."account_id"
CROSS JOIN LATERAL (
  SELECT CASE WHEN a."next_expiry_at" <= now() THEN greatest(0, coalesce((
    SELECT sum(l."remaining") FROM "credit_lot" l
    WHERE l."account_id" = a."id" AND l."remaining" > 0 AND l."expires_at" <= now()
  ), 0) - (a."spent" - a."allotted")) ELSE 0 END AS "credit"
) e
