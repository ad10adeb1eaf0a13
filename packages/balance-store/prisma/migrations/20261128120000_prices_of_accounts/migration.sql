-- An account may have prices of its own: a factor, or the name of a table. The gateway knows what
-- they mean, and reads them with the key of each request.

ALTER TABLE "account" ADD COLUMN "prices" TEXT;

CREATE OR REPLACE VIEW "key_standing" AS
  SELECT k.*, a."name" AS "account_name", a."external_id" AS "account_external_id", a."balance",
    a."credited", a."adjusted", a."expired", a."uncovered",
    "standing_of"(
      "state_in"(a."state", k."state"), k."expires_at", a."balance", a."uncovered"
    ) AS "standing", a."prices"
  FROM "api_key" k JOIN "account" a ON a."id" = k."account_id";
