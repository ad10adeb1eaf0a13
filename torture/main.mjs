/**
 * `npm run torture`: breaks the system on purpose and checks that no money was lost, doubled or
 * invented.
 *
 *   npm run torture                     a short run of everything
 *   npm run torture -- --gate           the size of a release test
 *   npm run torture -- --least          the size of `npm test`, for the parts that it runs
 *   npm run torture -- --only race      one part: store, power, http, upstreams, teams, teams-zero,
 *                                       spenders, spenders-bounded, race, zero, attack, holders,
 *                                       answers, changes, unchargeable, payments,
 *                                       payments-embedded or timing
 *   npm run torture -- --seed 7         the same choices again
 *   npm run torture -- --only spenders --set membersPerAccount=800,replicaCount=2
 *                                       other sizes, by the names that the run prints
 *   npm run torture -- --untimed        prints times without checking them, for a busy machine
 */

import { parseArgs } from 'node:util';
import { step } from '../scripts/setup.mjs';
import { tortureAnswers } from './answers.mjs';
import { tortureAttack } from './attack.mjs';
import { tortureChanges } from './changes.mjs';
import { tortureHolders } from './holders.mjs';
import { tortureHttp } from './http.mjs';
import { torturePayments } from './payments.mjs';
import { torturePower } from './power.mjs';
import { tortureRace } from './race.mjs';
import { createRandom } from './random.mjs';
import { tortureSpenders } from './spenders.mjs';
import { tortureStore } from './store.mjs';
import { tortureTeams } from './teams.mjs';
import { tortureTiming } from './timing.mjs';
import { tortureUnchargeable } from './unchargeable.mjs';

const REPLICAS = { replicaCount: 4 };
const TEAMS = { ...REPLICAS, teamCount: 4, keysPerTeam: 50, parallel: 64 };
const SPENDERS = { ...REPLICAS, accountCount: 2, membersPerAccount: 60, parallel: 48 };
const ON_POSTGRES = { ledger: 'PostgreSQL', replicaCount: 2 };

/**
 * Each part's function and its sizes: `least`, where it is smaller than `short`; `short`, which
 * `npm run torture` takes; and `gate`. A run of size `least` still has one of every fault.
 */
