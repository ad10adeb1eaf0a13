/**
 * Torture of the whole system: replicas, PostgreSQL, Redis and clients. Kills processes and breaks
 * links while streamed requests run. Afterwards the records of clients, upstream and ledger must
 * agree.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { MODELS, checkInvariants, lineOf, readLedger } from './check.mjs';
import { createClients } from './clients.mjs';
import { createProgress } from './progress.mjs';
import { crashFor, startSystem } from './system.mjs';
import { REFUSAL_NAMES } from './upstreams.mjs';

const KEYS = 20;
const CREDIT = 1_000n * 10n ** 14n;
/** Allowed overdraft of a key: many times the highest cost of one request. */
const MAX_OVERDRAFT = 10n ** 14n;
const OUTAGE_MS = 60_000;
/**
 * Longer than a lease, which lasts 15 seconds. A paused replica thus loses its leases while its
 * requests are in flight.
 */
const LONG_PAUSE_MS = 20_000;

/**
 * @param {object} options
 * @param {number} options.requests - complete responses that the clients must receive
 * @param {number} options.kills - kill -9 of a replica, spread over the run
 * @param {number} options.databaseCrashes - immediate stops of PostgreSQL, followed by a start
 * @param {number} options.databaseOutages - outages of PostgreSQL of one minute each
 * @param {number} options.longPauses - pauses of a replica that are longer than its leases
 * @param {number} options.redisFaults - kills of Redis, which then starts empty
 * @param {number} [options.upstreamAccounts] - upstream accounts. If one refuses a request, the
 * gateway may send it to another. 0: one upstream without `UPSTREAMS`
 * @param {number} options.replicaCount
 * @param {number} options.parallel
 */
export async function tortureHttp(options, random, say) {
  const { requests, kills, databaseCrashes, databaseOutages, longPauses, redisFaults } = options;
  const { upstreamAccounts = 0, replicaCount, parallel } = options;
  const system = await startSystem({
    replicaCount,
    upstreamAccounts,
    journalEntries: requests * 20,
    hasLinks: true,
  });
  const { postgres, redis, upstreams, links, replicas, store } = system;
  const keys = [];
  for (let i = 0; i < KEYS; i += 1) {
    keys.push(await system.createKey(`torture-${i}`, { credit: CREDIT, concurrency: 1000 }));
  }

  const done = {
    kills: 0,
    terms: 0,
    pauses: 0,
    longPauses: 0,
    databaseCrashes: 0,
    databaseOutages: 0,
    redisFaults: 0,
    linkFaults: 0,
    accountFaults: 0,
    badExits: 0,
  };
  const sayProgress = createProgress(say);
  const clients = createClients({
    replicas,
    keys,
    models: MODELS,
    parallel,
    random,
    onProgress(tally) {
      sayProgress(
        () =>
          `${tally.complete} complete, ${tally.cut} cut, ${tally.refused} refused; ${done.kills} kills`,
      );
    },
  });
  const running = clients.run();
  await clients.spreadFaults(faultPlan(), requests);
  clients.stop();
  await running;

  say('healing: all faults end, and every replica drains');
  done.badExits += await system.drain();
  await store.sealEntries({ all: true });
  const audit = await store.audit();
  const ledger = await readLedger(postgres.url);
  const served = upstreams.usages();
  await system.stop();

  const lines = checkInvariants({
    ledger,
    seen: clients.seen,
    refused: clients.refused,
    served,
    floorPerKey: MAX_OVERDRAFT,
  });
  if (upstreamAccounts > 0) {
    const { accepted, repeated } = upstreams;
    const what = `no request is sent again after an account accepted it (${accepted.size} accepted)`;
    lines.push(lineOf('I11', what, repeated));
  }
  lines.push({
    name: 'audit',
    what: `the product's own audit finds the ledger sound (gap ${audit.gap}, ${audit.sealed} entries sealed)`,
    violations: audit.isSound && audit.sealed === audit.entries ? 0 : 1,
    examples: audit.differences.slice(0, 3),
  });
  lines.push({
    name: 'I10',
    what: 'every replica drained and exited with 0',
    violations: done.badExits,
    examples: [],
  });
  return { lines, tally: clients.tally, done };

  function faultPlan() {
    const faults = [
      ...times(kills, () => killReplica('SIGKILL')),
      ...times(Math.ceil(kills / 10), () => killReplica('SIGTERM')),
      ...times(Math.ceil(kills / 10), () => pauseReplica('pauses', 500 + random.below(1500))),
      ...times(longPauses, () => pauseReplica('longPauses', LONG_PAUSE_MS)),
      ...times(databaseCrashes, () => crash(postgres, 'databaseCrashes', random.below(1000))),
      ...times(databaseOutages, () => crash(postgres, 'databaseOutages', OUTAGE_MS)),
      ...times(redisFaults, () => crash(redis, 'redisFaults', random.below(1000))),
      ...times(Math.ceil(kills / 4), breakLink),
      ...times(upstreamAccounts === 0 ? 0 : kills * 2, refuseByAccount),
    ];
    return random.shuffle(faults);
  }

  async function killReplica(signal) {
    const replica = random.pick(replicas);
    if (!replica.isRunning()) return;
    if (signal === 'SIGTERM') {
      // A process that is not ready yet has no streams to finish and would end at once, which tests
      // nothing.
      await replica.untilReady();
      done.terms += 1;
      if ((await replica.restart(signal)) !== 0) done.badExits += 1;
    } else {
      done.kills += 1;
      await replica.restart(signal);
    }
  }

  async function pauseReplica(counter, ms) {
    const replica = random.pick(replicas);
    done[counter] += 1;
    replica.pause();
    await sleep(ms);
    replica.resume();
  }

  async function crash(server, counter, ms) {
    done[counter] += 1;
    await crashFor(server, ms);
  }

  /** One account refuses everything for a while, or cannot be reached. */
  async function refuseByAccount() {
    done.accountFaults += 1;
    const member = random.pick(upstreams.members);
    const kind = random.pick([...REFUSAL_NAMES, 'unreachable']);
    if (kind === 'unreachable') member.link.set('down');
    else member.refusal = kind;
    await sleep(200 + random.below(1_800));
    member.refusal = undefined;
    member.link.set('none');
  }

  async function breakLink() {
    done.linkFaults += 1;
    const link = random.pick(Object.values(links));
    const fault = random.pick(['latency', 'slices', 'stall', 'reset']);
    link.set(fault);
    await sleep(200 + random.below(800));
    link.set('none');
  }
}

function times(count, action) {
  return Array.from({ length: count }, () => action);
}
