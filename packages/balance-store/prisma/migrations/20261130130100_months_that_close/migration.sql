-- Months that are closed, and the statements that were issued for them.

CREATE TABLE "closed_month" (
  "month" TEXT COLLATE "C" NOT NULL,
  "from_at" TIMESTAMPTZ(3) NOT NULL,
  "until_at" TIMESTAMPTZ(3) NOT NULL,
  "zone" TEXT NOT NULL,
  "figures" TEXT NOT NULL,
  "digest" TEXT NOT NULL,
  "previous_hash" TEXT NOT NULL,
  "block" BIGINT NOT NULL,
  "block_hash" TEXT NOT NULL,
  "closed_at" TIMESTAMPTZ(3) NOT NULL,
  "closed_by" TEXT NOT NULL,
  "hash" TEXT NOT NULL,
  CONSTRAINT "closed_month_pkey" PRIMARY KEY ("month")
);
CREATE UNIQUE INDEX "closed_month_until_at_key" ON "closed_month" ("until_at");

CREATE TABLE "issued_statement" (
  "issuer" TEXT COLLATE "C" NOT NULL,
  "number" INTEGER NOT NULL,
  "kind" TEXT COLLATE "C" NOT NULL,
  "month" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "contents" TEXT NOT NULL,
  "issued_at" TIMESTAMPTZ(3) NOT NULL,
  "hash" TEXT NOT NULL,
  CONSTRAINT "issued_statement_pkey" PRIMARY KEY ("issuer", "number"),
  CONSTRAINT "issued_statement_kind" CHECK ("kind" IN ('statement', 'credit_note')),
  CONSTRAINT "issued_statement_number" CHECK ("number" > 0)
);
CREATE UNIQUE INDEX "issued_statement_month_account_id_kind_key"
  ON "issued_statement" ("month", "account_id", "kind");

CREATE TRIGGER "closed_month_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "closed_month"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
CREATE TRIGGER "issued_statement_fence" BEFORE UPDATE OR DELETE OR TRUNCATE ON "issued_statement"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_rewrite"();
