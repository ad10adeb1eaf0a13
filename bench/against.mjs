/**
 * `--against FOLDER`: the CPU time of a request, compared with another checkout of this repository
 * that was built; `--against NAME=VALUE`: with another setting. `--budgets OVERDRAFT`: that of a
 * request which budgets on four levels count, compared with one that none counts.
 */

import { join, resolve } from 'node:path';
import { MAIN } from './gateway.mjs';
import { LEDGER_NAMES, openSides } from './sides.mjs';
import { summary } from './statistics.mjs';
import { works } from './works.mjs';

/** Compared unless `--only` names others. */
const COMPARED = works.filter(({ name }) =>
  [
    'native-json-1k',
    'native-json-1m',
    'native-stream-300',
    'chat-json-1k',
    'chat-json-100k',
    'chat-stream-300',
  ].includes(name),
);
const WARM_UP_MS = 12_000;
const DURATION_MS = 1_500;

/** @returns the exit code: 1 if an answer was wrong */
export async function compareWith(session, { folder, overdraft, rounds, chosen, ledgers }) {
  const compared = overdraft === undefined ? sidesOf(folder) : budgetSides(overdraft);
  let exitCode = 0;
  for (const ledger of ledgers ?? LEDGER_NAMES) {
    const sides = await openSides(session, ledger, compared);
    for (const work of chosen ?? COMPARED) {
      const found = [await sides.measure(work, WARM_UP_MS)];
      while (found.length <= rounds) found.push(await sides.measure(work, DURATION_MS));
      const wrong = found.flatMap((each) => each.wrong);
      if (wrong.length > 0) exitCode = 1;
      const [, ...ratios] = found.map(({ ratio }) => ratio);
      say(`${ledger}, ${work.title}: ${textOf(wrong, ratios)}`);
    }
    await sides.stop();
  }
  return exitCode;
}

function sidesOf(folder) {
  const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(folder) ?? [];
  const before =
    name === undefined
      ? { main: join(resolve(folder), 'apps/gateway/dist/main.js') }
      : { main: MAIN, env: { [name]: value } };
  return { now: { main: MAIN }, before };
}

/** @param {string} overdraft - `bounded` or `none`, of both sides */
function budgetSides(overdraft) {
  const before = { main: MAIN, env: { OVERDRAFT: overdraft } };
  return { now: { ...before, hasBudgets: true }, before };
}

function textOf(wrong, ratios) {
  if (wrong.length > 0) return `wrong answers: ${wrong.join('; ')}`;
  const { median = NaN, min = NaN, max = NaN } = summary(ratios) ?? {};
  const figures = `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})`;
  return `now / before ${figures}, ${ratios.length} rounds`;
}

function say(text) {
  process.stdout.write(`${text}\n`);
}
