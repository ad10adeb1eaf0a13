/** Reads what books consist of: sums of entries and of usage, before and within a range of time. */

import type { BookPage, BookQuery, BookSum } from '../../books.js';
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
  const accountId = range === undefined ? "''" : 'account_id';
  const accounts = range === undefined ? '' : 'AND account_id > ? AND account_id <= ? ';
  return (
    `SELECT "accountId", "isBefore", kind, source, reason, CAST(${sum} AS TEXT) AS amount FROM ` +
    `(SELECT ${accountId} AS "accountId", created_at < ? AS "isBefore", kind, source, reason, ` +
    `delta FROM ledger WHERE kind <> 'charge' AND created_at < ? ${accounts}) entries ` +
    'GROUP BY "accountId", "isBefore", kind, source, reason'
  );
}

export async function readBookPage(
  { after = '', limit, from, until }: BookQuery,
  read: BookReads,
): Promise<BookPage> {
  // One more than the page has, to know whether there is a next page.
  const found = await read.accounts(after, limit + 1);
  const accounts = found.slice(0, limit);
  const last = accounts.at(-1)?.id;
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
    sums: last === undefined ? [] : await sumsOf({ after, last }),
    totals: await sumsOf(undefined),
    ...(found.length > limit && last !== undefined ? { next: last } : {}),
  };
}
