/**
 * Archives charges, and kills itself with SIGKILL at a point of the work.
 *
 * Arguments: `embedded` and a directory, or `postgres` and a connection string; the day; the file;
 * and optionally the stage to end in and how much of it must be done by then.
 */

import { openEmbeddedStore } from '../src/embedded/index.js';
import { openPostgresStore } from '../src/postgres/index.js';

const [kind = '', place = '', day = '', file = '', stage, least = '0'] = process.argv.slice(2);
const PEPPER = 'pepper of the tests';

const store =
  kind === 'embedded'
    ? await openEmbeddedStore({ dataDir: place, pepper: PEPPER, access: 'guest', migrate: false })
    : await openPostgresStore({ connectionString: place, pepper: PEPPER, migrate: false });
try {
  const { deleted } = await store.archive({
    until: new Date(day),
    file,
    by: { name: 'archiver' },
    onProgress(progress) {
      if (progress.stage !== stage || progress.done < Number(least)) return;
      process.kill(process.pid, 'SIGKILL');
    },
  });
  process.stdout.write(`deleted ${String(deleted)}\n`);
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
} finally {
  await store.close();
}
