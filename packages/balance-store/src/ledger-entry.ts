/** One immutable line of the ledger. Corrections are new entries. */

import type { SettledRates, SettledUsage } from './store.js';

interface EntryCommon {
  /** The request id of a charge, or `topup:` and the caller's top-up id. */
  readonly id: string;
  readonly keyId: string;
  /** Gap-free per key, from 1. */
  readonly seq: bigint;
  /** What the entry did to the balance, in units of 10^-14 USD: charges are negative or zero. */
  readonly delta: bigint;
  readonly balanceAfter: bigint;
  readonly createdAt: Date;
}

export type LedgerEntry =
  | (EntryCommon & {
      readonly kind: 'charge';
      /** In units of 10^-14 USD. Tokens times rates are `-delta + writtenOff`. */
      readonly writtenOff: bigint;
      readonly model: string;
      readonly usage: SettledUsage;
      readonly rates: SettledRates;
      readonly endpoint: string;
      readonly streamed: boolean;
      readonly upstreamId: string | undefined;
      /** What was odd about the usage object. */
      readonly remarks: string | undefined;
    })
  | (EntryCommon & { readonly kind: 'top_up'; readonly actor: string });

export interface EntryFilter {
  /** All keys when absent. */
  readonly keyId?: string;
  readonly kind?: LedgerEntry['kind'];
  readonly model?: string;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly until?: Date;
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** Newest first. */
export interface EntryPage {
  readonly entries: readonly LedgerEntry[];
  /** Absent on the last page. */
  readonly next?: string;
}
