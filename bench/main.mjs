/**
 * `npm run bench`: what this gateway costs, beside other proxies, in the same run.
 *
 *   npm run bench                                      everything; writes docs/performance.md
 *   npm run bench -- --quick                           fewer and shorter rounds, to see that it works
 *   npm run bench -- --only native-json-1k,open-1000   some works
 *   npm run bench -- --contestants bare,gateway-servers --rounds 9
 *   npm run bench -- --profile gateway-servers --work native-stream-300
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { step } from '../scripts/setup.mjs';
import { figuresOf } from './figures.mjs';
import { describeMachine, versionsOf } from './machine.mjs';
import { readOptions } from './options.mjs';
import { takesPart } from './measure.mjs';
import { memoryBytesOf } from './proc.mjs';
import { profile } from './profile.mjs';
import { writeDocs } from './report/docs.mjs';
import { printSettling, printWork } from './report/terminal.mjs';
import { runRounds, warmUp } from './rounds.mjs';
import { loadContestants, openSession } from './session.mjs';
import { measureSettling } from './settling.mjs';
import { works } from './works.mjs';

const RESULTS = new URL('results/', import.meta.url);
const IDLE_MS = 1_500;

const options = readOptions(await loadContestants());
const session = await openSession();
try {
  process.exitCode = await (options.profile === undefined ? bench() : profile(session, options));
} finally {
  await session.close();
}

async function bench() {
  const startedAt = Date.now();
  const say = (text) => process.stdout.write(`    ${text}\n`);
  const contestants = await startAll(say);
  await sleep(IDLE_MS);
  const idle = memoryOf(contestants);
  await warmUpAll(contestants);

  const measured = [];
  for (const work of options.works) {
    step(work.title);
    const { durationMs } = options;
    const rounds = work.isLong ? options.longRounds : options.rounds;
    const { samples, leftOut } = await runRounds({
      session,
      contestants,
      work,
      rounds,
      durationMs,
      say,
    });
    const { name, title, phase } = work;
    measured.push({ name, title, phase, rounds, leftOut, rows: figuresOf(work, samples) });
    for (const { contestant, reason } of leftOut) say(`${contestant} is left out: ${reason}`);
    printWork(measured.at(-1), titles(contestants));
  }

  const charges = await compareCharges(contestants, say);
  const settling = options.isPartial ? [] : await settleAlone();
  const results = {
    measuredAt: new Date(startedAt).toISOString(),
    seconds: Math.round((Date.now() - startedAt) / 1000),
    rounds: options.rounds,
    longRounds: options.longRounds,
    durationMs: options.durationMs,
    machine: describeMachine(),
    versions: await allVersions(contestants),
    contestants: contestants.map(({ name, title, isOurs = false }) => ({ name, title, isOurs })),
    memory: { idle, afterwards: memoryOf(contestants) },
    charges,
    settling,
    works: measured,
  };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(new URL('latest.json', RESULTS), `${JSON.stringify(results, undefined, 2)}\n`);
  step('Results are in bench/results/latest.json');
  if (options.isPartial || options.isQuick)
    say('docs/performance.md is for whole runs: left as it is');
  else await writeDocs(results);
  return isSound(results) ? 0 : 1;
}

async function startAll(say) {
  step('Starting the contestants');
  const started = [];
  for (const contestant of options.contestants) {
    const reason = contestant.missing?.();
    if (reason !== undefined) say(`${contestant.name} is left out: ${reason}`);
    else started.push(await session.start(contestant));
  }
  return started;
}

/** Before the first figure is taken, everything was done often enough to be compiled. */
async function warmUpAll(contestants) {
  const names = ['native-json-1k', 'native-stream-30', 'chat-json-1k', 'chat-stream-30'];
  for (const work of works.filter(({ name }) => names.includes(name))) {
    for (const contestant of contestants) {
      if (takesPart(contestant, work)) await warmUp(session, contestant, work, options.warmUpMs);
    }
  }
}

/** Whatever others do, this gateway does every work, answers rightly and charges exactly. */
function isSound({ contestants, works, charges, settling }) {
  const ours = new Set(contestants.filter(({ isOurs }) => isOurs).map(({ name }) => name));
  return (
    [...charges, ...settling].every(({ isExact }) => isExact) &&
    works.every(({ leftOut }) => leftOut.every(({ contestant }) => !ours.has(contestant))) &&
    works.every(({ rows }) =>
      rows.every((row) => !ours.has(row.contestant) || row.failures.length === 0),
    )
  );
}

function memoryOf(contestants) {
  return Object.fromEntries(
    contestants
      .filter(({ pid }) => pid !== undefined)
      .map(({ name, pid }) => [name, memoryBytesOf(pid)]),
  );
}

/** A gateway that was fast because it forgot to charge would be found out here. */
async function compareCharges(contestants, say) {
  const charges = [];
  for (const { name, charged, expectedCharge } of contestants) {
    if (charged === undefined) continue;
    const isExact = (await charged()) === expectedCharge;
    charges.push({ contestant: name, isExact });
    say(
      `${name}: ${isExact ? 'every answer was charged, exactly' : 'CHARGES DIFFER FROM ANSWERS'}`,
    );
  }
  return charges;
}

async function settleAlone() {
  step('One key, charged without a gateway in front');
  const { rounds, durationMs } = options;
  const stores = await measureSettling({ session, rounds, durationMs });
  printSettling(stores);
  return stores;
}

async function allVersions(contestants) {
  const own = contestants
    .filter(({ version }) => version !== undefined)
    .map(({ name, version }) => [name, version()]);
  return { ...(await versionsOf(await session.startServers())), ...Object.fromEntries(own) };
}

function titles(contestants) {
  return new Map(contestants.map(({ name, title }) => [name, title]));
}
