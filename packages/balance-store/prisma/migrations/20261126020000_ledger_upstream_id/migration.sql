-- A request is also found by the id of its message, which is the id that most clients keep.

CREATE INDEX "ledger_upstream_id_idx" ON "ledger" ("upstream_id") WHERE "upstream_id" IS NOT NULL;
