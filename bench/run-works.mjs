/** One run: starts the contestants, measures the workloads, prints and writes the results. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { step } from '../scripts/setup.mjs';
import { figuresOf } from './figures.mjs';
import { describeMachine, versionsOf } from './machine.mjs';
import { memoryBytesOf } from './proc.mjs';
import { writeDocs } from './report/docs.mjs';
import { printSettling, printWork } from './report/terminal.mjs';
import { runRounds } from './rounds.mjs';
import { measureSettling } from './settling.mjs';
import { warmUpAll } from './warm-up.mjs';

const RESULTS = new URL('results/', import.meta.url);
/**
 * Time after the start until the memory counts as idle. The embedded ledger uses its reading thread
 * right after the start, and ends it when it was not used for 10 s.
 */
const IDLE_MS = 25_000;

/** @returns the exit code: 1 if this gateway sent or charged anything wrongly. */
export async function runWorks(session, options) {
  const startedAt = Date.now();
  const say = (text) => process.stdout.write(`    ${text}\n`);
  const contestants = await startAll(session, options.contestants, say);
  await sleep(IDLE_MS);
  const idle = memoryOf(contestants);
  await warmUpAll(session, contestants, options.warmUpMs);

  const measured = [];
  for (const work of options.works) {
    step(work.title);
    const { durationMs } = options;
    const rounds = work.rounds ?? (work.isLong ? options.longRounds : options.rounds);
    const { samples, leftOut } = await runRounds({
      session,
      contestants,
      work,
      rounds,
      durationMs,
      say,
    });
    const { name, title, phase, eventsPerSecond } = work;
    measured.push({
      name,
      title,
      phase,
      eventsPerSecond,
      rounds,
      leftOut,
      rows: figuresOf(work, samples),
    });
    for (const { contestant, reason } of leftOut) say(`${contestant} is left out: ${reason}`);
    printWork(measured.at(-1), titles(contestants));
  }

  const charges = await compareCharges(contestants, say);
  const settling = options.isPartial ? [] : await settleAlone(session, options);
  const results = {
    measuredAt: new Date(startedAt).toISOString(),
    seconds: Math.round((Date.now() - startedAt) / 1000),
    rounds: options.rounds,
    longRounds: options.longRounds,
    durationMs: options.durationMs,
    machine: describeMachine(),
    versions: await allVersions(session, contestants),
    contestants: contestants.map(({ name, title, does, isOurs = false }) => ({
      name,
      title,
      does,
      isOurs,
    })),
    memory: { idle, afterwards: memoryOf(contestants) },
    charges,
    settling,
    works: measured,
  };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(new URL('latest.json', RESULTS), `${JSON.stringify(results, undefined, 2)}\n`);
  step('Results are in bench/results/latest.json');
  if (!isSound(results)) {
    say('THE GATEWAY FAILED: docs/performance.md is unchanged');
    return 1;
  }
  if (options.isPartial || options.isQuick) {
    say('docs/performance.md is unchanged: only whole runs write it');
  } else {
    await writeDocs(results);
  }
  return 0;
}

async function startAll(session, contestants, say) {
  step('Starting the contestants');
  const started = [];
  for (const contestant of contestants) {
    const reason = contestant.missing?.();
    if (reason !== undefined) {
      say(`${contestant.name} is left out: ${reason}`);
      continue;
    }
    try {
      started.push(await session.start(contestant));
    } catch (error) {
      if (contestant.isOurs) throw error;
      say(`${contestant.name} is left out: ${error.message}`);
    }
  }
  return started;
}

/** Checks that this gateway answered every workload correctly, with exact charges. */
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

/**
 * Compares this gateway's charges with its responses: it must not be reported as fast if it loses
 * charges.
 */
async function compareCharges(contestants, say) {
  const charges = [];
  for (const { name, charged, expectedCharge } of contestants) {
    if (charged === undefined) continue;
    const isExact = (await charged()) === expectedCharge;
    charges.push({ contestant: name, isExact });
    say(
      `${name}: ${isExact ? 'the charges are exactly the price of all responses' : 'CHARGES DIFFER FROM THE RESPONSES'}`,
    );
  }
  return charges;
}

async function settleAlone(session, { rounds, durationMs }) {
  step('One key, charged without a gateway in front');
  const stores = await measureSettling({ session, rounds, durationMs });
  printSettling(stores);
  return stores;
}

async function allVersions(session, contestants) {
  const own = contestants
    .filter(({ version }) => version !== undefined)
    .map(({ title, version }) => [title, version()]);
  return { ...(await versionsOf(await session.startServers())), ...Object.fromEntries(own) };
}

function titles(contestants) {
  return new Map(contestants.map(({ name, title }) => [name, title]));
}
