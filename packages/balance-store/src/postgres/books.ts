/** Reads books in one snapshot. */

import type { Pool } from 'pg';
import type { BookPage, BookQuery, SideSum, Unopened } from '../books.js';
import {
  entrySums,
  hoursOf,
  readBookPage,
  sideSums,
  unopenedAccounts,
  valuesOf,
} from '../ledger/queries/monthly-books.js';
import type { EntrySum } from '../ledger/queries/monthly-books.js';
import { unitsFromNumeric } from '../numeric.js';
import { inTransaction, numbered } from './query.js';
import { readSums } from './usage.js';

export function readBooks(pool: Pool, query: BookQuery): Promise<BookPage> {
  return inTransaction(pool, 'snapshot', (queries) =>
    readBookPage(query, {
      accounts: (after, limit) =>
        queries.rows(
          'SELECT id, name, external_id AS "externalId" FROM account WHERE id > $1 ' +
            'ORDER BY id LIMIT $2',
          [after, limit],
        ),
      async entries(range) {
        const sums = await queries.rows<Omit<EntrySum, 'amount'> & { readonly amount: string }>(
          numbered(entrySums(range, 'sum(delta)')),
          [query.from, query.until, ...valuesOf(range)],
        );
        return sums.map((sum) => ({ ...sum, amount: unitsFromNumeric(sum.amount) }));
      },
      async sides(range) {
        const sums = await queries.rows<Omit<SideSum, 'amount'> & { readonly amount: string }>(
          numbered(sideSums(range, 'sum(amount)')),
          [...hoursOf(query), ...valuesOf(range)],
        );
        return sums.map((sum) => ({ ...sum, amount: unitsFromNumeric(sum.amount) }));
      },
      unopened: (range) =>
        queries.rows<Unopened>(numbered(unopenedAccounts(range)), [
          query.until,
          query.from,
          ...valuesOf(range),
          ...valuesOf(range),
        ]),
      usage: (source, of) => readSums(queries, source, of),
    }),
  );
}
