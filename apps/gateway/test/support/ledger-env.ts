/** The variables of a test gateway that choose its ledger. */

import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';

/** @param ledger - `embedded`: in the gateway's own folder. Otherwise in a new database. */
export async function ledgerEnv(
  ledger: 'embedded' | 'PostgreSQL',
  postgres: Pick<PostgresServer, 'createDatabase'>,
): Promise<Readonly<Record<string, string>>> {
  if (ledger === 'embedded') return {};
  return {
    DATABASE_URL: await postgres.createDatabase(),
    ADMIN_TOKEN: 'admin-token-of-the-tests',
    KEY_PEPPER: 'pepper-of-the-tests',
  };
}
