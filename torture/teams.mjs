/**
 * Torture of accounts that many keys share: clients of all keys make requests at all gateways while
 * operators credit, refund, transfer, rotate, cap and suspend, credits expire, and processes are
 * killed. Afterwards the records of clients, operators, upstream and ledger must agree.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { MODELS, checkInvariants, lineOf, readLedger } from './check.mjs';
import { createClients } from './clients.mjs';
import { callHeaders } from './headers.mjs';
import { query } from './plain-sql.mjs';
import { createProgress } from './progress.mjs';
import { createRepeatedCalls } from './repeated-calls.mjs';
import { crashFor, startSystem } from './system.mjs';
import {
  compareBookings,
  compareBounds,
  compareExpiries,
  compareStatements,
  compareSums,
} from './teams/comparison.mjs';
import { createOperators, createTeams } from './teams/operators.mjs';

const CONCURRENCY = 5;
const OPERATORS = 6;
const FIRST_CREDIT = 5n * 10n ** 12n;
/** Refunds may take a balance below zero, so this bound is only a coarse one. See T7. */
const MAX_OVERDRAFT = 10n ** 15n;
/** Holds of killed gateways last for 300 s, and are looked for every 75 s. */
const MOST_HOLD_MS = 400_000;

/**
 * @param {object} options
 * @param {'bounded' | 'none'} options.overdraft
 * @param {number} options.teamCount - accounts
 * @param {number} options.keysPerTeam
 * @param {number} options.requests - complete responses that the clients must receive
 * @param {number} options.kills - kill -9 of a gateway, spread over the requests
 * @param {number} options.databaseCrashes - immediate stops of PostgreSQL, followed by a start
 * @param {number} options.replicaCount
 * @param {number} options.parallel - clients
 */
