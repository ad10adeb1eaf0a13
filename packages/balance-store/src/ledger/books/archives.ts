/**
 * Writes the sums of an archive, and then records it. From then on, the sums take the place of its
 * charges.
 */

import type { Actor } from '../../account.js';
import type { LedgerArchive } from '../../archive.js';
import type { CarryRow } from '../rows/carry-row.js';
import { ARCHIVED, markDetailsOf } from '../rows/archive-mark.js';
import { recordChange } from './trail.js';
import type { LedgerTransaction } from './transaction.js';

/**
 * Writes sums for an archive that is not recorded yet.
 *
 * @returns whether it wrote them; false if the archive is recorded, or not the next one
 */
export async function writeCarries(
  transaction: LedgerTransaction,
  number: number,
  carries: readonly CarryRow[],
): Promise<boolean> {
  if ((await transaction.lastArchive()) !== number - 1) return false;
  if (carries.length > 0) await transaction.insertCarries(carries);
  return true;
}

/** @returns how many sums it deleted, of archives that were never recorded; at most `limit` */
export function deleteUnrecordedCarries(
  transaction: LedgerTransaction,
  limit: number,
): Promise<number> {
  return transaction.deleteUnrecordedCarries(limit);
}

/**
 * @returns `undefined` if the archive's number does not follow that of the last archive, or its
 * sums are not all written
 */
export async function recordArchive(
  transaction: LedgerTransaction,
  archive: Omit<LedgerArchive, 'createdAt'>,
  by: Actor,
): Promise<LedgerArchive | undefined> {
  if ((await transaction.lastArchive()) !== archive.number - 1) return undefined;
  if ((await transaction.chargesCarriedFor(archive.number)) !== archive.charges) return undefined;
  const at = await transaction.now();
  const recorded = { ...archive, createdAt: at };
  await transaction.insertArchive(recorded);
  await recordChange(transaction, {
    action: ARCHIVED,
    accountId: null,
    by,
    at,
    details: markDetailsOf(archive),
  });
  return recorded;
}
