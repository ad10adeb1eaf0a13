/** The rows that an audit reads, page by page. */

import type { LedgerArchive } from '../archive.js';
import type { AuditDifference, SealHead } from '../audit.js';
import type { PROMO_CODE, SETTINGS } from '../document.js';
import type { CarryPosition, CarryRow } from './archive/carry-row.js';
import type { SealedLedger, SealedTrail } from '../generated/tables.js';
import type { WindowBases } from './cap-windows.js';
import { CAP_MEMBERS, windowBasesOf } from './stored-key.js';
import type { Row } from './tables.js';

export interface AuditSource {
  head(): Promise<SealHead | undefined>;
  /**
   * Accounts in the order of their ids, with their keys, their lots, and their hourly totals of
   * usage from `fromHour` on. All are read in one state of the ledger, because charges continue
   * meanwhile. At most so many accounts as have at most so many keys together. One account that has
   * more comes alone, without its keys.
   */
  accountsAfter(
    accountId: string,
    limits: { readonly accounts: number; readonly keys: number },
    fromHour: number,
  ): Promise<AuditedAccounts>;
  /**
   * Keys of one account in the order of their ids, from this id on, with their hourly totals of
   * usage from `fromHour` on. All are read in one state of the ledger.
   */
  keysFrom(
    position: { readonly accountId: string; readonly keyId: string },
    limit: number,
    fromHour: number,
  ): Promise<AuditedKeys>;
  /** How many entries the account's row counts. `undefined` if there is no such account. */
  seqOf(accountId: string): Promise<bigint | undefined>;
  /** Ordered by account and number, beginning after `position`. */
  entriesAfter(
    position: LedgerPosition,
    lastAccountId: string | undefined,
    limit: number,
  ): Promise<readonly SealedLedger[]>;
  /** Charges of some keys of an account, by their numbers, beginning after `position`. */
  chargesAfter(
    position: LedgerPosition,
    keys: KeyRange,
    limit: number,
  ): Promise<readonly SealedLedger[]>;
  /**
   * Hourly totals of usage before an hour, ordered by primary key, beginning after `position`. At
   * most `limit`. Returns an empty list only after the last total.
   */
  usageAfter(
    position: UsagePosition,
    until: {
      readonly lastAccountId: string;
      readonly hour: number;
      readonly keys?: KeyRange | undefined;
    },
    limit: number,
  ): Promise<readonly UsageFields[]>;
  /** The first day after this one that has rolled-up hours or daily totals. */
  usageDayAfter(day: number): Promise<UsageDay | undefined>;
  /** Ordered by account and number, beginning after `position`. */
  sealsAfter(
    position: LedgerPosition,
    until: { readonly lastAccountId: string | undefined; readonly block: bigint },
    limit: number,
  ): Promise<readonly SealFields[]>;
  /**
   * Blocks whose number is greater than `after` and at most `last`, at most `limit` of them, each
   * with its seals by account.
   */
  blocksAfter(after: bigint, last: bigint, limit: number): Promise<readonly BlockFields[]>;
  /** The trail in the order of its numbers, beginning after `seq`. */
  trailAfter(seq: bigint, limit: number): Promise<readonly SealedTrail[]>;
  /**
   * Compares the rights of accounts, keys or promotional codes, or settings, with the trail, in the
   * order of their ids, beginning after this id. They and their trail are read in one state of the
   * ledger.
   */
  rightsAfter(of: RightsOwner, after: string, limit: number): Promise<RightsPage>;
  counts(): Promise<AuditCounts>;
  /** Oldest first. */
  archives(): Promise<readonly LedgerArchive[]>;
  /** Ordered by account, number and key, beginning after `position`. */
  carriesAfter(
    position: CarryPosition,
    until: {
      readonly lastAccountId: string | undefined;
      readonly keys?: KeyRange | undefined;
    },
    limit: number,
  ): Promise<readonly CarryRow[]>;
  /** The number of the block that seals this entry. */
  blockOf(position: LedgerPosition): Promise<bigint | undefined>;
  /** The charges that a block seals and that are still in the ledger, by account and number. */
  chargesOf(block: bigint): Promise<readonly SealedLedger[]>;
  /** Whether charges that this archive carries are still in the ledger. */
  hasCarriedCharges(archive: number): Promise<boolean>;
}

export type RightsOwner = 'account' | 'key' | typeof PROMO_CODE | (typeof SETTINGS)['kind'];

export interface RightsPage {
  /** The id of the last one of the page; `undefined` if there are no more. */
  readonly last: string | undefined;
  readonly differences: readonly AuditDifference[];
}

export interface LedgerPosition {
  readonly accountId: string;
  readonly seq: bigint;
}

export interface AuditedAccounts {
  readonly accounts: readonly AccountTotals[];
  readonly lots: readonly LotTotals[];
  /** `undefined` if the only account has too many. */
  readonly keys: readonly KeyTotals[] | undefined;
  readonly usage: readonly UsageFields[];
}