export async function tortureTeams(options, random, say) {
  const { overdraft, teamCount, keysPerTeam, requests, kills, databaseCrashes } = options;
  const { replicaCount, parallel } = options;
  const system = await startSystem({
    replicaCount,
    env: { OVERDRAFT: overdraft, TRUST_PROXY: '1' },
    journalEntries: requests * 20,
  });
  const { postgres, replicas, store, upstreams } = system;
  // Operators repeat a call during an outage or a rate limit. They record every other status.
  const isFinal = (status) => status < 500 && status !== 429;
  const { callAdmin } = createRepeatedCalls({ replicas, isFinal }, random);
  const teams = await createTeams({
    callAdmin,
    teamCount,
    keysPerTeam,
    concurrency: CONCURRENCY,
    credit: FIRST_CREDIT,
  });
  const done = { kills: 0, terms: 0, databaseCrashes: 0, badExits: 0 };
  let isOver = false;
  const operators = createOperators({ callAdmin, teams }, random);
  const sayProgress = createProgress(say);
  const clients = createClients({
    replicas,
    keys: teams.flatMap(({ keys }) => keys),
    models: MODELS,
    parallel,
    random,
    onProgress(tally) {
      sayProgress(
        () => `${JSON.stringify(tally)}; ${JSON.stringify(operators.done)}; ${done.kills} kills`,
      );
    },
  });
  const working = Promise.all([clients.run(), operators.run(OPERATORS), expireOften()]);

  const plan = random.shuffle([
    ...Array.from({ length: kills }, () => () => restartReplica('SIGKILL')),
    ...Array.from({ length: Math.ceil(kills / 10) }, () => () => restartReplica('SIGTERM')),
    ...Array.from({ length: databaseCrashes }, () => crashDatabase),
  ]);
  await clients.spreadFaults(plan, requests);
  clients.stop();
  operators.stop();
  isOver = true;
  await working;

  say('healing: waiting for holds of killed gateways to end and for credits to expire');
  await Promise.all(replicas.map((replica) => replica.untilReady()));
  await untilNothingIsHeld();
  const lastExpiry = Math.max(0, ...[...operators.witness.expiries.values()].map(Number));
  await sleep(Math.max(0, lastExpiry - Date.now()) + 100);
  await store.expire({ keysWithinMs: 0 });
  const credentials = await checkCredentials();
  const ledger = await readLedger(postgres.url);
  const { entries } = ledger;
  const lines = [
    ...checkInvariants({
      ledger,
      seen: clients.seen,
      refused: clients.refused,
      served: upstreams.usages(),
      floorPerKey: MAX_OVERDRAFT,
    }),
    ...compareBookings({ witness: operators.witness, teams, entries }),
    ...compareExpiries({
      witness: operators.witness,
      entries,
      lotsLeft: await query(
        postgres.url,
        `select entry_id, remaining::text from credit_lot l join account a on a.id = l.account_id
          where l.remaining > 0 and l.expires_at < now() and a.balance > 0`,
      ),
    }),
    ...(await compareSums({ callAdmin, entries })),
    ...(await compareStatements({ callAdmin, teams, entries })),
    ...compareBounds({ overdraft, teams, entries, concurrency: CONCURRENCY, parallel }),
    credentials,
  ];

  done.badExits += await system.drain();
  await store.sealEntries({ all: true });
  const audit = await store.audit();
  await system.stop();
  lines.push(
    lineOf('audit', `the product's own audit finds the ledger sound (gap ${audit.gap})`, [
      ...audit.differences,
      ...(audit.sealed === audit.entries ? [] : [`${audit.sealed} of ${audit.entries} sealed`]),
    ]),
    lineOf(
      'I10',
      'every replica drained and exited with 0',
      done.badExits === 0 ? [] : [done.badExits],
    ),
  );
  return { lines, tally: { ...clients.tally, ...operators.done }, done };

  /** The gateways do this once a minute. Here it must happen often, in the middle of requests. */
  async function expireOften() {
    while (!isOver) {
      await store.expire({ keysWithinMs: 0 }).catch(() => {});
      await sleep(300);
    }
  }

  async function restartReplica(signal) {
    const replica = random.pick(replicas);
    await replica.untilReady();
    done[signal === 'SIGKILL' ? 'kills' : 'terms'] += 1;
    const code = await replica.restart(signal);
    if (signal === 'SIGTERM' && code !== 0) done.badExits += 1;
  }

  async function crashDatabase() {
    done.databaseCrashes += 1;
    await crashFor(postgres, random.below(1000));
  }

  async function untilNothingIsHeld() {
    for (const deadline = Date.now() + MOST_HOLD_MS; Date.now() < deadline; await sleep(500)) {
      const [{ held }] = await query(
        postgres.url,
        'select count(*)::int as held from hold where orphaned_at is null',
      );
      if (held === 0) return;
    }
    throw new Error(`holds are still live after ${MOST_HOLD_MS / 1000} seconds`);
  }

  /**
   * Replaced credentials must be refused, and those in force must be known. Each credential is
   * tried at one gateway. The gateways take turns, so each of them is tried.
   */
  async function checkCredentials() {
    const { retired } = operators.witness;
    const lastGrace = Math.max(0, ...retired.map(({ until }) => until));
    // Gateways may remember a credential for a second.
    await sleep(Math.max(0, lastGrace - Date.now()) + 2_000);
    const wrong = [];
    let asked = 0;
    const ask = async (replica, credential) => {
      // Each comes from another address, because wrong credentials are limited by address.
      const address = `10.0.${(asked += 1) >> 8}.${asked & 255}`;
      const { statusCode, body } = await request(`${replica.url}/v1/models`, {
        headers: { ...callHeaders(credential), 'x-forwarded-for': address },
      });
      const text = await body.text();
      return statusCode === 401 && text.includes('invalid') ? 'unknown' : statusCode;
    };
    for (const [index, { credential }] of retired.entries()) {
      const answer = await ask(replicas[index % replicaCount], credential);
      if (answer !== 'unknown') wrong.push({ retired: answer });
    }
    for (const [index, key] of teams.flatMap(({ keys }) => keys).entries()) {
      const answer = await ask(replicas[index % replicaCount], key.credential);
      if (answer === 'unknown') wrong.push({ key: key.id, answer });
    }
    return lineOf(
      'T8',
      `replaced credentials are unknown, and those in force are known (${retired.length} replaced)`,
      wrong,
    );
  }
}
