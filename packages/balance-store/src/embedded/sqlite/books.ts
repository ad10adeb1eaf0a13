/** Reads books in one snapshot. */

import type { BookPage, BookQuery, SideSum, Unopened } from '../../books.js';
import {
  entrySums,
  hoursOf,
  readBookPage,
  sideSums,
  unopenedAccounts,
  valuesOf,
} from '../../ledger/queries/monthly-books.js';
import type { EntrySum } from '../../ledger/queries/monthly-books.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { sumUsd } from './sums.js';
import { readSums } from './usage.js';

type Stored<Sum> = Omit<Sum, 'amount' | 'isBefore'> & {
  readonly isBefore: number;
  readonly amount: string;
};

export function readBooks(connection: Connection, query: BookQuery): Promise<BookPage> {
  const { from, until } = query;
  // Nothing else runs on this connection until the page is read, because its reads do not wait.
  return connection.readAsync(() =>
    readBookPage(query, {
      accounts: (after, limit) =>
        Promise.resolve(
          connection.all<BookPage['accounts'][number]>(
            'SELECT id, name, external_id AS externalId FROM account WHERE id > ? ' +
              'ORDER BY id LIMIT ?',
            after,
            limit,
          ),
        ),
      entries: (range) =>
        Promise.resolve(
          connection
            .all<Stored<EntrySum>>(
              entrySums(range, sumUsd('delta')),
              from.getTime(),
              until.getTime(),
              ...valuesOf(range),
            )
            .map(sumOf),
        ),
      sides: (range) =>
        Promise.resolve(
          connection
            .all<Stored<SideSum>>(
              sideSums(range, sumUsd('amount')),
              ...hoursOf(query),
              ...valuesOf(range),
            )
            .map(sumOf),
        ),
      unopened: (range) =>
        Promise.resolve(
          connection
            .all<Omit<Unopened, 'isAtEnd'> & { readonly isAtEnd: number }>(
              unopenedAccounts(range),
              until.getTime(),
              from.getTime(),
              ...valuesOf(range),
              ...valuesOf(range),
            )
            .map((row) => ({ ...row, isAtEnd: row.isAtEnd === 1 })),
        ),
      usage: (source, of) => Promise.resolve(readSums(connection, source, of)),
    }),
  );
}

function sumOf<Row extends { readonly isBefore: number; readonly amount: string }>(row: Row) {
  return { ...row, isBefore: row.isBefore === 1, amount: unitsOf(row.amount) };
}
