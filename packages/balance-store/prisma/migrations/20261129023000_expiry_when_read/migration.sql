-- Credit that has expired is not spendable from that moment on, also before its expiry is booked. So
-- that an account without such a credit costs nothing more to read, its row has the earliest expiry
-- of its credits. It also has what took the balance to zero, if that was not charges: who is refused
-- then learns the reason.

ALTER TABLE "account" ADD COLUMN "next_expiry_at" TIMESTAMPTZ(3);
ALTER TABLE "account" ADD COLUMN "emptied_by" TEXT;
UPDATE "account" a SET "next_expiry_at" = l."first"
  FROM (
    SELECT "account_id", min("expires_at") AS "first" FROM "credit_lot" WHERE "remaining" > 0
    GROUP BY "account_id"
  ) l
  WHERE l."account_id" = a."id";

-- "expired_credit" is computed as in the function of this name.
CREATE OR REPLACE VIEW "key_standing" AS
  SELECT k.*, a."name" AS "account_name", a."external_id" AS "account_external_id", a."balance",
    a."credited", a."adjusted", a."expired", a."uncovered",
    "standing_of"(
      "state_in"(a."state", k."state"), k."expires_at", a."balance" - e."credit", a."uncovered"
    ) AS "standing", a."prices", a."allowance", a."allowance_start", a."next_expiry_at",
    e."credit" AS "expired_credit"
  FROM "api_key" k
  JOIN "account" a ON a."id" = k."account_id"
  CROSS JOIN LATERAL (
    SELECT CASE WHEN a."next_expiry_at" <= now() THEN greatest(0, coalesce((
      SELECT sum(l."remaining") FROM "credit_lot" l
      WHERE l."account_id" = a."id" AND l."remaining" > 0 AND l."expires_at" <= now()
    ), 0) - (a."spent" - a."allotted")) ELSE 0 END AS "credit"
  ) e;
