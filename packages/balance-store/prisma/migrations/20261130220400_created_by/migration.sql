-- Holders of keys create budgets, too. They may change only those: null is an operator's.

ALTER TABLE "budget" ADD COLUMN "created_by" TEXT;
