/** The columns of each table. A workload's table has those for which any row has a figure. */

const COLUMNS = [
  { head: 'CPU µs', cell: ({ cpuUs }) => spread(cpuUs, 0) },
  {
    head: 'servers µs (PostgreSQL + Redis)',
    cell: ({ serversCpuUs: { postgres, redis } }) =>
      postgres && `${fixed(postgres.median, 0)} + ${fixed(redis.median, 0)}`,
  },
  { head: 'whole × bare', cell: ({ ratio }) => ratio && `${ratio.median.toFixed(2)}` },
  { head: 'requests/s', cell: ({ perSecond }) => spread(perSecond, 0) },
  { head: 'ms p50', cell: ({ latency }) => milliseconds(latency?.lastByteMs?.p50) },
  { head: 'p90', cell: ({ latency }) => milliseconds(latency?.lastByteMs?.p90) },
  { head: 'p99', cell: ({ latency }) => milliseconds(latency?.lastByteMs?.p99) },
  { head: 'p99.9', cell: ({ latency }) => tailMilliseconds(latency) },
  { head: 'first byte ms p50', cell: ({ latency }) => milliseconds(latency?.firstByteMs?.p50) },
  { head: 'p99', cell: ({ latency }) => milliseconds(latency?.firstByteMs?.p99) },
  {
    head: 'KB/stream',
    cell: ({ bytesPerStream }) => bytesPerStream && spread(scaled(bytesPerStream, 1 / 1024), 0),
  },
  { head: 'charges per commit', cell: ({ perBatch }) => perBatch && fixed(perBatch.median, 1) },
  {
    head: 'failures',
    cell: ({ failures }) => (failures.length === 0 ? undefined : failures.length.toString()),
  },
];

const SETTLING_COLUMNS = [
  { head: 'charges/s', cell: ({ perSecond }) => spread(perSecond, 0) },
  { head: 'CPU µs', cell: ({ cpuUs }) => spread(cpuUs, 1) },
  { head: 'server µs', cell: ({ serverCpuUs }) => spread(serverCpuUs, 1) },
  { head: 'charges per commit', cell: ({ perBatch }) => perBatch && fixed(perBatch.median, 0) },
];

const USAGE_COLUMNS = [
  { head: 'from hours, ms', cell: ({ beforeMs }) => spread(beforeMs, 1) },
  { head: 'rolled up, ms', cell: ({ afterMs }) => spread(afterMs, 1) },
];

const REPLICA_COLUMNS = [
  { head: 'charges/s', cell: ({ perSecond }) => fixed(perSecond, 0) },
  { head: 'charges per commit', cell: ({ perBatch }) => fixed(perBatch, 1) },
  { head: 'CPU µs', cell: ({ cpuUs }) => fixed(cpuUs, 1) },
  { head: 'PostgreSQL µs', cell: ({ serverCpuUs }) => fixed(serverCpuUs, 1) },
  { head: 'WAL bytes', cell: ({ walBytes }) => fixed(walBytes, 0) },
];

const UNIT_COLUMNS = [
  { head: 'requests/s', cell: ({ figures }) => fixed(figures.perSecond, 0) },
  { head: 'gateway µs', cell: ({ figures }) => fixed(figures.cpuUs, 0) },
  { head: 'PostgreSQL µs', cell: ({ figures }) => fixed(figures.serversCpuUs.postgres, 0) },
  { head: 'Redis µs', cell: ({ figures }) => fixed(figures.serversCpuUs.redis, 0) },
  { head: 'charges per commit', cell: ({ figures }) => fixed(figures.perBatch, 1) },
  { head: 'transactions', cell: ({ transactions }) => fixed(transactions, 2) },
  { head: 'WAL bytes', cell: ({ walBytes }) => fixed(walBytes, 0) },
  { head: 'ledger bytes', cell: ({ ledgerBytes }) => fixed(ledgerBytes, 0) },
  { head: 'Redis calls', cell: ({ redisCalls }) => fixed(redisCalls, 2) },
  { head: 'Redis commands', cell: ({ redisCommands }) => fixed(redisCommands, 1) },
];

/**
 * @returns each column's `head`, and its `cell` for a row: text, or `undefined` without a figure.
 */
export function columnsOf({ rows }) {
  return COLUMNS.filter(({ cell }) => rows.some((row) => cell(row) !== undefined));
}

export function settlingColumns() {
  return SETTLING_COLUMNS;
}

function milliseconds(ms) {
  return ms === undefined ? undefined : fixed(ms, 2);
}

/** With fewer samples, the percentile would depend on a single response. */
const LEAST_TAIL_SAMPLES = 2_000;

function tailMilliseconds(latency) {
  if (latency?.lastByteMs === undefined || latency.samples < LEAST_TAIL_SAMPLES) return undefined;
  return milliseconds(latency.lastByteMs.p999);
}

export function unitColumns() {
  return UNIT_COLUMNS;
}

export function replicaColumns() {
  return REPLICA_COLUMNS;
}

export function usageColumns() {
  return USAGE_COLUMNS;
}

/** The median, with the lowest and the highest round. */
function spread(figure, decimals) {
  if (figure === undefined) return undefined;
  const { median, min, max } = figure;
  return `${fixed(median, decimals)} (${fixed(min, decimals)}–${fixed(max, decimals)})`;
}

function scaled({ median, min, max }, factor) {
  return { median: median * factor, min: min * factor, max: max * factor };
}

function fixed(number, decimals) {
  return number.toLocaleString('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}
