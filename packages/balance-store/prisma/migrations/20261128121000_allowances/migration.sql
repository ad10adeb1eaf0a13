-- An account may have an allowance: a free credit of each month, which expires at its end. The index
-- finds those whose last one is of an earlier month.

ALTER TABLE "account" ADD COLUMN "allowance" NUMERIC(38,14);
ALTER TABLE "account" ADD COLUMN "allowance_start" INTEGER NOT NULL DEFAULT 0;
CREATE INDEX "account_allowance" ON "account" ("allowance_start", "id")
  WHERE "allowance" IS NOT NULL;

CREATE OR REPLACE VIEW "key_standing" AS
  SELECT k.*, a."name" AS "account_name", a."external_id" AS "account_external_id", a."balance",
    a."credited", a."adjusted", a."expired", a."uncovered",
    "standing_of"(
      "state_in"(a."state", k."state"), k."expires_at", a."balance", a."uncovered"
    ) AS "standing", a."prices", a."allowance", a."allowance_start"
  FROM "api_key" k JOIN "account" a ON a."id" = k."account_id";
