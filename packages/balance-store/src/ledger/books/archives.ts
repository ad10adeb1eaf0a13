/** Records an archive. From then on, the archive's sums take the place of its charges. */

import type { Actor } from '../../account.js';
import type { LedgerArchive } from '../../archive.js';
import type { CarryRow } from '../archive/carry-row.js';
import { ARCHIVED, markDetailsOf } from '../archive/mark.js';
import { recordChange } from './trail.js';
import type { LedgerTransaction } from './transaction.js';

const ROWS_PER_STATEMENT = 1_000;

/** @returns `undefined` if the archive's number does not follow that of the last archive */
export async function recordArchive(
  transaction: LedgerTransaction,
  archive: Omit<LedgerArchive, 'createdAt'>,
  carries: readonly CarryRow[],
  by: Actor,
): Promise<LedgerArchive | undefined> {
  if ((await transaction.lastArchive()) !== archive.number - 1) return undefined;
  const at = await transaction.now();
  const recorded = { ...archive, createdAt: at };
  await transaction.insertArchive(recorded);
  for (let start = 0; start < carries.length; start += ROWS_PER_STATEMENT) {
    await transaction.insertCarries(carries.slice(start, start + ROWS_PER_STATEMENT));
  }
  await recordChange(transaction, {
    action: ARCHIVED,
    accountId: null,
    by,
    at,
    details: markDetailsOf(archive),
  });
  return recorded;
}