const PARTS = {
  // F4, F7, F13
  store: {
    title: 'the ledger alone, under killed writers and a database that loses its power',
    run: tortureStore,
    short: { charges: 20_000, kills: 5, databaseCrashes: 1, writerCount: 4 },
    gate: { charges: 1_000_000, kills: 200, databaseCrashes: 6, writerCount: 4 },
  },
  // F86
  power: {
    title: 'the embedded ledger, with its power cut and its process killed at any moment',
    run: torturePower,
    least: { runs: 3, failingRuns: 1, cuts: 5, charges: 600, kills: 2, chargesPerKill: 300 },
    short: { runs: 6, failingRuns: 2, cuts: 10, charges: 2_000, kills: 5, chargesPerKill: 1_000 },
    gate: {
      runs: 50,
      failingRuns: 10,
      cuts: 25,
      charges: 20_000,
      kills: 200,
      chargesPerKill: 2_000,
    },
  },
  // F1, F2, F4, F5, F6, F8, F50
  http: {
    title: 'the whole system, from client to upstream, while every process and link is broken',
    run: tortureHttp,
    least: {
      requests: 250,
      kills: 2,
      databaseCrashes: 1,
      databaseOutages: 0,
      longPauses: 0,
      redisFaults: 1,
      parallel: 32,
      replicaCount: 2,
    },
    short: {
      requests: 1_000,
      kills: 5,
      databaseCrashes: 1,
      databaseOutages: 0,
      longPauses: 0,
      redisFaults: 2,
      parallel: 64,
      ...REPLICAS,
    },
    gate: {
      requests: 50_000,
      kills: 100,
      databaseCrashes: 6,
      databaseOutages: 1,
      longPauses: 3,
      redisFaults: 20,
      parallel: 64,
      ...REPLICAS,
    },
  },
  // F100, F101
  upstreams: {
    title: 'several upstream accounts that refuse, limit and vanish, while gateways are killed',
    run: tortureHttp,
    least: {
      upstreamAccounts: 3,
      requests: 150,
      kills: 2,
      databaseCrashes: 0,
      databaseOutages: 0,
      longPauses: 0,
      redisFaults: 0,
      parallel: 16,
      replicaCount: 2,
    },
    short: {
      upstreamAccounts: 3,
      requests: 500,
      kills: 5,
      databaseCrashes: 0,
      databaseOutages: 0,
      longPauses: 0,
      redisFaults: 0,
      parallel: 32,
      replicaCount: 2,
    },
    gate: {
      upstreamAccounts: 3,
      requests: 20_000,
      kills: 50,
      databaseCrashes: 3,
      databaseOutages: 0,
      longPauses: 1,
      redisFaults: 5,
      parallel: 64,
      ...REPLICAS,
    },
  },
  teams: {
    title: 'accounts that 50 keys share, while money and keys are changed and gateways are killed',
    run: tortureTeams,
    short: { overdraft: 'bounded', ...TEAMS, requests: 2_000, kills: 5, databaseCrashes: 1 },
    gate: { overdraft: 'bounded', ...TEAMS, requests: 20_000, kills: 50, databaseCrashes: 3 },
  },
  'teams-zero': {
    title: 'the same with OVERDRAFT=none',
    run: tortureTeams,
    short: { overdraft: 'none', ...TEAMS, requests: 2_000, kills: 5, databaseCrashes: 1 },
    gate: { overdraft: 'none', ...TEAMS, requests: 20_000, kills: 50, databaseCrashes: 3 },
  },
  spenders: {
    title: 'members, groups and budgets inside budgets, while they change and gateways are killed',
    run: tortureSpenders,
    short: { overdraft: 'none', ...SPENDERS, requests: 1_500, kills: 5, databaseCrashes: 1 },
    gate: {
      overdraft: 'none',
      ...SPENDERS,
      membersPerAccount: 800,
      requests: 10_000,
      kills: 50,
      databaseCrashes: 3,
    },
  },
  'spenders-bounded': {
    title: 'the same with the default overdraft',
    run: tortureSpenders,
    short: { overdraft: 'bounded', ...SPENDERS, requests: 1_500, kills: 5, databaseCrashes: 1 },
    gate: { overdraft: 'bounded', ...SPENDERS, requests: 10_000, kills: 50, databaseCrashes: 3 },
  },
  // F20
  race: {
    title: 'simultaneous requests for the last cent of a key, with the default overdraft',
    run: tortureRace,
    least: { overdraft: 'bounded', rounds: 16, kills: 0, replicaCount: 2 },
    short: { overdraft: 'bounded', rounds: 50, kills: 0, ...REPLICAS },
    gate: { overdraft: 'bounded', rounds: 1_000, kills: 0, ...REPLICAS },
  },
  // F20, F67
  zero: {
    title: 'simultaneous requests for the last cent of a key, with OVERDRAFT=none',
    run: tortureRace,
    least: { overdraft: 'none', rounds: 16, kills: 1, replicaCount: 2 },
    short: { overdraft: 'none', rounds: 50, kills: 3, ...REPLICAS },
    gate: { overdraft: 'none', rounds: 1_000, kills: 50, ...REPLICAS },
  },
  attack: {
    title: 'hostile bodies of every shape, at a heap of 512 MB',
    run: tortureAttack,
    least: { bodies: 150, sizes: [250_000], seconds: 1, togetherBytes: 16_000_000 },
    short: { bodies: 400, sizes: [1_000_000], seconds: 5 },
    gate: { bodies: 10_000, sizes: [1_000_000, 8_000_000, 32_000_000], seconds: 60 },
  },
  holders: {
    title: 'random sequences of key operations by holders, against the bounds of their accounts',
    run: tortureHolders,
    least: { setups: 2, operations: 120 },
    short: { setups: 2, operations: 800 },
    gate: { setups: 16, operations: 100_000 },
  },
  answers: {
    title: 'random answers of the upstream to one customer, while others watch their service',
    run: tortureAnswers,
    least: { setups: 2, operations: 100 },
    short: { setups: 2, operations: 600 },
    gate: { setups: 16, operations: 20_000 },
  },
  changes: {
    title: 'values of a key that its holder changes at every moment of a request',
    run: tortureChanges,
    least: { setups: 2, operations: 60 },
    short: { setups: 2, operations: 300 },
    gate: { setups: 16, operations: 16_000 },
  },
  // F218: a full disk (of either ledger), a read-only database, a pooler that is killed or stands
  // still, while many clients send requests: from a second on none is sent upstream; afterwards all
  // are charged, once, and it goes on by itself.
  unchargeable: {
    title: 'a full disk, a read-only database and a pooler that is away, under load',
    run: tortureUnchargeable,
    short: { rounds: 1, faultMs: 4_000, requests: 50, parallel: 8 },
    gate: { rounds: 20, faultMs: 6_000, requests: 500, parallel: 16 },
  },
  // F104, F105, F106
  payments: {
    title: 'payments, refunds and disputes, whose notifications are lost, repeated and disordered',
    run: torturePayments,
    short: { ...ON_POSTGRES, payments: 300, kills: 3, powerCuts: 1, parallel: 16 },
    gate: { ...ON_POSTGRES, payments: 10_000, kills: 20, powerCuts: 3, parallel: 32 },
  },
  'payments-embedded': {
    title: 'the same payments on the embedded ledger, whose disk loses its power',
    run: torturePayments,
    short: { ledger: 'embedded', payments: 300, kills: 2, powerCuts: 2, parallel: 16 },
    gate: { ledger: 'embedded', payments: 10_000, kills: 20, powerCuts: 20, parallel: 32 },
  },
  // F63: time to refuse a key, by reason: medians within 0.4 ms of each other. Differs: not part of
  // the test suite, and with 200 or 2,000 of each kind instead of 10,000. Measured with 200 on 2
  // shared cores: unknown 0.92, exhausted 1.00, expired 1.01, revoked 0.62 ms.
  timing: {
    title: 'the time to refuse a key, by the reason of the refusal',
    run: tortureTiming,
    short: { samples: 200 },
    gate: { samples: 2_000 },
  },
};

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    gate: { type: 'boolean', default: false },
    least: { type: 'boolean', default: false },
    only: { type: 'string' },
    untimed: { type: 'boolean', default: false },
    set: { type: 'string' },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
