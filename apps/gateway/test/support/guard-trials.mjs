/**
 * Lets the guard of what a request costs judge ratios that are made here, with the noise of real
 * pairs, and prints the share of each verdict.
 *
 *   node guard-trials.mjs '{"trials": 100, "slowdown": 1.05, "pairSpread": 0.05}'
 *
 * A pair differs by chance; all pairs of one block by what its two processes differ by; and one
 * pair in twenty, which other work disturbed, by four times as much.
 */

import { verdictOf } from '../../../../bench/verdict.mjs';
import { createRandom } from '../../../../torture/random.mjs';

const PROCESS_SPREAD = 0.01;
const [BLOCKS, PAIRS] = [4, 16];
const STEPS = 1_000_000;

const { trials, slowdown, pairSpread, othersBusy = 0 } = JSON.parse(process.argv[2] ?? '{}');
const random = createRandom(11);
const counts = {};
for (let trial = 0; trial < trials; trial += 1) {
  const outcome = judged();
  counts[outcome] = (counts[outcome] ?? 0) + 1;
}
const shares = Object.entries(counts).map(([outcome, count]) => [outcome, count / trials]);
process.stdout.write(JSON.stringify(Object.fromEntries(shares)));

function judged() {
  const blocks = [];
  for (;;) {
    const bias = PROCESS_SPREAD * normal();
    blocks.push(Array.from({ length: PAIRS }, () => slowdown * Math.exp(bias + pairNoise())));
    const isLast = blocks.length === BLOCKS;
    const { outcome } = verdictOf({ blocks, othersBusy, isLast });
    if (outcome !== 'undecided' || isLast) return outcome;
  }
}

function pairNoise() {
  return pairSpread * normal() * (random.chance(0.05) ? 4 : 1);
}

function normal() {
  const [a, b] = [1, 2].map(() => (random.below(STEPS) + 1) / STEPS);
  return Math.sqrt(-2 * Math.log(a)) * Math.cos(2 * Math.PI * b);
}
