/** Reads budgets, and the sums of spenders, for an audit. */

import { setImmediate } from 'node:timers/promises';
import type { AuditSource, AuditedAccounts } from '../../../ledger/audit/audit-source.js';
import type { Connection } from '../connection.js';
import { rowsOf } from '../spenders.js';

export function spendingReaders(
  connection: Connection,
): Pick<AuditSource, 'spentAfter' | 'spender' | 'spendersAfter'> {
  return {
    async spentAfter({ accountId, hour, spenderId, keyId, model }, until, limit) {
      await setImmediate();
      return rowsOf(
        connection,
        'SpenderHour',
        `WHERE (${SPENT_ORDER}) > (?, ?, ?, ?, ?) AND account_id <= ? AND hour < ? ` +
          `ORDER BY ${SPENT_ORDER} LIMIT ?`,
        [accountId, hour, spenderId, keyId, model, until.lastAccountId, until.hour, limit],
      );
    },

    spender(id) {
      return Promise.resolve(rowsOf(connection, 'Spender', 'WHERE id = ?', [id])[0]);
    },

    async spendersAfter(id, limit) {
      await setImmediate();
      const rows = rowsOf(connection, 'Spender', 'WHERE id > ? ORDER BY id LIMIT ?', [id, limit]);
      return rows.map((row) => ({ ...row, labelSalt: saltOf(connection, row.accountId) }));
    },
  };
}

const SPENT_ORDER = 'account_id, hour, spender_id, key_id, model';

function saltOf(connection: Connection, accountId: string): string {
  const row = connection.get<{ readonly salt: string }>(
    'SELECT label_salt AS salt FROM account WHERE id = ?',
    accountId,
  );
  return row?.salt ?? '';
}

/** Budgets, their uses and the open hours of spenders, of a page of accounts. */
export function readSpending(
  connection: Connection,
  {
    accountId,
    last,
    fromHour,
  }: { readonly accountId: string; readonly last: string; readonly fromHour: number },
): Pick<AuditedAccounts, 'budgets' | 'uses' | 'spent'> {
  const within = 'WHERE account_id > ? AND account_id <= ?';
  return {
    budgets: rowsOf(connection, 'Budget', within, [accountId, last]),
    uses: rowsOf(connection, 'BudgetUse', within, [accountId, last]),
    spent: rowsOf(connection, 'SpenderHour', `${within} AND hour >= ? ORDER BY ${SPENT_ORDER}`, [
      accountId,
      last,
      fromHour,
    ]),
  };
}
