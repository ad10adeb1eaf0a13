/**
 * Decides from paired measurements whether a row of the guard became more expensive. Pure: the same
 * ratios give the same verdict.
 *
 * A ratio is the cost of a request now, divided by that of the pinned commit, in one pair of
 * measurements. Ratios come in blocks: each block has new processes, because two processes with the
 * same code differ by a percent or so for as long as they run, however often they are compared.
 *
 * The interval of the mean ratio is a bootstrap of blocks, and of the pairs within each. A row
 * passes only if its interval lies below the limit, so a slowdown as large as the limit passes only
 * by an error that the level bounds. It fails if the interval lies above 1, but not below the
 * limit. An interval that contains both decides nothing.
 */

import { createRandom } from '../torture/random.mjs';
import { quantile } from './statistics.mjs';

/** What a row may cost more than at the pinned commit, however many changes it took. */
const LIMIT = 1.05;
/** With fewer nothing passes: one pair of processes can be unequal by chance. */
const LEAST_BLOCKS = 2;
/** Of the interval; the verdict is asked for after each block, which adds to its errors. */
const LEVEL = 0.96;
const RESAMPLES = 500;
/** Cut off at each end before the mean is taken: a pair that other work disturbed is far off. */
const TRIMMED = 0.2;
const SEED = 1;

/** Cores that other processes may use, above which no ratio is believed. */
export const MOST_OTHERS = 0.3;

/**
 * @param {object} measured
 * @param {readonly (readonly number[])[]} measured.blocks - the ratios of each block
 * @param {number} measured.othersBusy - cores that processes outside the benchmark used
 * @param {boolean} measured.isLast - whether there will be no further block
 * @returns {{ outcome: 'passed' | 'slower' | 'undecided' | 'busy', ratio: number, low: number,
 *   high: number }}
 */
export function verdictOf({ blocks, othersBusy, isLast }) {
  const interval = intervalOf(blocks);
  return { outcome: outcomeOf(), ...interval };

  function outcomeOf() {
    const { low, high } = interval;
    if (othersBusy > MOST_OTHERS) return 'busy';
    if (blocks.length < LEAST_BLOCKS) return 'undecided';
    if (high < LIMIT) return 'passed';
    if (low >= LIMIT) return 'slower';
    return isLast && low > 1 ? 'slower' : 'undecided';
  }
}

function intervalOf(blocks) {
  const logs = blocks.map((ratios) => ratios.map(Math.log));
  const random = createRandom(SEED);
  const means = Array.from({ length: RESAMPLES }, () =>
    trimmedMean(
      logs.flatMap(() => {
        const block = random.pick(logs);
        return block.map(() => random.pick(block));
      }),
    ),
  );
  const at = (q) => Math.exp(quantile(means, q) ?? NaN);
  return {
    ratio: Math.exp(trimmedMean(logs.flat())),
    low: at((1 - LEVEL) / 2),
    high: at((1 + LEVEL) / 2),
  };
}

function trimmedMean(values) {
  const sorted = Float64Array.from(values).sort();
  const cut = Math.floor(sorted.length * TRIMMED);
  const kept = sorted.subarray(cut, sorted.length - cut);
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}
