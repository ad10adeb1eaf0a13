/**
 * The tests that have a short form and a long one. `npm test` runs the short forms: the fewest
 * repetitions that still find a mistake made on purpose. `npm run test:long` runs the long forms of
 * these files and nothing else; CI does so each night. They look for rare cases.
 *
 * `TEST_RUNS=long` chooses the long forms, and `TEST_RUNS=200000` gives every repetition of the
 * files named on the command line that number. CommonJS, so that scripts and Jest's tests can both
 * load it.
 */

const { env } = require('node:process');

/**
 * By test file: what is repeated, and how often in the short form and in the long one.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, readonly [short: number, long: number]>>>>}
 */
const RUNS = {
  'packages/billing/test/decimal-model.test.ts': { usages: [4_000, 1_000_000] },
  'packages/translator/test/whole/request-properties.test.ts': { inputs: [400, 4_000] },
  'packages/translator/test/responses-client/responses-properties.test.ts': {
    inputs: [400, 4_000],
  },
  'packages/translator/test/whole/interleaved-thinking.test.ts': { answers: [100, 2_000] },
  'packages/translator/test/wire/object-text.test.ts': { texts: [2_000, 20_000] },
  'packages/translator/test/wire/well-formed.test.ts': { texts: [1_000, 20_000] },
  'packages/translator/test/wire/json-scanner.test.ts': { texts: [1_000, 5_000] },
  'packages/translator/test/message/string-deltas.test.ts': { splits: [200, 2_000] },
  'packages/translator/test/wire/utf8.test.ts': { characters: [2_000, 20_000] },
  'packages/translator/test/native/tap-replay.test.ts': { streams: [100, 300] },
  'packages/rate-limiter/test/local.test.ts': { sequences: [400, 2_000] },
  'packages/rate-limiter/test/memory.test.ts': { sequences: [100, 300] },
  'packages/rate-limiter/test/redis/redis.test.ts': {
    sequences: [20, 60],
    subjects: [5_000, 100_000],
  },
  'packages/balance-store/test/embedded/embedded.test.ts': {
    'charges before a kill': [1_000, 5_000],
  },
  'packages/balance-store/test/postgres/faults.test.ts': {
    'charges of all writers': [4_000, 20_000],
  },
  'packages/balance-store/test/both/model.test.ts': { histories: [25, 100] },
  'packages/balance-store/test/both/budget-model.test.ts': { histories: [4, 60] },
  'packages/balance-store/test/embedded/standing-memory.test.ts': {
    histories: [300, 5_000],
    'histories with processes': [8, 200],
  },
  'packages/balance-store/test/postgres/postgres.test.ts': {
    'rounds of duplicates': [6, 30],
    'pairs of opposite order': [100, 650],
    'races of a top-up': [60, 300],
    'rounds of one id': [15, 50],
    'races of holds': [6, 30],
  },
  'apps/gateway/test/exchange/ids-in-bodies.test.ts': { bodies: [2_000, 200_000] },
  'apps/gateway/test/exchange/long-strings.test.ts': { values: [100, 2_000] },
  'apps/gateway/test/exchange/written-members.test.ts': { bodies: [300, 20_000] },
  'apps/gateway/test/exchange/smuggling.test.ts': { attempts: [150, 4_000] },
  'apps/gateway/test/repository/cost-guard.test.ts': { trials: [60, 1_000] },
  'apps/gateway/test/upstream/account-limits.test.ts': { accounts: [4, 12] },
  // A key may make 120 such calls a minute.
  'apps/gateway/test/customer/ranges.test.ts': { ranges: [3, 10] },
  'apps/gateway/test/upstream/account-pool.test.ts': { sequences: [100, 500] },
  // The long form is the specification's check of one day's traffic.
  'apps/gateway/test/whole/month.test.ts': { requests: [240, 12_000] },
  'apps/dashboard/test/shared/figures.test.ts': { ledgers: [1, 8] },
  'apps/gateway/test/whole/exactness.test.ts': { requests: [1_845, 25_845] },
};

/**
 * The tests that run parts of the torture harness, at its size `least` and in the long form at its
 * size `short`.
 */
const TORTURE = ['torture', 'attack', 'holders', 'power'].map(
  (name) => `apps/gateway/test/whole/${name}.test.ts`,
);

/** What the long form does in more ways: on each ledger, under each restriction, on replicas. */
const IN_MORE_WAYS = [
  'apps/gateway/test/exchange/changed-while-running.test.ts',
  'apps/gateway/test/process/restricted.test.ts',
  'apps/gateway/test/repository/handbook.test.ts',
];

/** The tests of the pages: their long form gives each request of the browser a delay. */
const PAGES = 'apps/dashboard/test/';

const { TEST_RUNS } = env;
const isLong = TEST_RUNS === 'long';

/**
 * @param {string} file - the test's `__filename`
 * @param {string} what - a name of {@link RUNS}
 * @returns {number} how often to repeat it
 */
function runs(file, what) {
  // Windows separates folders by backslashes.
  const name = file.replaceAll('\\', '/');
  const [, sizesOf] = Object.entries(RUNS).find(([path]) => name.endsWith(`/${path}`)) ?? [];
  const sizes = sizesOf?.[what];
  if (sizes === undefined) throw new Error(`scripts/runs.cjs has no "${what}" of ${file}`);
  if (TEST_RUNS === undefined || TEST_RUNS === '') return sizes[0];
  return isLong ? sizes[1] : Number(TEST_RUNS);
}

const longFiles = [...Object.keys(RUNS), ...TORTURE, ...IN_MORE_WAYS, PAGES];

module.exports = { runs, isLong, longFiles };
