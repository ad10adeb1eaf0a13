/**
 * Settles charges on an embedded ledger until it has received a number of acknowledgements. It
 * records each acknowledgement as soon as it arrives.
 *
 * Arguments: the data directory, the file for acknowledgements, a prefix for the ids, the number of
 * charges, the number of settlements in flight. The contents of a charge are computed from its id.
 * One charge in five has a hold first, and the ledger is sealed now and then.
 */

import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedStore } from '../../packages/balance-store/dist/embedded/index.js';
import { StoreUnavailableError } from '../../packages/balance-store/dist/index.js';
import { createKey, settlementOfId } from '../store-charges.mjs';

const KEYS = 20;
const CHARGES_PER_SEAL = 3_000;
const DEADLINE = { deadlineMs: 120_000 };

const [dataDir, acksFile, name, charges, inFlight] = process.argv.slice(2);
const store = await openEmbeddedStore({ dataDir, pepper: 'torture' });
const keyIds = (await store.listKeys({ limit: KEYS })).map(({ id }) => id).sort();
while (keyIds.length < KEYS) keyIds.push(await createKey(store, 'torture'));
const acks = openSync(acksFile, 'a');
let begun = 0;

async function settleAll() {
  while (begun < Number(charges)) {
    begun += 1;
    const number = begun;
    const charge = settlementOfId(`${name}-${number}`, keyIds);
    const { requestId, keyId, amount } = charge;
    if (number % 5 === 0) await repeat(() => store.placeHold({ requestId, keyId, amount }));
    const { outcome } = await store.settle(charge, DEADLINE);
    if (outcome !== 'settled') throw new Error(`${requestId}: ${outcome}`);
    writeSync(acks, `${requestId}\n`);
    if (number % CHARGES_PER_SEAL === 0) await repeat(() => store.sealEntries());
  }
}

/** Repeats a call while the disk fails. `settle` does not need this, because it retries itself. */
async function repeat(act) {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      await sleep(1);
    }
  }
}

await Promise.all(Array.from({ length: Number(inFlight) }, settleAll));
await store.close();
