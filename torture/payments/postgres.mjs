/**
 * The system under test of the part `payments`: several gateways, and a PostgreSQL that loses
 * power.
 */

import { query } from '../plain-sql.mjs';
import { crashFor, startSystem } from '../system.mjs';

/**
 * @param {object} options
 * @param {number} options.replicaCount
 * @param {Readonly<Record<string, string>>} options.env - configuration that all gateways share
 */
export async function startOnPostgres({ replicaCount, env }, random) {
  const system = await startSystem({ replicaCount, env, journalEntries: 1 });
  const { replicas, postgres, store } = system;

  return {
    replicas,
    /** @param {() => Promise<void>} afterwards */
    async kill(afterwards) {
      const replica = random.pick(replicas);
      await replica.untilReady();
      await replica.restart('SIGKILL', afterwards);
    },
    /** @param {() => Promise<void>} afterwards */
    async cutPower(afterwards) {
      await crashFor(postgres, random.below(1_000));
      await afterwards();
    },
    /** Reads the ids of all entries with plain SQL, without the code under test. */
    async entryIds() {
      const rows = await query(postgres.url, 'select id from ledger');
      return new Set(rows.map(({ id }) => id));
    },
    /** Ends all faults and drains every gateway. @returns the number that did not exit with 0. */
    drain: () => system.drain(),
    openLedger: () => Promise.resolve(store),
    stop: () => system.stop(),
  };
}
