/**
 * Records requests until it is killed.
 *
 * Arguments: `embedded` and a directory, or `postgres` and a connection string; whether it owns the
 * ledger or is a `guest`; a name for its requests; how many batches to record before it also asks
 * for sums. Prints a line for each batch that is recorded, and when it asks for sums.
 */

import { randomUUID } from 'node:crypto';
import { openEmbeddedStore } from '../src/embedded/index.js';
import { openPostgresStore } from '../src/postgres/index.js';
import { requestRecord } from '../src/testing/samples.js';

const [kind = '', place = '', role = '', name = '', quiet = '1'] = process.argv.slice(2);
const PEPPER = 'pepper of the tests';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Before midnight, so that there are two days. */
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS - 30 * MINUTE_MS;

const store =
  kind === 'embedded'
    ? await openEmbeddedStore({
        dataDir: place,
        pepper: PEPPER,
        access: role === 'guest' ? 'guest' : 'owner',
      })
    : await openPostgresStore({ connectionString: place, pepper: PEPPER });

let batches = 0;
async function record(): Promise<void> {
  const request = (index: number) =>
    requestRecord({
      id: `req_${name}_${String(batches)}_${String(index)}`,
      endedAt: START + batches * MINUTE_MS + index,
      keyId: `key_${String(index % 5)}`,
      tag: `tag ${String((batches + index) % 7)}`,
      client: `program/${String(index % 3)}`,
      sessionId: randomUUID(),
      charge: BigInt(1_000_003 * batches + index),
    });
  await store.recordRequests({
    kept: Array.from({ length: 30 }, (_, index) => request(index)),
    counted: [100, 101].map((index) => ({ ...request(index), charge: 1n })),
  });
  batches += 1;
  process.stdout.write('recorded\n');
}

while (batches < Number(quiet)) await record();
for (;;) {
  process.stdout.write('asks\n');
  const from = new Date(Math.floor(START / DAY_MS) * DAY_MS);
  const days = { from, until: new Date(from.getTime() + 3 * DAY_MS) };
  await Promise.all([record(), store.sumRequests({ ...days, by: ['tag'], maxSums: 50 })]);
}
