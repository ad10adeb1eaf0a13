/**
 * The order of the test files: first those that take longest, so that none of them runs alone at
 * the end, then the others by size. Jest's own order is that of the last run, which a new clone does
 * not have.
 */

const { existsSync, statSync } = require('node:fs');
const { dirname, join } = require('node:path');

const root = dirname(dirname(require.resolve('./jest-setup.cjs')));

const LONGEST = [
  'apps/gateway/test/workers.test.ts',
  'packages/balance-store/test/postgres.test.ts',
  'apps/gateway/test/holders.test.ts',
  'apps/dashboard/test/customer.test.ts',
  'apps/gateway/test/replicas.test.ts',
  'packages/balance-store/test/embedded.test.ts',
  'apps/dashboard/test/payments.test.ts',
  'packages/balance-store/test/archive.test.ts',
  'apps/gateway/test/outage.test.ts',
  'apps/gateway/test/large-responses.test.ts',
  'apps/gateway/test/upstream-accounts.test.ts',
  'apps/gateway/test/torture.test.ts',
  'apps/dashboard/test/console.test.ts',
  'packages/balance-store/test/faults.test.ts',
  'apps/gateway/test/rolling-restart.test.ts',
  'apps/gateway/test/process.test.ts',
  'apps/gateway/test/changed-while-running.test.ts',
  'apps/gateway/test/relay-faults.test.ts',
  'apps/gateway/test/flow.test.ts',
  'apps/gateway/test/limits.test.ts',
  'apps/gateway/test/attack.test.ts',
  'apps/gateway/test/tracing-collector.test.ts',
  'apps/gateway/test/sent-bodies.test.ts',
  'apps/gateway/test/pepper.test.ts',
  'apps/gateway/test/notifications.test.ts',
  'apps/gateway/test/reload.test.ts',
].map((path) => join(root, path));

module.exports = class {
  constructor() {
    const missing = LONGEST.filter((path) => !existsSync(path));
    if (missing.length > 0) throw new Error(`jest-sequencer.cjs: no file ${missing.join(', ')}`);
  }

  sort(tests) {
    const rank = new Map(LONGEST.map((path, index) => [path, index]));
    const rankOf = ({ path }) => rank.get(path) ?? LONGEST.length;
    const sizeOf = ({ path }) => statSync(path).size;
    return [...tests].sort((a, b) => rankOf(a) - rankOf(b) || sizeOf(b) - sizeOf(a));
  }

  cacheResults() {
    // Nothing is remembered.
  }
};
