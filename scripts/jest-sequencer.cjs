/**
 * The order of the test files: first those that take longest, so that none of them runs alone at
 * the end, then the others by size. Jest's own order is that of the last run, which a new clone does
 * not have.
 */

const { existsSync, statSync } = require('node:fs');
const { dirname, join } = require('node:path');

const root = dirname(dirname(require.resolve('./jest-setup.cjs')));

const LONGEST = [
  'apps/gateway/test/process/workers.test.ts',
  'apps/gateway/test/repository/handbook.test.ts',
  'packages/balance-store/test/postgres/postgres.test.ts',
  'apps/gateway/test/whole/holders.test.ts',
  'apps/dashboard/test/customer/customer.test.ts',
  'apps/gateway/test/process/replicas.test.ts',
  'packages/balance-store/test/embedded/embedded.test.ts',
  'apps/dashboard/test/shared/usage.test.ts',
  'apps/gateway/test/process/restricted.test.ts',
  'apps/dashboard/test/shared/payments.test.ts',
  'packages/balance-store/test/both/archive.test.ts',
  'apps/gateway/test/process/outage.test.ts',
  'apps/gateway/test/exchange/large-responses.test.ts',
  'apps/gateway/test/upstream/upstream-accounts.test.ts',
  'apps/gateway/test/whole/torture.test.ts',
  'apps/dashboard/test/console/console.test.ts',
  'packages/balance-store/test/postgres/faults.test.ts',
  'apps/gateway/test/process/rolling-restart.test.ts',
  'apps/gateway/test/process/process.test.ts',
  'apps/gateway/test/exchange/changed-while-running.test.ts',
  'apps/gateway/test/exchange/relay-faults.test.ts',
  'apps/gateway/test/exchange/flow.test.ts',
  'apps/gateway/test/exchange/limits.test.ts',
  'apps/gateway/test/whole/attack.test.ts',
  'apps/gateway/test/observe/tracing-collector.test.ts',
  'apps/gateway/test/exchange/sent-bodies.test.ts',
  'apps/gateway/test/process/pepper.test.ts',
  'apps/gateway/test/observe/notifications.test.ts',
  'apps/gateway/test/process/reload.test.ts',
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
