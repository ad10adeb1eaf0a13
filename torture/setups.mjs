/**
 * The set-ups on which a part runs: both ledgers, with and without Redis, one and two workers, both
 * settings of OVERDRAFT. Each set-up is a line of the part's result.
 */

import { lineOf } from './check.mjs';
import { startSystem } from './system.mjs';

/**
 * @typedef {object} Setup
 * @property {'embedded' | 'PostgreSQL'} ledger
 * @property {boolean} redis
 * @property {1 | 2} workers
 * @property {'bounded' | 'none'} overdraft
 */

/** @type {readonly Setup[]} */
const ALL = /** @type {const} */ (['embedded', 'PostgreSQL']).flatMap((ledger) =>
  [false, true].flatMap((redis) =>
    /** @type {const} */ ([1, 2]).flatMap((workers) =>
      /** @type {const} */ (['bounded', 'none']).map((overdraft) => ({
        ledger,
        redis,
        workers,
        overdraft,
      })),
    ),
  ),
);

/**
 * @param {number} count - of set-ups. Two of them differ in everything, so that each value occurs.
 * @returns {readonly Setup[]}
 */
function chooseSetups(count, random) {
  const first = random.shuffle(ALL.slice(0, ALL.length / 2));
  const pairs = first.flatMap((setup) => [setup, ALL[ALL.length - 1 - ALL.indexOf(setup)]]);
  return pairs.slice(0, count);
}

/**
 * @typedef {object} Outcome
 * @property {Readonly<Record<string, readonly unknown[]>>} violations - by invariant
 * @property {Readonly<Record<string, any>>} counts
 */

/**
 * Runs a part on several set-ups, one after another.
 *
 * @param {object} options
 * @param {number} options.setups - number of set-ups, at most 16
 * @param {Readonly<Record<string, string>>} options.invariants - the text of each by its name
 * @param {(setup: Setup, index: number) => Promise<Outcome>} options.run
 */
export async function runOnSetups({ setups, invariants, run }, random, say) {
  const lines = [];
  /** @type {Record<string, unknown[]>} */
  const all = {};
  /** @type {Record<string, number>} */
  const tally = {};
  for (const [index, setup] of chooseSetups(setups, random).entries()) {
    const name = nameOf(setup);
    say(name);
    const { violations, counts } = await run(setup, index);
    const own = Object.entries(violations).flatMap(([invariant, list]) =>
      list.map((violation) => ({ setup: name, invariant, violation })),
    );
    for (const each of own) (all[each.invariant] ??= []).push(each);
    for (const [key, value] of Object.entries(counts))
      if (typeof value === 'number') tally[key] = (tally[key] ?? 0) + value;
    lines.push(lineOf('set-up', `${name}: ${JSON.stringify(counts)}`, own, 4));
  }
  for (const [name, what] of Object.entries(invariants))
    lines.push(lineOf(name, what, all[name] ?? []));
  return { lines, tally };
}

function nameOf({ ledger, redis, workers, overdraft }) {
  const parts = [ledger, redis ? 'Redis' : 'no Redis', `${workers} workers`];
  return [...parts, `OVERDRAFT=${overdraft}`].join(', ');
}

/** @typedef {Awaited<ReturnType<typeof startOnSetup>>} StartedSetup */

/**
 * One gateway on a set-up.
 *
 * @param {Setup} setup
 * @param {object} options
 * @param {Readonly<Record<string, string>>} options.upstreamEnv
 * @param {Readonly<Record<string, string>>} [options.env]
 * @param {string} [options.dataDir] - this and the next ones: see `startSystem`
 * @param {string} [options.postgresParent]
 * @param {boolean} [options.hasPooler]
 */
export async function startOnSetup(
  { ledger, redis, workers, overdraft },
  { upstreamEnv, env, ...parts },
) {
  const system = await startSystem({
    replicaCount: 1,
    ledger,
    redis,
    workers,
    upstreamEnv,
    ...parts,
    env: {
      OVERDRAFT: overdraft,
      TRUST_PROXY: '1',
      // Otherwise each process counts alone while Redis is slow on a busy machine.
      REDIS_TIMEOUT_MS: '5000',
      ...env,
    },
  });
  let accounts = 0;

  return {
    system,
    gateway: system.replicas[0],
    /**
     * @param {string} name
     * @param {object} options
     * @param {string} options.creditUsd
     * @param {readonly object[]} options.keys - fields of the new keys
     * @returns {Promise<{ id: string, keys: { id: string, credential: string }[] }>}
     */
    async createAccount(name, { creditUsd, keys }) {
      accounts += 1;
      const { id } = await system.callAdmin('POST', 'accounts', { name });
      await system.callAdmin('POST', `accounts/${id}/top-ups`, {
        top_up_id: `credit-${accounts}-${name}`,
        amount_usd: creditUsd,
        // Its keys come later.
        anyway: true,
      });
      const created = [];
      for (const [index, fields] of keys.entries()) {
        const key = await system.callAdmin('POST', 'keys', {
          account_id: id,
          name: `${name}-${index}`,
          ...fields,
        });
        created.push({ id: key.id, credential: key.api_key });
      }
      return { id, keys: created };
    },
    /**
     * Ends the gateway.
     *
     * @param {() => Promise<void>} [read] - reads the ledger after the gateway's last charge
     * @returns differences that the product's own audit finds, and bad exits
     */
    async finish(read) {
      const badExits = await system.drain();
      await read?.();
      const audit = await system.audit();
      await system.stop();
      return [...audit.differences, ...(badExits === 0 ? [] : [{ badExits }])];
    },
  };
}
