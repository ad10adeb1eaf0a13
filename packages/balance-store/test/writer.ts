/**
 * Settles charges until it is killed.
 *
 * Arguments: `embedded` and a directory, or `postgres` and a connection string; how many
 * settlements to have in flight. Prints the request id and amount of each charge once it is
 * acknowledged. One charge in nine is settled twice at once. Meanwhile the sums of usage are rolled
 * up.
 */

import { openEmbeddedStore } from '../src/embedded/index.js';
import { StoreUnavailableError } from '../src/index.js';
import { openPostgresStore } from '../src/postgres/index.js';
import { sampleLimits, settlement } from '../src/testing/index.js';

const [kind = '', place = '', inFlight = '1'] = process.argv.slice(2);
const PEPPER = 'pepper of the tests';

/** Retries, because the test restarts the database. */
async function whenReachable<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const store =
  kind === 'embedded'
    ? await openEmbeddedStore({ dataDir: place, pepper: PEPPER })
    : await whenReachable(() => openPostgresStore({ connectionString: place, pepper: PEPPER }));

const keyIds = (await whenReachable(() => store.listKeys({ limit: 20 }))).map(({ id }) => id);
while (keyIds.length < 20) {
  const key = { name: 'k', limits: sampleLimits, expiresAt: null };
  const { record } = await whenReachable(() => store.createKey(key));
  keyIds.push(record.id);
}

async function settleForEver(): Promise<never> {
  for (;;) {
    const keyId = keyIds[Math.floor(Math.random() * keyIds.length)] ?? '';
    const charge = settlement(keyId, {
      usage: { inputTokens: Math.floor(Math.random() * 10_000) },
    });
    const copies = Math.random() < 1 / 9 ? [charge, charge] : [charge];
    const outcomes = await Promise.all(
      copies.map((copy) => store.settle(copy, { deadlineMs: 60_000 })),
    );
    for (const { outcome } of outcomes) {
      if (outcome !== 'settled' && outcome !== 'replayed') throw new Error(outcome);
    }
    process.stdout.write(`${charge.requestId} ${charge.amount.toString()};\n`);
  }
}

// Rolls up the current hour, too, so that later charges are in an hour that was rolled up before.
async function rollUpForEver(): Promise<never> {
  for (;;) {
    await whenReachable(() => store.rollUpUsage({ before: new Date('2200-01-01') }));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

await Promise.all([rollUpForEver(), ...Array.from({ length: Number(inFlight) }, settleForEver)]);