/** The keys with the ids from `from` on and before `before`. */
export interface KeyRange {
  readonly from: string;
  readonly before: string;
}

export interface AuditedKeys {
  /** How many entries the row of their account counts. */
  readonly seq: bigint;
  readonly keys: readonly KeyTotals[];
  /** The id of the next key; `undefined` if there is none. */
  readonly next: string | undefined;
  /** Those of all ids before the next one. */
  readonly usage: readonly UsageFields[];
}

/**
 * Cuts a page of accounts so that it has whole accounts only.
 *
 * @param keys - In the order of accounts, one more than the limit if there are.
 */
export function pageOfAccounts<Account extends { readonly id: string }>(
  accounts: readonly Account[],
  keys: readonly { readonly accountId: string }[],
  limit: number,
): { readonly accounts: readonly Account[]; readonly hasKeys: boolean } {
  const cut = keys[limit]?.accountId;
  if (cut === undefined) return { accounts, hasKeys: true };
  const whole = accounts.slice(
    0,
    accounts.findIndex(({ id }) => id === cut),
  );
  return whole.length > 0
    ? { accounts: whole, hasKeys: true }
    : { accounts: accounts.slice(0, 1), hasKeys: false };
}

export const ACCOUNT_TOTALS = [
  'id',
  'seq',
  'balance',
  'spent',
  'credited',
  'adjusted',
  'expired',
  'writtenOff',
  'uncovered',
  'allotted',
  'nextExpiryAt',
  'allowanceStart',
] as const;

export type AccountTotals = Pick<Row<'Account'>, (typeof ACCOUNT_TOTALS)[number]>;

export const KEY_TOTALS = ['id', 'accountId', ...CAP_MEMBERS] as const;

export interface KeyTotals extends Pick<
  Row<'ApiKey'>,
  'id' | 'accountId' | 'spent' | 'writtenOff'
> {
  readonly windows: WindowBases;
}

export function keyTotalsOf(row: Pick<Row<'ApiKey'>, (typeof KEY_TOTALS)[number]>): KeyTotals {
  const { id, accountId, spent, writtenOff } = row;
  return { id, accountId, spent, writtenOff, windows: windowBasesOf(row) };
}

export const LOT_TOTALS = ['entryId', 'accountId', 'source', 'expiresAt', 'remaining'] as const;

export type LotTotals = Pick<Row<'CreditLot'>, (typeof LOT_TOTALS)[number]>;

export interface UsagePosition {
  readonly accountId: string;
  readonly hour: number;
  readonly keyId: string;
  readonly model: string;
  readonly endpoint: string;
  readonly upstreamAccount: string;
  readonly ratesId: string;
}

export interface UsageFields extends UsagePosition {
  /** The five rates as decimal text, in the order of the ledger's columns. */
  readonly rates: readonly string[];
  readonly requests: bigint;
  /** In the order of the ledger's columns. */
  readonly counts: readonly bigint[];
  readonly writtenOff: bigint;
  readonly fees: bigint;
  readonly cost: bigint;
  /** How many of the requests have a known cost. */
  readonly costed: bigint;
}

/** Counts first, then amounts, in units of 10^-14 USD. `storedDifference` has their names. */
export function figuresOf(
  sum: Omit<UsageFields, keyof UsagePosition | 'rates'>,
): readonly bigint[] {
  return [sum.requests, ...sum.counts, sum.costed, sum.writtenOff, sum.fees, sum.cost];
}

/** The totals of one day that differ from the sums of their hours. At most as many as a report. */
export interface UsageDay {
  /** Days since 1970-01-01. */
  readonly day: number;
  readonly differences: readonly DayDifference[];
}

/** A total of a key; of an account, with an empty `keyId`; or of all, with both ids empty. */
export interface DayDifference {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly endpoint: string;
  /**
   * The figures of {@link figuresOf}: the sum of each over the hours that are rolled up, minus the
   * stored one.
   */
  readonly figures: readonly bigint[];
}

export interface AuditCounts {
  readonly quarantined: number;
  readonly conflicts: number;
  readonly orphanedHolds: number;
}

/** A range of one account's entries, or of the trail, with the digest of each. */
export interface SealFields {
  readonly accountId: string;
  readonly from: bigint;
  readonly to: bigint;
  readonly block: bigint;
  readonly digests: Uint8Array;
}

export interface BlockFields {
  readonly block: bigint;
  readonly previousHash: Uint8Array;
  readonly hash: Uint8Array;
  readonly entries: number;
  readonly sealedAtMs: string;
  /** In the order of their accounts. */
  readonly seals: readonly Pick<SealFields, 'accountId' | 'from' | 'to' | 'digests'>[];
}

/** Sorts after every id. */
export const AFTER_ALL_IDS = '\u{10ffff}';

/** No entry has a higher number, so this is a position after all entries of one account. */
export const MAX_SEQ = 2n ** 63n - 1n;
