/**
 * The guard of what a request costs: the CPU time of the gateway, PostgreSQL and Redis, compared
 * with the pinned commit. The pin stays when a change has passed, so many small slowdowns fail
 * together. `verdict.mjs` decides.
 *
 * Each block starts new processes of both sides, which answer at the same time (`sides.mjs`). A row
 * is measured until it is decided.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { MAIN } from './gateway.mjs';
import { machineBusySeconds } from './proc.mjs';
import { LEDGER_NAMES, openSides } from './sides.mjs';
import { median } from './statistics.mjs';
import { MOST_OTHERS, verdictOf } from './verdict.mjs';
import { works } from './works.mjs';

const GUARDED = ['native-json-1k', 'native-stream-300', 'chat-json-1k', 'chat-stream-300'];
const PAIRS = 16;
const DURATION_MS = 1_000;
/** Of each row, because V8 compiles what a row uses. */
const WARM_UP_MS = 6_000;
const MOST_BLOCKS = 4;
const LOOK_MS = 3_000;
const EXIT_CODES = { slower: 1, undecided: 3, busy: 3 };
const PLANTED = fileURLToPath(new URL('planted-work.mjs', import.meta.url));

/**
 * @param {any} session
 * @param {object} options
 * @param {string} options.folder - the built checkout of the pinned commit
 * @param {number | undefined} options.plantedPercent - makes this checkout slower on purpose
 * @returns the exit code, as `guard.mjs` describes it
 */
export async function guardCost(session, { folder, plantedPercent }) {
  const others = await busyCores();
  if (others > MOST_OTHERS) return sayCannot(busyText(others));
  const planted = {
    env: { PLANTED_PERCENT: String(plantedPercent) },
    nodeFlags: [`--import=${PLANTED}`],
  };
  const sides = {
    now: { main: MAIN, ...(plantedPercent === undefined ? {} : planted) },
    before: { main: join(folder, 'apps/gateway/dist/main.js') },
  };
  const rows = [];
  for (const ledger of LEDGER_NAMES) {
    const ofLedger = await guardLedger(session, { ledger, sides });
    rows.push(...ofLedger);
    if (ofLedger.some(({ wrong }) => wrong.length > 0)) return 1;
  }
  return conclude(rows);
}

/** Cores that other processes use while the benchmark waits. */
async function busyCores() {
  const [since, busyBefore] = [performance.now(), machineBusySeconds()];
  await sleep(LOOK_MS);
  return (machineBusySeconds() - busyBefore) / ((performance.now() - since) / 1000);
}

/**
 * @typedef {object} Row
 * @property {string} ledger
 * @property {any} work
 * @property {number[][]} blocks - the ratios
 * @property {number[]} othersBusy
 * @property {string[]} wrong
 * @property {ReturnType<typeof verdictOf>} [verdict]
 */

async function guardLedger(session, { ledger, sides }) {
  /** @type {Row[]} */
  const rows = works
    .filter(({ name }) => GUARDED.includes(name))
    .map((work) => ({ ledger, work, blocks: [], othersBusy: [], wrong: [] }));
  const open = () =>
    rows.filter(({ verdict }) => (verdict?.outcome ?? 'undecided') === 'undecided');
  for (let block = 1; block <= MOST_BLOCKS && open().length > 0; block += 1) {
    const opened = await openSides(session, ledger, inOrderOf(block, sides));
    for (const row of open()) {
      await measureBlock(opened, row);
      if (row.wrong.length > 0) {
        say(`${titleOf(row)}: wrong answers: ${row.wrong.join('; ')}`);
        return rows;
      }
      row.verdict = verdictOf({
        blocks: row.blocks,
        othersBusy: median(row.othersBusy) ?? 0,
        isLast: block === MOST_BLOCKS,
      });
      say(textOf(row));
    }
    await opened.stop();
  }
  return rows;
}

/** The side that is started first changes with each block. */
function inOrderOf(block, { now, before }) {
  return block % 2 === 0 ? { before, now } : { now, before };
}

async function measureBlock({ measure }, { work, wrong, blocks, othersBusy }) {
  const found = [await measure(work, WARM_UP_MS)];
  while (found.length <= PAIRS) found.push(await measure(work, DURATION_MS));
  const [, ...pairs] = found;
  wrong.push(...found.flatMap((each) => each.wrong));
  blocks.push(pairs.map(({ ratio }) => ratio));
  othersBusy.push(...pairs.map((each) => each.othersBusy));
}

function conclude(rows) {
  const outcomes = rows.map(({ verdict }) => verdict.outcome);
  const codes = outcomes.map((outcome) => EXIT_CODES[outcome] ?? 0);
  if (codes.includes(1)) {
    say('A request became more expensive than the pinned commit allows.');
    return 1;
  }
  if (!codes.includes(3)) return 0;
  const others = Math.max(...rows.map(({ othersBusy }) => median(othersBusy) ?? 0));
  return sayCannot(outcomes.includes('busy') ? busyText(others) : 'the pairs differ too much');
}

function sayCannot(reason) {
  say(`This machine is too busy to judge: ${reason}. Repeat it where nothing else runs.`);
  return 3;
}

function busyText(cores) {
  return `other processes use ${cores.toFixed(1)} cores, and ${MOST_OTHERS} is the most`;
}

function textOf(row) {
  const { outcome, ratio, low, high } = row.verdict;
  const interval = `${low.toFixed(3)} to ${high.toFixed(3)}`;
  const pairs = row.blocks.flat().length;
  return `${outcome.padEnd(9)} ${titleOf(row)}: ${ratio.toFixed(3)} (${interval}), ${pairs} pairs`;
}

function titleOf({ ledger, work }) {
  return `${ledger}, ${work.title}`;
}

function say(text) {
  process.stdout.write(`${text}\n`);
}
