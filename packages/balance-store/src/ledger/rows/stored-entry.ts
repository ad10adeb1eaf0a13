/** Turns a row of the ledger into a {@link LedgerEntry}. */

import type { CreditSource, EntryReason } from '../../account.js';
import type { Spender } from '../../spender.js';
import type { LedgerEntry, SettledRates } from '../../ledger-entry.js';
import { detailsOf, recorded } from './charge-details.js';
import { chargePartsOf } from './charge-parts.js';
import { membersWithout } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

export const ENTRY_MEMBERS = membersWithout('Ledger', ['inputHash', 'lots']);

export type StoredEntry = Pick<Row<'Ledger'>, (typeof ENTRY_MEMBERS)[number]>;

/**
 * @param note - The text of the row's note; `undefined` if it was erased or there was none.
 * @param spender - Of a charge that names one.
 */
export function ledgerEntryOf(
  row: StoredEntry,
  note: string | undefined,
  spender: Spender | undefined,
): LedgerEntry {
  const common = {
    id: row.id,
    accountId: row.accountId,
    seq: row.seq,
    delta: row.delta,
    balanceAfter: row.balanceAfter,
    createdAt: row.createdAt,
  };
  if (row.kind !== 'charge') return bookedEntryOf(row, common, note);
  return {
    ...common,
    kind: 'charge',
    given: row.given ?? 0n,
    keyId: recorded(row.keyId),
    spender,
    parts: chargePartsOf(row.parts),
    writtenOff: row.writtenOff,
    overCap: row.overCap,
    rates: ratesOf(row),
    ...detailsOf(row),
  };
}

function bookedEntryOf(
  row: StoredEntry,
  common: Pick<LedgerEntry, 'id' | 'accountId' | 'seq' | 'delta' | 'balanceAfter' | 'createdAt'>,
  text: string | undefined,
): LedgerEntry {
  const booked = {
    ...common,
    actor: recorded(row.actor),
    reference: row.reference ?? undefined,
    note: row.noteId === null ? undefined : text === undefined ? ('erased' as const) : { text },
    given: row.given ?? undefined,
    counter: row.counter ?? undefined,
    tax: row.tax ?? 0n,
    fee: row.fee ?? 0n,
    reverses: row.reverses ?? undefined,
  };
  switch (row.kind) {
    case 'top_up':
      return {
        ...booked,
        kind: 'top_up',
        source: recorded(row.source) as CreditSource,
        expiresAt: row.expiresAt ?? undefined,
      };
    case 'adjustment':
      return { ...booked, kind: 'adjustment', reason: recorded(row.reason) as EntryReason };
    case 'expiry':
      return { ...booked, kind: 'expiry' };
    default:
      throw new RangeError(`"${row.kind}" is not a kind of a ledger entry`);
  }
}

function ratesOf(row: StoredEntry): SettledRates {
  return {
    inputPerToken: recorded(row.inputRate),
    outputPerToken: recorded(row.outputRate),
    cacheReadPerToken: recorded(row.cacheReadRate),
    cacheWrite5mPerToken: recorded(row.cacheWrite5mRate),
    cacheWrite1hPerToken: recorded(row.cacheWrite1hRate),
  };
}
