/**
 * Recomputes, entry by entry, the unspent part of each credit that expires or was given for free.
 * The rules are those of `books/lots.ts`. What a credit is, and when it expires, only its entry
 * says: an entry is sealed, the row of a credit is not.
 */

import type { AuditDifference } from '../../audit.js';
import type { AccountTotals, LotTotals } from './audit-source.js';
import { compareBytes } from '../base/text-order.js';

interface AuditedLot {
  readonly entryId: string;
  readonly source: string | null;
  /** `Infinity` for a credit that does not expire. */
  readonly expiresAtMs: number;
  remaining: bigint;
}

export function createLotAudit() {
  /** In the order in which they are used. */
  const lots: AuditedLot[] = [];
  function spend(amount: bigint): void {
    let left = amount;
    for (const lot of lots) {
      if (left === 0n) return;
      const part = lot.remaining < left ? lot.remaining : left;
      lot.remaining -= part;
      left -= part;
    }
  }

  return {
    spend,
    /** Called after a negative adjustment, because the lots never exceed the balance. */
    fitTo(balance: bigint): void {
      const covered = balance > 0n ? balance : 0n;
      const total = lots.reduce((sum, { remaining }) => sum + remaining, 0n);
      if (total > covered) spend(total - covered);
    },
    /**
     * @param balance - The balance after the credit. If there was a debt, the part of the credit
     * that pays it counts as used.
     */
    credit(entry: {
      readonly id: string;
      readonly delta: bigint;
      readonly balance: bigint;
      readonly source: string | null;
      readonly expiresAtMs: string | null;
    }): void {
      const { id: entryId, delta, balance, source, expiresAtMs } = entry;
      if (source !== 'promotional' && expiresAtMs === null) return;
      const expiry = expiresAtMs === null ? Infinity : Number(expiresAtMs);
      const covered = balance > 0n ? balance : 0n;
      const remaining = delta < covered ? delta : covered;
      lots.push({ entryId, source, expiresAtMs: expiry, remaining });
      lots.sort((a, b) => a.expiresAtMs - b.expiresAtMs || compareBytes(a.entryId, b.entryId));
    },
    /** @returns what is wrong with this expiry, if anything */
    expire(entry: {
      readonly delta: bigint;
      readonly reference: string | null;
      readonly createdAtMs: number;
    }): { readonly expected: string; readonly found: string } | undefined {
      const lot = lots.find(({ entryId }) => entryId === entry.reference);
      const amount = -entry.delta;
      const most = lot?.remaining ?? 0n;
      if (lot !== undefined) lot.remaining -= amount < most ? amount : most;
      const name = entry.reference ?? 'a credit';
      if (amount > most)
        return { expected: `at most ${String(most)} of ${name}`, found: String(amount) };
      if (lot === undefined || entry.createdAtMs >= lot.expiresAtMs) return undefined;
      return {
        expected: `${name} ${expiryText(lot.expiresAtMs)}`,
        found: `expired at ${timeText(entry.createdAtMs)}`,
      };
    },
    /**
     * Compares with the rows. These do not yet include the spending that the account has not
     * allotted to lots.
     */
    compare(
      account: AccountTotals,
      rows: readonly LotTotals[],
      complain: (found: AuditDifference) => void,
    ): void {
      const expiries = rows.flatMap(({ expiresAt, remaining }) =>
        expiresAt === null || remaining === 0n ? [] : [expiresAt.getTime()],
      );
      const nextExpiry = account.nextExpiryAt?.getTime() ?? Infinity;
      const stored = new Map(rows.map((row) => [row.entryId, row]));
      let unallotted = account.spent - account.allotted;
      let isSound = true;
      const compareTexts = (entryId: string | undefined, expected: string, found: string) => {
        if (expected === found) return;
        isSound = false;
        const accountId = account.id;
        complain({ check: 'credit_left', accountId, keyId: undefined, entryId, expected, found });
      };
      for (const lot of lots) {
        const { entryId } = lot;
        const row = stored.get(entryId);
        stored.delete(entryId);
        if (row === undefined) {
          compareTexts(entryId, leftText(lot.remaining), leftText('nothing'));
          continue;
        }
        const part = row.remaining < unallotted ? row.remaining : unallotted;
        unallotted -= part;
        compareTexts(entryId, leftText(lot.remaining), leftText(row.remaining - part));
        compareTexts(
          entryId,
          termsText(lot.source, lot.expiresAtMs),
          termsText(row.source, row.expiresAt?.getTime() ?? Infinity),
        );
      }
      for (const [entryId, { remaining }] of stored) {
        compareTexts(entryId, leftText(0n), leftText(remaining));
      }
      // Without it, credit that has expired could be spent until its expiry is booked.
      if (isSound) {
        compareTexts(undefined, firstText(Math.min(...expiries)), firstText(nextExpiry));
      }
    },
  };
}

const firstText = (ms: number) => `the first credit ${expiryText(ms)}`;
const leftText = (amount: bigint | string) => `${String(amount)} left`;

function termsText(source: string | null, expiresAtMs: number): string {
  return `${source ?? 'unknown'}, ${expiryText(expiresAtMs)}`;
}

function expiryText(ms: number): string {
  return ms === Infinity ? 'does not expire' : `expires at ${timeText(ms)}`;
}

/** Someone who changes a table can write a time into it that no `Date` has. */
function timeText(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString();
}
