/** Reads budgets, and the sums of spenders, for an audit. */

import type { Pool } from 'pg';
import type { AuditSource, AuditedAccounts } from '../../ledger/audit/audit-source.js';
import { inTransaction } from '../query.js';
import type { TransactionQueries } from '../query.js';
import { rowsIn } from '../spenders.js';

export function spendingReaders(
  pool: Pool,
): Pick<AuditSource, 'spentAfter' | 'spender' | 'spendersAfter'> {
  return {
    spentAfter: ({ accountId, hour, spenderId, keyId, model }, until, limit) =>
      inTransaction(pool, 'snapshot', (queries) =>
        rowsIn(
          queries,
          'SpenderHour',
          `WHERE (${SPENT_ORDER}) > (?, ?, ?, ?, ?) AND account_id <= ? AND hour < ? ` +
            `ORDER BY ${SPENT_ORDER} LIMIT ?`,
          [accountId, hour, spenderId, keyId, model, until.lastAccountId, until.hour, limit],
        ),
      ),

    spender: (id) =>
      inTransaction(
        pool,
        'snapshot',
        async (queries) => (await rowsIn(queries, 'Spender', 'WHERE id = ?', [id]))[0],
      ),

    spendersAfter: (id, limit) =>
      inTransaction(pool, 'snapshot', async (queries) => {
        const tail = 'WHERE id > ? ORDER BY spender.id LIMIT ?';
        const found = await rowsIn(queries, 'Spender', tail, [id, limit]);
        const salts = await queries.rows<{ id: string; salt: string }>(
          'SELECT id, label_salt AS salt FROM account WHERE id = ANY ($1)',
          [[...new Set(found.map(({ accountId }) => accountId))]],
        );
        const saltOf = new Map(salts.map((row) => [row.id, row.salt]));
        return found.map((row) => ({ ...row, labelSalt: saltOf.get(row.accountId) ?? '' }));
      }),
  };
}

const SPENT_ORDER =
  'spender_hour.account_id, spender_hour.hour, spender_hour.spender_id, spender_hour.key_id, ' +
  'spender_hour.model';

/** Budgets, their uses and the open hours of spenders, of a page of accounts. */
export async function readSpending(
  queries: TransactionQueries,
  {
    accountId,
    last,
    fromHour,
  }: { readonly accountId: string; readonly last: string; readonly fromHour: number },
): Promise<Pick<AuditedAccounts, 'budgets' | 'uses' | 'spent'>> {
  const within = 'WHERE account_id > ? AND account_id <= ?';
  return {
    budgets: await rowsIn(queries, 'Budget', within, [accountId, last]),
    uses: await rowsIn(queries, 'BudgetUse', within, [accountId, last]),
    spent: await rowsIn(queries, 'SpenderHour', `${within} AND hour >= ? ORDER BY ${SPENT_ORDER}`, [
      accountId,
      last,
      fromHour,
    ]),
  };
}
