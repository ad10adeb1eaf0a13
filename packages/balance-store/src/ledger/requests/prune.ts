/** Which recorded requests are too old, and what remains of a block when an account is erased. */

import { DAY_MS, HOUR_MS } from '../base/hours.js';
import type { RequestPruning } from '../../request-record.js';
import { COARSE_MINUTES, DAY_MINUTES, FINE_MINUTES, FINE_SUMS_MS } from './block-sums.js';
import { PLACE, blockOf, readBlock } from './batch.js';
import type { StoredBlock } from './batch.js';

/** One hour. */
export interface KeptInPeriod {
  readonly period: number;
  readonly kept: number;
}

/**
 * @param periods - The latest first.
 * @returns the time before which all blocks are deleted
 */
export function endOfBlocks(
  periods: readonly KeptInPeriod[],
  { before, maxKept }: RequestPruning,
): Date {
  let kept = 0;
  for (const { period, kept: more } of periods) {
    kept += more;
    if (kept > maxKept) {
      const end = (period + 1) * HOUR_MS;
      return new Date(Math.max(end, before.getTime()));
    }
  }
  return before;
}

/** The tags of a block, to delete them with it. */
export function tagsOf(requests: string): readonly number[] {
  return blockOf(readBlock(requests)).tags;
}

/** @returns `undefined` if nothing remains */
export function blockWithout(
  requests: string,
  series: ReadonlySet<number>,
): StoredBlock | undefined {
  const rows = readBlock(requests).filter((row) => !series.has(row[PLACE.series]));
  return rows.length === 0 ? undefined : blockOf(rows);
}

/** Which sums are deleted: those of earlier periods. */
export function oldSums({ before }: RequestPruning): readonly {
  readonly minutes: number;
  readonly period: number;
}[] {
  const fine = Math.max(before.getTime(), Date.now() - FINE_SUMS_MS);
  return [
    { minutes: FINE_MINUTES, period: Math.floor(fine / (FINE_MINUTES * 60_000)) },
    { minutes: COARSE_MINUTES, period: Math.floor(before.getTime() / HOUR_MS) },
    { minutes: DAY_MINUTES, period: Math.floor(before.getTime() / DAY_MS) },
  ];
}

/** The sums of programs and sessions of earlier days are deleted with their last blocks. */
export function firstLabelledDay(endOfBlocks: Date): number {
  return Math.floor(endOfBlocks.getTime() / DAY_MS);
}
