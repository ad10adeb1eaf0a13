/** Cursors of ledger pages: the position of a page's last entry, as text that clients send back. */

import type { EntryFilter, LedgerEntry } from '../../ledger-entry.js';

/** An entry's number in one account, or its time and id among the entries of all accounts. */
export type EntryPosition =
  { readonly seq: bigint } | { readonly createdAt: Date; readonly id: string };

export function cursorOf({ accountId }: Pick<EntryFilter, 'accountId'>, last: LedgerEntry): string {
  const position =
    accountId === undefined
      ? `${String(last.createdAt.getTime())}:${last.id}`
      : last.seq.toString();
  return Buffer.from(position).toString('base64url');
}

/** @throws {RangeError} when the cursor was not returned for such a filter. */
export function positionOf({ accountId, cursor }: EntryFilter): EntryPosition | undefined {
  if (cursor === undefined) return undefined;
  const position = Buffer.from(cursor, 'base64url').toString();
  if (accountId !== undefined && /^\d{1,18}$/.test(position)) return { seq: BigInt(position) };
  const [, time, id] = /^(\d{1,15}):([^]+)$/.exec(position) ?? [];
  if (accountId !== undefined || time === undefined || id === undefined) {
    throw new RangeError('the cursor does not belong to a page of these entries');
  }
  return { createdAt: new Date(Number(time)), id };
}
