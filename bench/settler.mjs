/**
 * A process with only a balance store. `lanes` loops charge at the same time, by default all the
 * same key. Each starts its next charge as soon as its last one is durable.
 *
 *   settler.mjs postgres <URL>    settler.mjs embedded <directory>
 */

import { performance } from 'node:perf_hooks';
import { openEmbeddedStore } from '../packages/balance-store/dist/embedded/index.js';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';

const PEPPER = 'benchmark-pepper-benchmark-pepper';
const DEADLINE_MS = 60_000;
const LIMITS = { concurrency: 1_000, burst: 1_000, requestsPerMinute: 1_000 };
/** 3 and 15 USD per million tokens, in units of 10^-14 USD. */
const RATES = {
  inputPerToken: 300_000_000n,
  outputPerToken: 1_500_000_000n,
  cacheReadPerToken: 30_000_000n,
  cacheWrite5mPerToken: 375_000_000n,
  cacheWrite1hPerToken: 375_000_000n,
};
const USAGE = {
  inputTokens: 250,
  outputTokens: 100,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheCreation1hInputTokens: 0,
};
const CHARGE = 250n * RATES.inputPerToken + 100n * RATES.outputPerToken;

const [kind, place] = process.argv.slice(2);
const store =
  kind === 'postgres'
    ? await openPostgresStore({ connectionString: place, pepper: PEPPER })
    : await openEmbeddedStore({ dataDir: place, pepper: PEPPER });
const { record: key } = await store.createKey({ name: 'hot', limits: LIMITS, expiresAt: null });
const credit = {
  topUpId: `credit-${key.id}`,
  to: { keyId: key.id },
  amount: 10n ** 24n,
  by: { name: 'benchmark' },
};
await store.topUp(credit);
let requests = 0;

const handlers = {
  /**
   * @param argument.keys - number of the keys `key_bench_…` to charge at random; default: its own
   * key.
   */
  async settle({ lanes, durationMs, keys }) {
    const before = requests;
    const startedAt = performance.now();
    const run = () => settleUntil(startedAt + durationMs, keys);
    await Promise.all(Array.from({ length: lanes }, run));
    return { settled: requests - before, seconds: (performance.now() - startedAt) / 1000 };
  },
  /** Whether the balance is the credit less all charges. */
  async isExact() {
    const found = await store.readStanding(key.id);
    if (found.standing === 'unknown') return false;
    return found.balance === credit.amount - BigInt(requests) * CHARGE;
  },
  close: () => store.close(),
};

process.on('message', ({ id, command, argument }) => {
  Promise.try(handlers[command], argument).then(
    (result) => process.send?.({ id, result }),
    (error) => process.send?.({ id, error: error.stack }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: { keyId: key.id } });

async function settleUntil(deadline, keys) {
  while (performance.now() < deadline) {
    requests += 1;
    const keyId = keys === undefined ? key.id : `key_bench_${Math.floor(Math.random() * keys)}`;
    const charge = { ...settlement(requests), keyId };
    const { outcome } = await store.settle(charge, { deadlineMs: DEADLINE_MS });
    if (outcome !== 'settled') throw new Error(`a charge was ${outcome}`);
  }
}

/**
 * The request ids sort by time, like the gateway's.
 *
 * @returns {Omit<import('@gateway/balance-store').Settlement, 'keyId'>}
 */
function settlement(number) {
  return {
    requestId: `req_${key.id}_${String(number).padStart(12, '0')}`,
    amount: CHARGE,
    model: 'claude-sonnet-4-6',
    usage: USAGE,
    rates: RATES,
    endpoint: 'messages',
    streamed: false,
    upstreamId: 'msg_01BenchmarkBenchmarkBench',
    overdraft: 'bounded',
  };
}
