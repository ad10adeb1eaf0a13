-- Sums of requests by day, so that a month is answered from few rows, also by the client's program
-- and session. The days of requests that are recorded already are summed from their hours: the
-- decimals in two halves, and the whole USD.

CREATE TABLE request_label (
  day INTEGER NOT NULL,
  series INTEGER NOT NULL,
  label INTEGER NOT NULL,
  client TEXT,
  session_id TEXT,
  requests INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  first_byte_ms INTEGER NOT NULL,
  first_bytes INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  charge TEXT NOT NULL,
  PRIMARY KEY (day, series, label)
) STRICT, WITHOUT ROWID;

INSERT INTO request_sum SELECT 1440, period / 24, series, sum(requests), sum(kept),
  sum(duration_ms), sum(first_byte_ms), sum(first_bytes), sum(input_tokens), sum(output_tokens),
  sum(cache_read_tokens), sum(cache_write_tokens), usd_of(
    sum(CAST(substr(charge, -7) AS INTEGER)), sum(CAST(substr(charge, -14, 7) AS INTEGER)),
    sum(CAST(substr(charge, 1, length(charge) - 15) AS INTEGER)), 0)
FROM request_sum WHERE minutes = 60 GROUP BY period / 24, series;
