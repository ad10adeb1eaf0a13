/** Extends the hash chain with the SQL function `seal_ledger`. */

import type { Pool } from 'pg';
import type { SealHead } from '../audit.js';
import type { SealTable } from '../ledger/database/ledger-database.js';
import { pagesOf } from '../ledger/base/pages.js';
import { LONG_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';

const ACCOUNTS_PER_PAGE = 1_000;

export function createSealTable(pool: Pool): SealTable {
  return {
    head: () => reachingDatabase(() => readHead(pool)),
    accountIds: (which) => (which === 'all' ? allAccounts(pool) : changedAccounts(pool)),
    async sealBlock(accountIds, maxEntries) {
      const [row] = await reachingDatabase(() =>
        queryRows<{ sealed: number }>(pool, {
          text: 'SELECT seal_ledger($1, $2) AS sealed',
          values: [accountIds, maxEntries],
          timeoutMs: LONG_TIMEOUT_MS,
        }),
      );
      return row?.sealed ?? 0;
    },
  };
}

async function* allAccounts(pool: Pool): AsyncGenerator<readonly string[]> {
  for (let after = ''; ;) {
    const rows = await reachingDatabase(() =>
      queryRows<{ id: string }>(pool, {
        text: 'SELECT id FROM account WHERE id > $1 ORDER BY id LIMIT $2',
        values: [after, ACCOUNTS_PER_PAGE],
        timeoutMs: LONG_TIMEOUT_MS,
      }),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ id }) => id);
    after = last.id;
  }
}

async function* changedAccounts(pool: Pool): AsyncGenerator<readonly string[]> {
  const rows = await reachingDatabase(() =>
    queryRows<{ id: string }>(pool, {
      text:
        'SELECT DISTINCT account_id AS id FROM ledger WHERE created_at >= ' +
        "(SELECT max(sealed_at) FROM ledger_block) - interval '2 minutes'",
      timeoutMs: LONG_TIMEOUT_MS,
    }),
  );
  yield* pagesOf(
    rows.map(({ id }) => id),
    ACCOUNTS_PER_PAGE,
  );
}

export async function readHead(pool: Pool): Promise<SealHead | undefined> {
  const [row] = await queryRows<{ block: string; hash: string }>(pool, {
    text:
      "SELECT id::text AS block, encode(hash, 'hex') AS hash FROM ledger_block " +
      'ORDER BY ledger_block.id DESC LIMIT 1',
    timeoutMs: LONG_TIMEOUT_MS,
  });
  return row === undefined ? undefined : { block: BigInt(row.block), hash: row.hash };
}
