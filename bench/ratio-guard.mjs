/**
 * Measures the CPU time of the gateway, PostgreSQL and Redis as a multiple of the bare proxy's in
 * the same rounds, and fails if this ratio is more than 1.3 times the recorded one. The speed of
 * the machine changes the ratio only a little. This is not a benchmark: it detects a change that
 * made requests more expensive. Other load on the machine can have the same effect on one
 * measurement, so a workload fails only if five measurements exceed the limit, or if a response was
 * wrong.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { figuresOf } from './figures.mjs';
import { runRounds } from './rounds.mjs';
import { warmUpAll } from './warm-up.mjs';
import { works } from './works.mjs';

const GUARDED = ['native-json-1k', 'native-json-1m', 'native-stream-300', 'chat-json-1k'];
const SUBJECTS = ['gateway-embedded', 'gateway-servers'];
const LENIENCY = 1.3;
const ATTEMPTS = 5;
const ROUNDS = 5;
const DURATION_MS = 400;
const WARM_UP_MS = 8_000;
const RECORD = new URL('recorded-ratios.json', import.meta.url);

/**
 * @param {any} session
 * @param {Map<string, any>} adapters
 * @param {{ records: boolean }} options - whether to record this machine's ratios instead
 * @returns the exit code.
 */
export async function guardRatios(session, adapters, { records }) {
  const contestants = [];
  for (const name of ['bare', ...SUBJECTS]) {
    contestants.push(await session.start(adapters.get(name)));
  }
  await warmUpAll(session, contestants, WARM_UP_MS);
  const guarded = works.filter(({ name }) => GUARDED.includes(name));
  const run = { session, contestants, rounds: ROUNDS, durationMs: DURATION_MS, say };
  return records ? record(run, guarded) : guard(run, guarded);
}

/**
 * Records the highest ratio of several measurements, because other load on the machine changes the
 * ratio.
 */
async function record(run, guarded) {
  const recorded = {};
  for (const work of guarded) {
    const highest = Object.fromEntries(SUBJECTS.map((name) => [name, 0]));
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const { failures, ratios } = await measureRatios(run, work);
      if (failures.length > 0) return fail(work, failures.join('; '));
      for (const name of SUBJECTS) {
        highest[name] = Math.max(highest[name], Number(ratios[name].toFixed(2)));
      }
      say(`${work.title}: ${JSON.stringify(ratios)}`);
    }
    recorded[work.name] = highest;
  }
  writeFileSync(RECORD, `${JSON.stringify(recorded, undefined, 2)}\n`);
  return 0;
}

async function guard(run, guarded) {
  const recorded = JSON.parse(readFileSync(RECORD, 'utf8'));
  let exitCode = 0;
  for (const work of guarded) {
    const limits = recorded[work.name];
    if (limits === undefined) throw new Error(`no ratio is recorded for ${work.name}`);
    if (!(await isWithin(run, work, limits))) exitCode = 1;
  }
  return exitCode;
}

async function isWithin(run, work, recorded) {
  let suspects = SUBJECTS;
  for (let attempt = 1; ; attempt += 1) {
    const { failures, ratios } = await measureRatios(run, work);
    if (failures.length > 0) return fail(work, failures.join('; ')) === 0;
    suspects = suspects.filter((name) => {
      const [ratio, limit] = [ratios[name], LENIENCY * recorded[name]];
      const verdict = ratio <= limit ? 'ok  ' : attempt < ATTEMPTS ? 'slow' : 'FAIL';
      say(
        `${verdict}  ${work.title}, ${name}: ${ratio.toFixed(2)} × bare, limit ${limit.toFixed(2)}`,
      );
      return ratio > limit;
    });
    if (suspects.length === 0) return true;
    if (attempt === ATTEMPTS) return false;
  }
}

/** @returns the subjects' median ratios, by their names, and the problems of the answers */
async function measureRatios(run, work) {
  const { samples, leftOut } = await runRounds({ ...run, work });
  const rows = figuresOf(work, samples);
  return {
    failures: [
      ...leftOut.map(({ contestant, reason }) => `${contestant}: ${reason}`),
      ...rows.flatMap(({ failures }) => failures),
    ],
    ratios: Object.fromEntries(
      rows.map(({ contestant, ratio }) => [contestant, ratio?.median ?? NaN]),
    ),
  };
}

function fail({ title }, reason) {
  say(`FAIL  ${title}: ${reason}`);
  return 1;
}

function say(text) {
  process.stdout.write(`${text}\n`);
}
