-- A block says when its first request ended, so that a reader need not suppose how long blocks last.
-- Each write leaves its id, so that one whose outcome is unknown can be repeated without being
-- counted twice (docs/decisions/0080).

ALTER TABLE "request_block" ADD COLUMN "first_at" TIMESTAMPTZ(3);
CREATE INDEX "request_block_times_idx" ON "request_block" ("ended_at", "first_at");
DROP INDEX "request_block_ended_idx";

CREATE TABLE "request_write" (
  "id" TEXT COLLATE "C" NOT NULL,
  "written_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "request_write_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "request_write_written_idx" ON "request_write" ("written_at");
