-- A charge can have fees besides its tokens, rates that depend on circumstances, and a cost to the
-- operator. Totals of usage have the sums of fees and costs, and how many requests have a known
-- cost. Earlier charges have none of these; their digests stay the same. Gateways of the previous
-- version may go on charging until they are replaced: their function stays, and does not write these
-- columns.

ALTER TABLE "ledger" ADD COLUMN "pricing" TEXT;
ALTER TABLE "ledger" ADD COLUMN "cost" NUMERIC(38, 14);

ALTER TABLE "usage_hour" ADD COLUMN "fees" NUMERIC(38, 14) NOT NULL DEFAULT 0;
ALTER TABLE "usage_hour" ADD COLUMN "cost" NUMERIC(38, 14) NOT NULL DEFAULT 0;
ALTER TABLE "usage_hour" ADD COLUMN "costed" BIGINT NOT NULL DEFAULT 0;

ALTER TABLE "usage_day" ADD COLUMN "fees" NUMERIC(38, 14) NOT NULL DEFAULT 0;
ALTER TABLE "usage_day" ADD COLUMN "cost" NUMERIC(38, 14) NOT NULL DEFAULT 0;
ALTER TABLE "usage_day" ADD COLUMN "costed" BIGINT NOT NULL DEFAULT 0;
