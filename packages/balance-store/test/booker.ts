/**
 * Books the allowance of each account that it is given, or closes it. With `STAY`, it then waits to
 * be killed.
 *
 * Arguments: `allowance` or `closing`; `embedded` and a directory, or `postgres` and a connection
 * string; then the ids of the accounts. Prints each id before it is booked and after.
 */

import { openEmbeddedStore } from '../src/embedded/index.js';
import { openPostgresStore } from '../src/postgres/index.js';
import { closeAny } from '../src/testing/index.js';

const [work, kind = '', place = '', ...accountIds] = process.argv.slice(2);
const pepper = 'pepper of the tests';
const store =
  kind === 'embedded'
    ? await openEmbeddedStore({ dataDir: place, pepper })
    : await openPostgresStore({ connectionString: place, pepper });

for (const accountId of accountIds) {
  process.stdout.write(`begins ${accountId}\n`);
  if (work === 'closing') await closeAny(store, accountId);
  else await store.bookDue(accountId);
  process.stdout.write(`booked ${accountId}\n`);
}
if (process.env['STAY'] === undefined) await store.close();
else setInterval(() => undefined, 60_000);
