-- Sums of requests by day, so that a month is answered from few rows, also by the client's program and
-- session. The days of requests that are recorded already are summed from their hours.

CREATE TABLE "request_label" (
  "day" INTEGER NOT NULL,
  "series" BIGINT NOT NULL,
  "label" BIGINT NOT NULL,
  "client" TEXT COLLATE "C",
  "session_id" TEXT COLLATE "C",
  "requests" BIGINT NOT NULL,
  "duration_ms" BIGINT NOT NULL,
  "first_byte_ms" BIGINT NOT NULL,
  "first_bytes" BIGINT NOT NULL,
  "input_tokens" BIGINT NOT NULL,
  "output_tokens" BIGINT NOT NULL,
  "cache_read_tokens" BIGINT NOT NULL,
  "cache_write_tokens" BIGINT NOT NULL,
  "charge" DECIMAL(38, 14) NOT NULL,
  CONSTRAINT "request_label_pkey" PRIMARY KEY ("day", "series", "label")
);

INSERT INTO "request_sum" SELECT 1440, "period" / 24, "series", sum("requests"), sum("kept"),
  sum("duration_ms"), sum("first_byte_ms"), sum("first_bytes"), sum("input_tokens"),
  sum("output_tokens"), sum("cache_read_tokens"), sum("cache_write_tokens"), sum("charge")
FROM "request_sum" WHERE "minutes" = 60 GROUP BY "period" / 24, "series";
