/**
 * Settles charges until it is killed.
 *
 * Arguments: `embedded` and a directory, or `postgres` and a connection string; how many
 * settlements to have in flight. Prints the request id and amount of each charge once it is
 * acknowledged. One charge in nine is settled twice at once. Meanwhile the sums of usage are rolled
 * up, and credits are given, transferred, taken and given back.
 */

import { randomUUID } from 'node:crypto';
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

const keys = [...(await whenReachable(() => store.listKeys({ limit: 20 })))];
while (keys.length < 20) {
  const key = { name: 'k', limits: sampleLimits, expiresAt: null };
  const { record } = await whenReachable(() => store.createKey(key));
  keys.push(record);
}
const anyKey = () => keys[Math.floor(Math.random() * keys.length)]!;

async function settleForEver(): Promise<never> {
  for (;;) {
    const charge = settlement(anyKey().id, {
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

const FAR = new Date('2200-01-01');
const by = { name: 'writer' };

async function bookForEver(): Promise<never> {
  for (;;) {
    const [{ accountId }, { accountId: to }] = [anyKey(), anyKey()];
    const id = randomUUID();
    const given = { source: 'promotional', expiresAt: FAR, amount: 10n ** 12n, by } as const;
    const taken = { adjustmentId: id, accountId, amount: -(10n ** 11n), by } as const;
    const undone = { adjustmentId: `${id}r`, accountId, reverses: `adjustment:${id}`, by };
    await whenReachable(() => store.topUp({ ...given, topUpId: id, to: { accountId } }));
    if (to !== accountId) {
      const transfer = { transferId: id, from: accountId, to, amount: 10n ** 11n, by };
      await whenReachable(() => store.transfer(transfer));
    }
    await whenReachable(() => store.adjust({ ...taken, reason: 'correction' }));
    await whenReachable(() => store.reverse(undone));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

await Promise.all([
  rollUpForEver(),
  bookForEver(),
  ...Array.from({ length: Number(inFlight) }, settleForEver),
]);
