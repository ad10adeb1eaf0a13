/** An archive and its carried sums, as they are stored. */

import type { LedgerArchive } from '../../archive.js';
import type { Row } from '../tables/tables.js';
import type { CarryRow } from './carry-row.js';

export function archiveOf({ id, untilAt, charges, ...row }: Row<'LedgerArchive'>): LedgerArchive {
  return { ...row, number: id, until: untilAt, charges: Number(charges) };
}

export function archiveColumnsOf({
  number,
  until,
  charges,
  ...archive
}: LedgerArchive): Row<'LedgerArchive'> {
  return { ...archive, id: number, untilAt: until, charges: BigInt(charges) };
}

export function carryOf({
  fromSeq,
  toSeq,
  archiveId,
  charges,
  ...row
}: Row<'LedgerCarry'>): CarryRow {
  return { ...row, from: fromSeq, to: toSeq, archive: archiveId, charges: Number(charges) };
}

export function carryColumnsOf({
  from,
  to,
  archive,
  charges,
  ...row
}: CarryRow): Row<'LedgerCarry'> {
  return { ...row, fromSeq: from, toSeq: to, archiveId: archive, charges: BigInt(charges) };
}
