/**
 * A process that settles charges until it is killed, and prints the acknowledged ones.
 *
 * Arguments: connection string, name of the writer, number of settlements in flight. One id in four
 * comes from a sequence that all writers share, so that several writers settle it at once. The
 * contents of a charge are computed from its id. One charge in five has a hold first.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { chargeOfId, settlementOfId } from './store-charges.mjs';

const [connectionString, name, inFlight] = process.argv.slice(2);
const DEADLINE = { deadlineMs: 120_000 };
/**
 * Shared ids are made from the clock, so that all writers make the same ones: `IDS_PER_TICK` ids in
 * each tick of `TICK_MS`.
 */
const TICK_MS = 20;
const IDS_PER_TICK = 6;
const FAR = new Date('2200-01-01');

const store = await whenReachable(() =>
  openPostgresStore({ connectionString, pepper: 'torture', holdLifetimeMs: 3_000 }),
);
const keys = await whenReachable(() => store.listKeys({ limit: 100 }));
const keyIds = keys.map(({ id }) => id).sort();
let own = 0;

/** The database may crash at any moment, so also while a writer starts. */
async function whenReachable(ask) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (error.name !== 'StoreUnavailableError') throw error;
      await sleep(50);
    }
  }
}

function nextId() {
  own += 1;
  if (own % 4 !== 0) return `${name}-${own}`;
  const tick = Math.floor(Date.now() / TICK_MS);
  return `common-${tick}-${Math.floor(Math.random() * IDS_PER_TICK)}`;
}

async function settleForEver() {
  for (;;) {
    const id = nextId();
    const charge = settlementOfId(id, keyIds);
    if (own % 5 === 0) await hold(charge);
    const { outcome } = await store.settle(charge, DEADLINE);
    if (outcome !== 'settled' && outcome !== 'replayed') throw new Error(`${id}: ${outcome}`);
    process.stdout.write(`${id} ${chargeOfId(id)} ${outcome};\n`);
  }
}

async function hold({ requestId, keyId, amount }) {
  try {
    await store.placeHold({ requestId, keyId, amount });
  } catch (error) {
    if (error.name !== 'StoreUnavailableError') throw error;
  }
}

async function sealForEver() {
  for (;;) {
    await sleep(500);
    await store.sealEntries().catch((error) => {
      if (error.name !== 'StoreUnavailableError') throw error;
    });
  }
}

/** Rolls up the sums of the current hour too, so that all its later charges come late. */
async function rollUpForEver() {
  for (;;) {
    await sleep(500);
    await store.rollUpUsage({ before: FAR }).catch((error) => {
      if (error.name !== 'StoreUnavailableError') throw error;
    });
  }
}

await Promise.all([
  sealForEver(),
  rollUpForEver(),
  ...Array.from({ length: Number(inFlight) }, settleForEver),
]);
