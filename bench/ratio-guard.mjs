/**
 * Fails if the gateway takes more than three times its budget. It is not a benchmark. It detects a
 * change that made requests several times more expensive. It compares with a bare proxy in the same
 * seconds, so that the speed of the machine matters little.
 */

import { ratioBudgets } from './budgets.mjs';
import { figuresOf } from './figures.mjs';
import { runRounds } from './rounds.mjs';
import { works } from './works.mjs';

const GUARDED = ['native-json-1k', 'native-json-1m', 'native-stream-300', 'chat-json-1k'];
const SUBJECT = 'gateway-servers';
const LENIENCY = 3;
const ROUNDS = 5;
const DURATION_MS = 400;

/** @returns the exit code. */
export async function guardRatios(session, adapters) {
  const contestants = [];
  for (const name of ['bare', SUBJECT]) contestants.push(await session.start(adapters.get(name)));
  let isWithin = true;
  for (const name of GUARDED) {
    const work = { ...works.find((entry) => entry.name === name), latency: false };
    const say = (text) => process.stdout.write(`${text}\n`);
    const run = { session, contestants, work, rounds: ROUNDS, durationMs: DURATION_MS, say };
    const { samples, leftOut } = await runRounds(run);
    for (const { contestant, reason } of leftOut) say(`FAIL  ${contestant}: ${reason}`);
    isWithin = leftOut.length === 0 && judge(work, figuresOf(work, samples)) && isWithin;
  }
  return isWithin ? 0 : 1;
}

function judge({ name, title }, rows) {
  const budget = ratioBudgets.find(({ work }) => work === name);
  if (budget === undefined) throw new Error(`there is no budget for ${name}`);
  const limit = LENIENCY * budget.times;
  const { ratio, cpuUs, failures } = rows.find(({ contestant }) => contestant === SUBJECT);
  const isWithin = ratio.median <= limit && failures.length === 0;
  process.stdout.write(
    `${isWithin ? 'ok  ' : 'FAIL'}  ${title}: ${cpuUs.median.toFixed(0)} µs of CPU time, ` +
      `${ratio.median.toFixed(2)} × bare (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}), limit ${limit.toFixed(1)}\n`,
  );
  return isWithin;
}
