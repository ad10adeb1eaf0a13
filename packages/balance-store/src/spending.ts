/** Sums of charges by who spent. The transaction that settles a charge also updates them. */

import type { UsageFigure, UsageSum } from './usage.js';

/**
 * What a charge is attributed to besides its key. `metadata`: the value that the metadata of its
 * member or group has now under the name of `SpendingQuery.metadata`.
 */
export const SPENDER_DIMENSIONS = ['member', 'group', 'tag', 'run', 'metadata'] as const;
export type SpenderDimension = (typeof SPENDER_DIMENSIONS)[number];

export const SPENDING_DIMENSIONS = [
  'day',
  'hour',
  'model',
  'account',
  'key',
  ...SPENDER_DIMENSIONS,
] as const;
export type SpendingDimension = (typeof SPENDING_DIMENSIONS)[number];

export interface SpendingQuery {
  /** The dimensions to sum by. If empty, there is one sum of everything. */
  readonly by: readonly SpendingDimension[];
  /** Inclusive. This and `until` are whole hours. */
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly memberId?: string | undefined;
  /** Charges of this group, and of the groups below it. */
  readonly groupId?: string | undefined;
  readonly tag?: string | undefined;
  readonly run?: string | undefined;
  /** For the dimension `metadata`: those that have the same value under this name are one sum. */
  readonly metadata?: SpenderMetadata | undefined;
  /**
   * Returns the sums with the largest value first. Equal ones, and all when absent, are in the
   * order of the dimensions in `by`. The sums of all others are at the end.
   */
  readonly sort?: UsageFigure | undefined;
  /**
   * Returns only this many members, groups, tags or runs, or combinations of them: those with the
   * largest value of `sort` (`charged` when absent) over the whole range. For each combination of
   * the other dimensions, all others are one sum.
   */
  readonly top?: number | undefined;
  /** Refuses the query if it has more sums than this. Unlimited when absent. */
  readonly maxSums?: number | undefined;
}

export interface SpenderMetadata {
  readonly of: 'member' | 'group';
  readonly name: string;
}

/** The sum of all charges that are equal in every requested dimension. */
export interface SpendingSum extends Pick<UsageSum, 'start' | 'model' | 'accountId' | 'keyId'> {
  /** `null`, here and below: the charges name none, or the sum is that of all others. */
  readonly memberId?: string | null;
  /** The member's own group at that time. */
  readonly groupId?: string | null;
  readonly tag?: string | null;
  readonly run?: string | null;
  /** The value, not the name. */
  readonly metadata?: string | null;
  /** How many members, groups, tags, runs or combinations it stands for, beyond `top`; else 0. */
  readonly others: number;
  readonly requests: number;
  /** Sums of tokens, as integers of any size. */
  readonly usage: Readonly<
    Record<Exclude<keyof UsageSum['usage'], 'cacheCreation1hInputTokens'>, bigint>
  >;
  /** In units of 10^-14 USD, without what was written off. */
  readonly charged: bigint;
  readonly writtenOff: bigint;
  /** What the requests cost the operator, as far as that is recorded: of `costed` requests. */
  readonly cost: bigint;
  readonly costed: number;
}
