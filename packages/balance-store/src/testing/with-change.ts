/** Changes rows past the store, and restores them. */

import type { StoreUnderTest } from './subject.js';

/** Runs `check` while these tables have rows that the statements changed. */
export async function withChange(
  { tamper, columnsOf }: Pick<StoreUnderTest, 'tamper' | 'columnsOf'>,
  { tables, sql }: { readonly tables: readonly string[]; readonly sql: string },
  check: () => Promise<void>,
): Promise<void> {
  await tamper(tables.map((one) => `CREATE TABLE kept_${one} AS SELECT * FROM ${one}`).join(';'));
  // Keys refer to accounts, whose rows are never deleted.
  const columns = (await columnsOf('account')).filter((name) => name !== 'id').join(', ');
  const restored = (table: string) =>
    table === 'account'
      ? `UPDATE account SET (${columns}) = ` +
        `(SELECT ${columns} FROM kept_account WHERE kept_account.id = account.id)`
      : `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM kept_${table}`;
  try {
    await tamper(sql, 'disabled');
    await check();
  } finally {
    const restore = tables.map((one) => `${restored(one)}; DROP TABLE kept_${one}`);
    await tamper(restore.join(';'), 'disabled');
  }
}
