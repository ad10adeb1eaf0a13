/** What a charge records besides its amounts and rates, as columns of the ledger. */

import type { ChargeDetails } from '../../ledger-entry.js';
import { pricingOf, pricingTextOf } from './pricing-text.js';
import { membersWithout } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

/** A new column is among them: the others are listed. */
export const DETAIL_MEMBERS = membersWithout('Ledger', [
  // Of every entry.
  'id',
  'accountId',
  'seq',
  'kind',
  'delta',
  'balanceAfter',
  'inputHash',
  'createdAt',
  // Of charges, but not details.
  'keyId',
  'writtenOff',
  'overCap',
  'given',
  'spenderId',
  'parts',
  'inputRate',
  'outputRate',
  'cacheReadRate',
  'cacheWrite5mRate',
  'cacheWrite1hRate',
  // Of entries that are booked.
  'actor',
  'source',
  'expiresAt',
  'reason',
  'reference',
  'noteId',
  'counter',
  'tax',
  'fee',
  'lots',
  'reverses',
]);

/** Null: absent. */
export type DetailColumns = Pick<Row<'Ledger'>, (typeof DETAIL_MEMBERS)[number]>;

export function detailColumnsOf(details: ChargeDetails): DetailColumns {
  return {
    model: details.model,
    ...details.usage,
    endpoint: details.endpoint,
    streamed: details.streamed,
    upstreamId: details.upstreamId ?? null,
    upstreamAccount: details.upstreamAccount ?? null,
    remarks: details.remarks ?? null,
    pricing: pricingTextOf(details.pricing),
    cost: details.cost ?? null,
  };
}

export function detailsOf(row: DetailColumns): Omit<ChargeDetails, 'rates'> {
  return {
    model: recorded(row.model),
    usage: {
      inputTokens: recorded(row.inputTokens),
      outputTokens: recorded(row.outputTokens),
      cacheReadInputTokens: recorded(row.cacheReadInputTokens),
      cacheCreationInputTokens: recorded(row.cacheCreationInputTokens),
      cacheCreation1hInputTokens: recorded(row.cacheCreation1hInputTokens),
    },
    endpoint: recorded(row.endpoint),
    streamed: recorded(row.streamed),
    upstreamId: row.upstreamId ?? undefined,
    upstreamAccount: row.upstreamAccount ?? undefined,
    remarks: row.remarks ?? undefined,
    pricing: pricingOf(row.pricing),
    cost: row.cost ?? undefined,
  };
}

/** Reads a column that a table constraint guarantees for this kind of entry. */
export function recorded<Value>(value: Value | null): Value {
  if (value === null) throw new RangeError('an entry lacks a value that its kind requires');
  return value;
}
