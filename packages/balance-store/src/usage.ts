/** Sums of charges. The transaction that settles a charge also updates them. */

import type { SettledRates, SettledUsage } from './ledger-entry.js';

export const USAGE_DIMENSIONS = [
  'day',
  'hour',
  'model',
  'account',
  'key',
  'endpoint',
  'upstream',
] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** The value to sort sums by: the amount charged, the number of requests, or that of tokens. */
export type UsageFigure = 'charged' | 'requests' | 'tokens';

export interface UsageQuery {
  /** The dimensions to sum by. If empty, there is one sum of everything. */
  readonly by: readonly UsageDimension[];
  /** Whether charges with different rates have separate sums. */
  readonly byRates?: boolean | undefined;
  /** Inclusive. This and `until` are whole hours. */
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /**
   * Returns the sums with the largest value first. Equal ones, and all when absent, are in the
   * order of the dimensions in `by`.
   */
  readonly sort?: UsageFigure | undefined;
  /** Returns only this many of the sums, the first. The database sorts, so few rows are read. */
  readonly top?: number | undefined;
  /**
   * Refuses the query if it has more sums than this. Charges with different rates count as separate
   * sums. Unlimited when absent.
   */
  readonly maxSums?: number | undefined;
}

/** The sum of all charges that are equal in every requested dimension. */
export interface UsageSum {
  /** 00:00 UTC of the day, or the start of the hour. */
  readonly start?: Date;
  readonly model?: string;
  readonly accountId?: string;
  readonly keyId?: string;
  readonly endpoint?: string;
  /** The name of the upstream account that answered; empty if the charges name none. */
  readonly upstreamAccount?: string;
  readonly rates?: SettledRates;
  readonly requests: number;
  /** Sums of tokens, as integers of any size. */
  readonly usage: Readonly<Record<keyof SettledUsage, bigint>>;
  /** In units of 10^-14 USD: tokens times rates, and fees. */
  readonly listPrice: bigint;
  /** The part of `listPrice` that is fees. */
  readonly fees: bigint;
  /** What the requests cost the operator, as far as that is recorded: of `costed` requests. */
  readonly cost: bigint;
  readonly costed: number;
  /** The part of `listPrice` that was not charged. */
  readonly writtenOff: bigint;
}
