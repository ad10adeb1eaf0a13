/** Reads what books consist of: sums of entries and of usage, before and within a range of time. */

import type { BookPage, BookQuery, BookSum, SideSum, Unopened } from '../../books.js';
import { HOUR_MS } from '../base/hours.js';
import { usageSumsOf } from './stored-usage.js';
import type { StoredSum } from './stored-usage.js';
import { usageSourceOf } from './usage-source.js';
import type { AccountRange, SourceQuery, UsageSource } from './usage-source.js';

/** Reads of one database. All see the same state of the ledger. */
export interface BookReads {
  /** Accounts in the order of their ids: those whose id is greater than `after`. */
  accounts(after: string, limit: number): Promise<BookPage['accounts']>;
  /** The rows that {@link entrySums} selects. */
  entries(range: AccountRange | undefined): Promise<readonly EntrySum[]>;
  /** The rows that {@link sideSums} selects. */
  sides(range: AccountRange | undefined): Promise<readonly SideSum[]>;
  /** The rows that {@link unopenedAccounts} selects. */
  unopened(range: AccountRange | undefined): Promise<readonly Unopened[]>;
  usage(source: UsageSource, query: SourceQuery): Promise<readonly StoredSum[]>;
}

/** The sum of the entries that are not charges and are equal in everything else. */
export type EntrySum = Omit<BookSum, keyof typeof NO_CHARGES>;

const NO_CHARGES = { writtenOff: 0n, requests: 0, cost: 0n, costed: 0 } as const;

/**
 * Selects sums of entries, of each account in a range or of the whole ledger.
 *
 * @param sum - SQL that sums the column `delta`.
 */
export function entrySums(range: AccountRange | undefined, sum: string): string {
  const { accountId, accounts } = ofAccounts(range);
  return (
    `SELECT "accountId", "isBefore", kind, source, reason, CAST(${sum} AS TEXT) AS amount FROM ` +
    `(SELECT ${accountId} AS "accountId", created_at < ? AS "isBefore", kind, source, reason, ` +
    `delta FROM ledger WHERE kind <> 'charge' AND created_at < ? ${accounts}) entries ` +
    'GROUP BY "accountId", "isBefore", kind, source, reason'
  );
}

/** The values of {@link sideSums}: whole hours since 1970-01-01. */
export function hoursOf({ from, until }: Pick<BookQuery, 'from' | 'until'>): [number, number] {
  return [Math.floor(from.getTime() / HOUR_MS), Math.floor(until.getTime() / HOUR_MS)];
}

/**
 * Selects what moved between the sides of the books.
 *
 * @param sum - SQL that sums the column `amount`.
 */
export function sideSums(range: AccountRange | undefined, sum: string): string {
  const { accountId, accounts } = ofAccounts(range);
  return (
    `SELECT "accountId", "isBefore", side, CAST(${sum} AS TEXT) AS amount FROM ` +
    `(SELECT ${accountId} AS "accountId", hour < ? AS "isBefore", side, amount ` +
    `FROM money_hour WHERE hour < ? ${accounts}) sides ` +
    'GROUP BY "accountId", "isBefore", side ORDER BY "accountId", "isBefore", side'
  );
}

/** Selects the accounts whose sides are known only from `from` on, or later: see `Unopened`. */
export function unopenedAccounts(range: AccountRange | undefined): string {
  const of = (id: string) => (range === undefined ? '' : `AND ${id} > ? AND ${id} <= ?`);
  return (
    `SELECT ${range === undefined ? "''" : '"ofAccount"'} AS "accountId", ` +
    'max("isLater") = 1 AS "isAtEnd" FROM (' +
    'SELECT account_id AS "ofAccount", CASE WHEN created_at >= ? THEN 1 ELSE 0 END AS "isLater" ' +
    `FROM ledger WHERE kind <> 'charge' AND reason = 'opening' AND created_at >= ? ` +
    `${of('account_id')} UNION ALL ` +
    `SELECT id, 1 FROM account WHERE NOT opened AND seq > 0 ${of('id')}` +
    ') unopened GROUP BY 1'
  );
}

export function valuesOf(range: AccountRange | undefined): readonly string[] {
  return range === undefined ? [] : [range.after, range.last];
}

function ofAccounts(range: AccountRange | undefined) {
  return range === undefined
    ? { accountId: "''", accounts: '' }
    : { accountId: 'account_id', accounts: 'AND account_id > ? AND account_id <= ? ' };
}

export async function readBookPage(
  { after = '', limit, from, until }: BookQuery,
  read: BookReads,
): Promise<BookPage> {
  // One more than the page has, to know whether there is a next page.
  const found = await read.accounts(after, limit + 1);
  const accounts = found.slice(0, limit);
  const last = accounts.at(-1)?.id;
  const range = last === undefined ? undefined : { after, last };
  const sumsOf = async (range: AccountRange | undefined): Promise<readonly BookSum[]> => {
    const charges: BookSum[] = [];
    for (const isBefore of [true, false]) {
      const query: SourceQuery = {
        by: range === undefined ? [] : ['account'],
        ...(isBefore ? { from: new Date(0), until: from } : { from, until }),
        accounts: range,
      };
      for (const sum of usageSumsOf(await read.usage(usageSourceOf(query), query), query)) {
        const { accountId = '', listPrice, writtenOff, requests, cost, costed } = sum;
        const of = { accountId, isBefore, kind: 'charge', source: null, reason: null } as const;
        const amount = writtenOff - listPrice;
        charges.push({ ...of, amount, writtenOff, requests, cost, costed });
      }
    }
    const entries = (await read.entries(range)).map((sum) => ({ ...sum, ...NO_CHARGES }));
    return [...entries, ...charges];
  };
  return {
    accounts,
    sums: range === undefined ? [] : await sumsOf(range),
    totals: await sumsOf(undefined),
    sides: range === undefined ? [] : await read.sides(range),
    sideTotals: await read.sides(undefined),
    unopened: range === undefined ? [] : await read.unopened(range),
    unopenedTotal: (await read.unopened(undefined))[0],
    ...(found.length > limit && last !== undefined ? { next: last } : {}),
  };
}
