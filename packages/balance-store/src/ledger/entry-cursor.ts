/** Cursors of ledger pages: the position of a page's last entry, as text that clients send back. */

import type { EntryFilter, LedgerEntry } from '../ledger-entry.js';

/** Of an entry: its number among those of one key, or its time and id among those of all keys. */
export type EntryPosition =
  { readonly seq: bigint } | { readonly createdAt: Date; readonly id: string };

export function cursorOf({ keyId }: Pick<EntryFilter, 'keyId'>, last: LedgerEntry): string {
  const position =
    keyId === undefined ? `${String(last.createdAt.getTime())}:${last.id}` : last.seq.toString();
  return Buffer.from(position).toString('base64url');
}

/** @throws {RangeError} when the cursor was not returned for such a filter. */
export function positionOf({ keyId, cursor }: EntryFilter): EntryPosition | undefined {
  if (cursor === undefined) return undefined;
  const position = Buffer.from(cursor, 'base64url').toString();
  if (keyId !== undefined && /^\d{1,18}$/.test(position)) return { seq: BigInt(position) };
  const [, time, id] = /^(\d{1,15}):([^]+)$/.exec(position) ?? [];
  if (keyId !== undefined || time === undefined || id === undefined) {
    throw new RangeError('the cursor does not belong to a page of these entries');
  }
  return { createdAt: new Date(Number(time)), id };
}
