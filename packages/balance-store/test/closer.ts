/**
 * Closes a month and issues a statement to each account. A test starts several and kills some.
 * Arguments: kind and place of the ledger, month, its ends, accounts.
 */

import { openEmbeddedStore } from '../src/embedded/index.js';
import { openPostgresStore } from '../src/postgres/index.js';

const [kind, place = '', month = '', from = '', until = '', ...accountIds] = process.argv.slice(2);
const pepper = 'pepper of the tests';
const by = { name: `closer ${String(process.pid)}` };

async function close(): Promise<void> {
  const store = await (kind === 'embedded'
    ? openEmbeddedStore({ dataDir: place, pepper })
    : openPostgresStore({ connectionString: place, pepper }));
  const range = { from: new Date(from), until: new Date(until) };
  const { outcome } = await store.closeMonth({ month, ...range, zone: 'UTC', by });
  process.stdout.write(`${outcome}\n`);
  for (const accountId of accountIds) {
    const statement = { issuer: 'Shop', kind: 'statement', month, accountId } as const;
    const issued = await store.issueStatement({ ...statement, contents: '{}', by });
    process.stdout.write(`${String(issued?.number)}\n`);
  }
  await store.close();
}

void close();
