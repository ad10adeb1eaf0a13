/** Reads books in one snapshot. */

import type { BookPage, BookQuery } from '../../books.js';
import { entrySums, readBookPage } from '../../ledger/queries/monthly-books.js';
import type { EntrySum } from '../../ledger/queries/monthly-books.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { sumUsd } from './sums.js';
import { readSums } from './usage.js';

interface EntryRow extends Omit<EntrySum, 'amount' | 'isBefore'> {
  readonly isBefore: number;
  readonly amount: string;
}

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
            .all<EntryRow>(
              entrySums(range, sumUsd('delta')),
              from.getTime(),
              until.getTime(),
              ...(range === undefined ? [] : [range.after, range.last]),
            )
            .map((row) => ({
              ...row,
              isBefore: row.isBefore === 1,
              amount: unitsOf(row.amount),
            })),
        ),
      usage: (source, of) => Promise.resolve(readSums(connection, source, of)),
    }),
  );
}