const size = values.gate ? 'gate' : values.least ? 'least' : 'short';
const names = values.only === undefined ? Object.keys(PARTS) : values.only.split(',');
const counts = { passed: 0, failed: 0 };

for (const name of names) {
  const part = PARTS[name];
  if (part === undefined)
    throw new Error(`--only: ${name} is not one of ${Object.keys(PARTS).join(', ')}`);
  const options = { ...(part[size] ?? part.short), ...givenSizes(), isTimed: !values.untimed };
  step(`Torture ${name}, seed ${seed}: ${part.title}\n  ${JSON.stringify(options)}`);
  const startedAt = Date.now();
  const say = (text) => {
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
    process.stdout.write(`  ${seconds.padStart(4)} s  ${text}\n`);
  };
  const { lines, tally, done } = await part.run(options, createRandom(seed), say);
  say(`clients: ${JSON.stringify(tally)}`);
  say(`faults:  ${JSON.stringify(done)}`);
  print(lines);
}
process.stdout.write(`\nseed ${seed}: ${counts.passed} passed, ${counts.failed} failed\n`);
process.exit(counts.failed === 0 ? 0 : 1);

function givenSizes() {
  const pairs = values.set?.split(',').map((pair) => pair.split('=')) ?? [];
  return Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]));
}

function print(lines) {
  process.stdout.write('\n');
  for (const { name, what, violations, examples } of lines) {
    counts[violations === 0 ? 'passed' : 'failed'] += 1;
    process.stdout.write(`${violations === 0 ? 'ok  ' : 'FAIL'}  ${name.padEnd(6)} ${what}`);
    process.stdout.write(violations === 0 ? '\n' : `: ${violations} violations\n`);
    if (violations === 0) continue;
    for (const example of examples) process.stdout.write(`        ${textOf(example)}\n`);
  }
}

/** Amounts are `bigint`, which JSON lacks. */
function textOf(example) {
  return JSON.stringify(example, (_name, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
