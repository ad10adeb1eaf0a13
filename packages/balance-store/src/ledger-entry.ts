/** One immutable line of the ledger. Corrections are new entries. */

/** The four token classes of one finished request, and the one-hour part of the cache writes. */
export interface SettledUsage {
  /** Prompt tokens that neither came from the cache nor were written to it. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  /** All cache writes, of either lifetime. */
  readonly cacheCreationInputTokens: number;
  /** The part of `cacheCreationInputTokens` with a lifetime of one hour. */
  readonly cacheCreation1hInputTokens: number;
}

/**
 * The rates one request was priced at, per token, in units of 10^-14 USD. They are recorded with
 * the entry, so that an audit can recompute the amount after the price table has changed.
 */
export interface SettledRates {
  readonly inputPerToken: bigint;
  readonly outputPerToken: bigint;
  readonly cacheReadPerToken: bigint;
  readonly cacheWrite5mPerToken: bigint;
  readonly cacheWrite1hPerToken: bigint;
}

interface EntryCommon {
  /** The request id of a charge, or `topup:` and the caller's top-up id. */
  readonly id: string;
  readonly keyId: string;
  /** Gap-free per key, from 1. */
  readonly seq: bigint;
  /** Change of the balance, in units of 10^-14 USD: negative or zero for charges. */
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
      /** Oddities of the usage object, for the operator. */
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
  /** `next` of the previous page. */
  readonly cursor?: string;
}

/** Newest first. */
export interface EntryPage {
  readonly entries: readonly LedgerEntry[];
  /** Absent on the last page. */
  readonly next?: string;
}
