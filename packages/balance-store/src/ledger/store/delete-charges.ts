/**
 * Deletes the charges that an archive carries, in many small transactions. On the embedded ledger a
 * new charge waits for at most one of them, on PostgreSQL for none. A repeated call deletes the
 * charges that are left.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerArchive } from '../../archive.js';
import { isSameRun, readCarried } from '../scan/carried-sums.js';
import type { CarriedRun } from '../scan/carried-sums.js';
import type { ArchiveTables, SeqRange } from '../database/ledger-database.js';

const CHARGES_PER_STEP = 2_000;
/**
 * The pause after a step, as a multiple of the time of the step. It leaves time for other users of
 * the database.
 */
const PAUSE = 1;

/** @returns how many it deleted */
export async function deleteCarriedCharges(
  tables: ArchiveTables,
  { number }: LedgerArchive,
  onProgress: (deleted: number) => void,
): Promise<number> {
  let deleted = 0;
  onProgress(deleted);
  for await (const step of stepsOf(readRangesOf(tables.source, number))) {
    const startMs = performance.now();
    const here = await tables.deleteCharges(step);
    deleted += here;
    onProgress(deleted);
    if (here > 0) await sleep((performance.now() - startMs) * PAUSE);
  }
  return deleted;
}

async function* readRangesOf(
  source: ArchiveTables['source'],
  number: number,
): AsyncGenerator<SeqRange> {
  let last: CarriedRun | undefined;
  for await (const row of readCarried(source, '', undefined)) {
    if (row.archive === number && !isSameRun(last, row)) yield row;
    last = row;
  }
}

/** Groups ranges, and divides long ones, into steps of at most {@link CHARGES_PER_STEP} charges. */
async function* stepsOf(ranges: AsyncIterable<SeqRange>): AsyncGenerator<readonly SeqRange[]> {
  let step: SeqRange[] = [];
  let room = BigInt(CHARGES_PER_STEP);
  for await (const { accountId, from, to } of ranges) {
    for (let start = from; start <= to;) {
      const end = to < start + room - 1n ? to : start + room - 1n;
      step.push({ accountId, from: start, to: end });
      room -= end - start + 1n;
      start = end + 1n;
      if (room > 0n) continue;
      yield step;
      step = [];
      room = BigInt(CHARGES_PER_STEP);
    }
  }
  if (step.length > 0) yield step;
}
