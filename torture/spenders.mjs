/**
 * Torture of budgets inside budgets: keys that name members, and keys of members, make requests at
 * all gateways, with budgets of the account, its groups on four levels, each member, keys, tags and
 * runs, while operators raise and lower budgets and move members, and processes are killed.
 * Afterwards each charge must be of the member, tag and run that its client named, each budget must
 * have used what plain SQL sums, and none may be passed.
 */

import { MODELS, checkInvariants, lineOf, readLedger } from './check.mjs';
import { createClients } from './clients.mjs';
import { query } from './plain-sql.mjs';
import { createProgress } from './progress.mjs';
import { createRepeatedCalls } from './repeated-calls.mjs';
import { crashFor, startSystem } from './system.mjs';
import { compareBudgets, compareSpenders, compareSums } from './spenders/comparison.mjs';
import { createAccounts } from './spenders/accounts.mjs';
import { createBudgetOperators } from './spenders/operators.mjs';

const OPERATORS = 3;
const TAGS = ['course', 'thesis', 'é "17"'];
const RUNS = Array.from({ length: 20 }, (_, index) => `run-${index}`);

/**
 * @param {object} options
 * @param {'bounded' | 'none'} options.overdraft
 * @param {number} options.accountCount
 * @param {number} options.membersPerAccount
 * @param {number} options.requests - complete responses that the clients must receive
 * @param {number} options.kills - kill -9 of a gateway, spread over the requests
 * @param {number} options.databaseCrashes - immediate stops of PostgreSQL, followed by a start
 * @param {number} options.replicaCount
 * @param {number} options.parallel - clients
 */
export async function tortureSpenders(options, random, say) {
  const { overdraft, accountCount, membersPerAccount, requests, kills, databaseCrashes } = options;
  const { replicaCount, parallel } = options;
  const system = await startSystem({
    replicaCount,
    env: { OVERDRAFT: overdraft },
    journalEntries: requests * 20,
  });
  const { postgres, replicas, store, upstreams } = system;
  const isFinal = (status) => status < 500 && status !== 429;
  const { callAdmin } = createRepeatedCalls({ replicas, isFinal }, random);
  const accounts = await createAccounts(
    { callAdmin, accountCount, membersPerAccount, tags: TAGS, runs: RUNS, requests },
    random,
  );
  const progress = () => (clients.tally.complete + clients.tally.refused) / requests;
  const operators = createBudgetOperators({ callAdmin, accounts, progress }, random);
  const done = { kills: 0, databaseCrashes: 0, badExits: 0 };
  const sayProgress = createProgress(say);
  const clients = createClients({
    replicas,
    keys: accounts.flatMap(({ keys }) => keys),
    models: MODELS,
    parallel,
    random,
    nameSpender,
    onProgress(tally) {
      sayProgress(
        () => `${JSON.stringify(tally)}; ${JSON.stringify(operators.done)}; ${done.kills} kills`,
      );
    },
  });
  const working = Promise.all([clients.run(), operators.run(OPERATORS)]);
  const plan = random.shuffle([
    ...Array.from({ length: kills }, () => killReplica),
    ...Array.from({ length: databaseCrashes }, () => crashDatabase),
  ]);
  await clients.spreadFaults(plan, requests);
  clients.stop();
  operators.stop();
  await working;
  await Promise.all(replicas.map((replica) => replica.untilReady()));
  done.badExits += await system.drain();

  const ledger = await readLedger(postgres.url);
  const read = (sql) => query(postgres.url, sql);
  const lines = [
    ...checkInvariants({
      ledger,
      seen: clients.seen,
      refused: clients.refused,
      served: upstreams.usages(),
      floorPerKey: 0n,
    }),
    await compareSpenders({ seen: clients.seen, accounts, read }),
    ...(await compareBudgets({
      overdraft,
      parallel,
      budgets: operators.budgets,
      refused: clients.refused,
      read,
    })),
    await compareSums(read),
    lineOf('S6', 'no operator got an answer that it should not get', operators.surprises),
  ];
  const audit = await store.audit();
  await system.stop();
  lines.push(
    lineOf('audit', `the product's own audit finds the ledger sound (gap ${audit.gap})`, [
      ...audit.differences,
    ]),
    lineOf(
      'I10',
      'every replica drained and exited with 0',
      done.badExits === 0 ? [] : [done.badExits],
    ),
  );
  return { lines, tally: { ...clients.tally, ...operators.done }, done };

  /** A key that names members names one in each request; any key may name a tag and a run. */
  function nameSpender(key) {
    const member = key.memberId ?? random.pick(key.account.members);
    const tag = random.chance(0.5) ? random.pick(TAGS) : undefined;
    const run = random.chance(0.5) ? random.pick(RUNS) : undefined;
    return {
      headers: {
        ...(key.memberId === undefined && { 'x-gateway-member': member.externalId }),
        ...(tag !== undefined && { 'x-gateway-tag': Buffer.from(tag).toString('latin1') }),
        ...(run !== undefined && { 'x-session-id': run }),
      },
      spender: { memberId: key.memberId ?? member.id, tag, run },
    };
  }

  async function killReplica() {
    const replica = random.pick(replicas);
    await replica.untilReady();
    done.kills += 1;
    await replica.restart('SIGKILL');
  }

  async function crashDatabase() {
    done.databaseCrashes += 1;
    await crashFor(postgres, random.below(1000));
  }
}
