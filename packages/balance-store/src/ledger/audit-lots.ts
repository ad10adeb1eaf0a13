/**
 * Recomputes, entry by entry, the unspent part of each credit that expires or was given for free.
 * The rules are those of `books/lots.ts`.
 */

import type { AuditDifference } from '../audit.js';
import type { AccountTotals, LotTotals } from './audit-source.js';
import { compareBytes } from './text-order.js';

interface AuditedLot {
  readonly entryId: string;
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
      lots.push({ entryId, expiresAtMs: expiry, remaining });
      lots.sort((a, b) => a.expiresAtMs - b.expiresAtMs || compareBytes(a.entryId, b.entryId));
    },
    /** @returns what is wrong with this expiry, if anything */
    expire(entry: {
      readonly delta: bigint;
      readonly reference: string | null;
    }): { readonly expected: string; readonly found: string } | undefined {
      const lot = lots.find(({ entryId }) => entryId === entry.reference);
      const amount = -entry.delta;
      if (lot !== undefined && amount <= lot.remaining) {
        lot.remaining -= amount;
        return undefined;
      }
      return {
        expected: `at most ${String(lot?.remaining ?? 0n)} of ${entry.reference ?? 'a credit'}`,
        found: amount.toString(),
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
      const stored = new Map(rows.map(({ entryId, remaining }) => [entryId, remaining]));
      let unallotted = account.spent - account.allotted;
      for (const { entryId, remaining } of lots) {
        const row = stored.get(entryId);
        stored.delete(entryId);
        const part = row === undefined || row < unallotted ? (row ?? 0n) : unallotted;
        unallotted -= part;
        const found = row === undefined ? undefined : row - part;
        if (found === remaining) continue;
        complain(difference(account.id, entryId, remaining, found));
      }
      for (const [entryId, remaining] of stored) {
        complain(difference(account.id, entryId, 0n, remaining));
      }
    },
  };
}

function difference(
  accountId: string,
  entryId: string,
  expected: bigint,
  found: bigint | undefined,
): AuditDifference {
  return {
    check: 'credit_left',
    accountId,
    keyId: undefined,
    entryId,
    expected: `${String(expected)} left`,
    found: `${String(found ?? 'nothing')} left`,
  };
}
