/** How PostgreSQL sorts and searches lists of accounts and keys. */

import type { Pool, QueryResultRow } from 'pg';
import { listQuery } from '../ledger/queries/list-query.js';
import type { ListPage, ListSource, Sort } from '../ledger/queries/list-query.js';
import type { Condition } from '../ledger/queries/search.js';
import { NEVER } from '../list-order.js';
import type { Metadata } from '../metadata.js';
import { numericFromUnits } from '../numeric.js';
import { READ_TIMEOUT_MS, numbered, queryRows, reachingDatabase } from './query.js';

/**
 * Sorts by the columns of the table. Each is named with its table, because a bare name in ORDER BY
 * would mean the selected column of that name, which is an amount as text.
 *
 * @param source.from - A table or view with these columns.
 */
export function sourceOf(source: Pick<ListSource, 'select' | 'from'>): ListSource {
  const column = (name: string): string => `${source.from}.${name}`;
  const byAmount = (name: string): Omit<Sort, 'direction'> => ({
    by: [column(name)],
    valuesAt: (units) => [numericFromUnits(units)],
  });
  return {
    ...source,
    id: column('id'),
    sorts: {
      spent: { ...byAmount('spent'), direction: 'DESC' },
      balance: { ...byAmount('balance'), direction: 'ASC' },
      last_charged: {
        by: [`COALESCE(${column('last_charged_at')}, '-infinity')`],
        direction: 'DESC',
        valuesAt: (ms) => [ms === NEVER ? '-infinity' : new Date(Number(ms)).toISOString()],
      },
    },
  };
}

/** One condition for each pair of the metadata. */
export function metadataConditions(metadata: Metadata = {}): readonly Condition[] {
  return Object.entries(metadata).map(([name, value]) => [
    'metadata @> ?::jsonb',
    JSON.stringify({ [name]: value }),
  ]);
}

export function readList<Row extends QueryResultRow>(
  pool: Pool,
  source: ListSource,
  page: ListPage,
  conditions: readonly Condition[],
): Promise<readonly Row[]> {
  const { text, values } = listQuery(source, page, conditions);
  return reachingDatabase(() =>
    queryRows<Row>(pool, { text: numbered(text), values, timeoutMs: READ_TIMEOUT_MS }),
  );
}
