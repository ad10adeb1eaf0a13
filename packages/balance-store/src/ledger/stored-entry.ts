/** Turns a row of the ledger into a {@link LedgerEntry}. */

import type { AdjustmentReason, CreditSource } from '../account.js';
import type { LedgerEntry, SettledRates } from '../ledger-entry.js';

/** @typeParam Amount - How the database returns an amount of USD. */
export interface StoredEntry<Amount> {
  readonly id: string;
  readonly accountId: string;
  readonly seq: bigint;
  readonly kind: string;
  readonly delta: Amount;
  readonly balanceAfter: Amount;
  readonly writtenOff: Amount;
  readonly overCap: Amount;
  readonly createdAt: Date;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadInputTokens: number | null;
  readonly cacheCreationInputTokens: number | null;
  readonly cacheCreation1hInputTokens: number | null;
  readonly inputRate: Amount | null;
  readonly outputRate: Amount | null;
  readonly cacheReadRate: Amount | null;
  readonly cacheWrite5mRate: Amount | null;
  readonly cacheWrite1hRate: Amount | null;
  readonly endpoint: string | null;
  readonly streamed: boolean | null;
  readonly upstreamId: string | null;
  readonly upstreamAccount: string | null;
  readonly remarks: string | null;
  readonly actor: string | null;
  readonly source: string | null;
  readonly expiresAt: Date | null;
  readonly reason: string | null;
  readonly reference: string | null;
  readonly noteId: string | null;
}

/**
 * @param unitsOf - Reads an amount into units of 10^-14 USD.
 * @param note - The text of the row's note; `undefined` if it was erased or there was none.
 */
export function ledgerEntryOf<Amount>(
  row: StoredEntry<Amount>,
  unitsOf: (amount: Amount) => bigint,
  note: string | undefined,
): LedgerEntry {
  const common = {
    id: row.id,
    accountId: row.accountId,
    seq: row.seq,
    delta: unitsOf(row.delta),
    balanceAfter: unitsOf(row.balanceAfter),
    createdAt: row.createdAt,
  };
  if (row.kind !== 'charge') return bookedEntryOf(row, common, note);
  return {
    ...common,
    kind: 'charge',
    keyId: recorded(row.keyId),
    writtenOff: unitsOf(row.writtenOff),
    overCap: unitsOf(row.overCap),
    model: recorded(row.model),
    usage: {
      inputTokens: recorded(row.inputTokens),
      outputTokens: recorded(row.outputTokens),
      cacheReadInputTokens: recorded(row.cacheReadInputTokens),
      cacheCreationInputTokens: recorded(row.cacheCreationInputTokens),
      cacheCreation1hInputTokens: recorded(row.cacheCreation1hInputTokens),
    },
    rates: ratesOf(row, unitsOf),
    endpoint: recorded(row.endpoint),
    streamed: recorded(row.streamed),
    upstreamId: row.upstreamId ?? undefined,
    upstreamAccount: row.upstreamAccount ?? undefined,
    remarks: row.remarks ?? undefined,
  };
}

function bookedEntryOf<Amount>(
  row: StoredEntry<Amount>,
  common: Pick<LedgerEntry, 'id' | 'accountId' | 'seq' | 'delta' | 'balanceAfter' | 'createdAt'>,
  text: string | undefined,
): LedgerEntry {
  const booked = {
    ...common,
    actor: recorded(row.actor),
    reference: row.reference ?? undefined,
    note: row.noteId === null ? undefined : text === undefined ? ('erased' as const) : { text },
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
      return { ...booked, kind: 'adjustment', reason: recorded(row.reason) as AdjustmentReason };
    case 'expiry':
      return { ...booked, kind: 'expiry' };
    default:
      throw new RangeError(`"${row.kind}" is not a kind of a ledger entry`);
  }
}

/** The rate columns, of a ledger entry or of a sum of usage. */
export function ratesOf<Amount>(
  row: Pick<
    StoredEntry<Amount>,
    'inputRate' | 'outputRate' | 'cacheReadRate' | 'cacheWrite5mRate' | 'cacheWrite1hRate'
  >,
  unitsOf: (amount: Amount) => bigint,
): SettledRates {
  return {
    inputPerToken: unitsOf(recorded(row.inputRate)),
    outputPerToken: unitsOf(recorded(row.outputRate)),
    cacheReadPerToken: unitsOf(recorded(row.cacheReadRate)),
    cacheWrite5mPerToken: unitsOf(recorded(row.cacheWrite5mRate)),
    cacheWrite1hPerToken: unitsOf(recorded(row.cacheWrite1hRate)),
  };
}

/** Reads a column that a table constraint guarantees for this kind of entry. */
function recorded<Value>(value: Value | null): Value {
  if (value === null) throw new Error('a ledger entry lacks a column that its kind requires');
  return value;
}
