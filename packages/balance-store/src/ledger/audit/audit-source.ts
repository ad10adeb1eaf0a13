/** The rows that only an audit reads, page by page. */

import type { AuditDifference } from '../../audit.js';
import type { BookPage, BookQuery } from '../../books.js';
import type { PROMO_CODE, SETTINGS } from '../../document.js';
import type { SealedLedger, SealedTrail } from '../../generated/tables.js';
import type { KeyRange, LedgerPosition, LedgerScan, UsageFields } from '../scan/ledger-scan.js';
import type { SealFields } from '../seals/hashes.js';
import type { Row } from '../tables/tables.js';

export interface AuditSource extends LedgerScan {
  /**
   * Accounts in the order of their ids, with their keys, their lots, and their hourly totals of
   * usage and of the sides of the books from `fromHour` on. All are of one state of the ledger,
   * because charges continue meanwhile. At most so many accounts as have at most so many keys
   * together. One account that has more comes alone, without its keys.
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
  /** Sums of the sides of the books before an hour, in the order of their primary key. */
  moneyAfter(
    position: MoneyPosition,
    until: { readonly lastAccountId: string; readonly hour: number },
    limit: number,
  ): Promise<readonly MoneyRow[]>;
  /** Sums of spenders before an hour, in the order of their primary key. */
  spentAfter(
    position: SpentPosition,
    until: { readonly lastAccountId: string; readonly hour: number },
    limit: number,
  ): Promise<readonly SpentRow[]>;
  spender(id: string): Promise<Row<'Spender'> | undefined>;
  /** In the order of ids, beginning after this one, each with the salt of its account. */
  spendersAfter(
    id: string,
    limit: number,
  ): Promise<readonly (Row<'Spender'> & { readonly labelSalt: string })[]>;
  /** The documents of payments, in the order of their numbers, beginning after `seq`. */
  paymentsAfter(seq: bigint, limit: number): Promise<readonly StoredPayment[]>;
  /** Whether there is an entry with an id from `from` on and before `before`. */
  hasEntry(ids: { readonly from: string; readonly before: string }): Promise<boolean>;
  /** How many entries the account's row counts. `undefined` if there is no such account. */
  seqOf(accountId: string): Promise<bigint | undefined>;
  /** Charges of some keys of an account, by their numbers, beginning after `position`. */
  chargesAfter(
    position: LedgerPosition,
    keys: KeyRange,
    limit: number,
  ): Promise<readonly SealedLedger[]>;
  /** The first day after this one that has rolled-up hours or daily totals. */
  usageDayAfter(day: number): Promise<UsageDay | undefined>;
  /** Ordered by account and number, beginning after `position`. */
  sealsAfter(
    position: LedgerPosition,
    until: { readonly lastAccountId: string | undefined; readonly block: bigint },
    limit: number,
  ): Promise<readonly SealFields[]>;
  /** The trail in the order of its numbers, beginning after `seq`. */
  trailAfter(seq: bigint, limit: number): Promise<readonly SealedTrail[]>;
  /**
   * Compares the rights of accounts, keys or promotional codes, or settings, with the trail, in the
   * order of their ids, beginning after this id. They and their trail are read in one state of the
   * ledger.
   */
  rightsAfter(of: RightsOwner, after: string, limit: number): Promise<RightsPage>;
  /** Oldest first. */
  closedMonths(): Promise<readonly Row<'ClosedMonth'>[]>;
  /** In the order of issuers and numbers, beginning after `position`. */
  statementsAfter(
    position: Pick<Row<'IssuedStatement'>, 'issuer' | 'number'>,
    limit: number,
  ): Promise<readonly Row<'IssuedStatement'>[]>;
  readBooks(query: BookQuery): Promise<BookPage>;
  counts(): Promise<AuditCounts>;
}

export interface StoredPayment {
  readonly seq: bigint;
  readonly accountId: string;
  /** The provider's id; `null` until it is paid. */
  readonly providerPaymentId: string | null;
}

export type RightsOwner =
  | 'account'
  | 'key'
  | 'group'
  | 'member'
  | 'budget'
  | 'raise'
  | typeof PROMO_CODE
  | (typeof SETTINGS)['kind'];

export interface RightsPage {
  /** The id of the last one of the page; `undefined` if there are no more. */
  readonly last: string | undefined;
  readonly differences: readonly AuditDifference[];
}

export interface AuditedAccounts {
  readonly accounts: readonly AccountTotals[];
  readonly lots: readonly LotTotals[];
  /** From `fromHour` on. */
  readonly money: readonly MoneyRow[];
  /** Also those that have ended. */
  readonly budgets: readonly Row<'Budget'>[];
  readonly uses: readonly Row<'BudgetUse'>[];
  /** From `fromHour` on. */
  readonly spent: readonly SpentRow[];
  /** `undefined` if the only account has too many. */
  readonly keys: readonly KeyTotals[] | undefined;
  readonly usage: readonly UsageFields[];
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
  'given',
  'opened',
  'allotted',
  'nextExpiryAt',
  'allowanceStart',
  'budgeted',
] as const;

export type AccountTotals = Pick<Row<'Account'>, (typeof ACCOUNT_TOTALS)[number]>;

export const KEY_TOTALS = ['id', 'accountId', 'spent', 'writtenOff'] as const;

export type KeyTotals = Pick<Row<'ApiKey'>, (typeof KEY_TOTALS)[number]>;

export const LOT_TOTALS = ['entryId', 'accountId', 'source', 'expiresAt', 'remaining'] as const;

export type MoneyRow = Row<'MoneyHour'>;

export type SpentRow = Row<'SpenderHour'>;
/** In the order of the primary key. */
export type SpentPosition = Pick<SpentRow, 'accountId' | 'hour' | 'spenderId' | 'keyId' | 'model'>;

export type MoneyPosition = Pick<MoneyRow, 'accountId' | 'hour' | 'side'>;

export type LotTotals = Pick<Row<'CreditLot'>, (typeof LOT_TOTALS)[number]>;

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
