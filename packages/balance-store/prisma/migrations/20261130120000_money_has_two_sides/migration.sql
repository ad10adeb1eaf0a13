-- An entry says from where to where money goes, and a charge says which part of it was paid from given
-- money. Of earlier entries nobody recorded this: they stay as they are, and before its next booking
-- each account gets an entry "opening:<account>", which states how much of its balance was given.

ALTER TABLE "ledger" ADD COLUMN "given" NUMERIC(38, 14);
ALTER TABLE "ledger" ADD COLUMN "counter" TEXT;
ALTER TABLE "ledger" ADD COLUMN "tax" NUMERIC(38, 14);
ALTER TABLE "ledger" ADD COLUMN "fee" NUMERIC(38, 14);
ALTER TABLE "ledger" ADD COLUMN "lots" TEXT;
ALTER TABLE "ledger" ADD COLUMN "reverses" TEXT;
-- Only few rows have it, so the index has only these.
CREATE UNIQUE INDEX "ledger_reverses_key" ON "ledger" ("reverses") WHERE "reverses" IS NOT NULL;

-- A fee, and the entry that opens an account, move money only between accounts of the operator. The
-- rows satisfy the new constraint, because they satisfied the old one.
ALTER TABLE "ledger" DROP CONSTRAINT "ledger_kind";
ALTER TABLE "ledger" ADD CONSTRAINT "ledger_kind" CHECK (
  CASE "kind"
    WHEN 'charge' THEN
      "delta" <= 0
      AND "over_cap" >= 0
      AND "written_off" >= "over_cap"
      AND "input_tokens" >= 0
      AND "output_tokens" >= 0
      AND "cache_read_input_tokens" >= 0
      AND "cache_creation_1h_input_tokens" >= 0
      AND "cache_creation_input_tokens" >= "cache_creation_1h_input_tokens"
      AND num_nulls("key_id", "model", "input_tokens", "output_tokens",
        "cache_read_input_tokens", "cache_creation_input_tokens",
        "cache_creation_1h_input_tokens", "input_rate", "output_rate", "cache_read_rate",
        "cache_write_5m_rate", "cache_write_1h_rate", "endpoint", "streamed") = 0
    WHEN 'top_up' THEN
      "delta" > 0 AND "written_off" = 0 AND "actor" IS NOT NULL
      AND coalesce("source" IN ('paid', 'promotional'), false)
    WHEN 'adjustment' THEN
      coalesce(("delta" = 0) = ("reason" IN ('fee', 'opening')), false)
      AND "written_off" = 0 AND "actor" IS NOT NULL
      AND "reason" IN ('refund', 'chargeback', 'correction', 'goodwill', 'write_off', 'transfer',
        'fee', 'opening')
    WHEN 'expiry' THEN
      "delta" < 0 AND "written_off" = 0 AND num_nulls("actor", "reference") = 0
    ELSE false
  END
) NOT VALID;

ALTER TABLE "account" ADD COLUMN "given" NUMERIC(38, 14) NOT NULL DEFAULT 0;
ALTER TABLE "account" ADD COLUMN "opened" BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX "account_not_opened_idx" ON "account" ("id") WHERE NOT "opened";

CREATE TABLE "money_hour" (
  "account_id" TEXT COLLATE "C" NOT NULL,
  "hour" INTEGER NOT NULL,
  "side" TEXT COLLATE "C" NOT NULL,
  "amount" NUMERIC(38, 14) NOT NULL,
  CONSTRAINT "money_hour_pkey" PRIMARY KEY ("account_id", "hour", "side")
);
CREATE INDEX "money_hour_hour_idx" ON "money_hour" ("hour");

-- A gateway of the previous version cannot say where money comes from. Until it is replaced its
-- bookings are refused; its charges go on. A ledger that is moved here has earlier entries, too.
-- functions/refuse_one_sided.sql replaces this body.
CREATE FUNCTION "refuse_one_sided"() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN RETURN NEW; END';
CREATE TRIGGER "refuse_one_sided" BEFORE INSERT ON "ledger" FOR EACH ROW
  WHEN (NEW."kind" <> 'charge' AND NEW."counter" IS NULL)
  EXECUTE FUNCTION "refuse_one_sided"();
