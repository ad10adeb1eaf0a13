/** The only implementation of {@link BalanceStore}, over any {@link LedgerDatabase}. */

import { pepperIdOf } from '../../credential.js';
import type { BalanceStore } from '../../store.js';
import { createAdministration, createIds } from './administration.js';
import { createBookingTurns } from './booking-turns.js';
import { createChargeWatch } from '../charging/charge-watch.js';
import type { ChargeWatch } from '../charging/charge-watch.js';
import { Committer } from '../charging/committer.js';
import { createHoldKeeper } from './hold-keeper.js';
import { createKeyFinder } from './key-finder.js';
import type { LedgerDatabase } from '../database/ledger-database.js';
import { hashesOf } from '../rules/pepper.js';
import type { Peppers } from '../rules/pepper.js';
import { createClosedMonths } from './closed-months.js';
import { createBookings } from './bookings.js';
import { createReaders } from './reading.js';
import { createRequestRecord } from './requests.js';
import { createSpenders } from './spenders.js';
import { createUpkeep } from './upkeep.js';

export interface BalanceStoreOptions {
  readonly database: LedgerDatabase;
  readonly peppers: Peppers;
  /** How many batches of settlements may be in flight at once. */
  readonly maxInFlight: number;
  readonly maxBatchRows?: number;
  readonly holdLifetimeMs?: number | undefined;
  /** Whether to check all the time that charges can be recorded, see `charging` of the store. */
  readonly serving?: boolean | undefined;
}

export function createBalanceStore(options: BalanceStoreOptions): BalanceStore {
  const { database, peppers, maxInFlight, maxBatchRows, holdLifetimeMs } = options;
  const pepperId = pepperIdOf(peppers.pepper);
  const committer = new Committer({
    driver: database.settling,
    maxInFlight,
    maxBatchRows,
    onFault: () => {
      watch.suspect();
    },
  });
  const watch: ChargeWatch = createChargeWatch(database.charging, {
    charges: committer,
    isPeriodic: options.serving === true,
  });
  const finder = createKeyFinder({
    keys: database.keys,
    peppers,
    renew: (credential) =>
      database.book('renewHash', { ...hashesOf(credential, peppers), pepperId }),
    now: () => performance.now(),
  });
  const { closeRequests, eraseRequests, ...record } = createRequestRecord(database.requests);
  const bookFor = createBookingTurns(database.book);
  const newId = createIds(Date.now);
  const administration = createAdministration({
    database,
    bookFor,
    eraseRequests,
    pepper: peppers.pepper,
    newId,
    onKeyChange: finder.forget,
    onEveryKeyChange: finder.forgetAll,
  });
  const {
    close: closeHolds,
    sweep: sweepHolds,
    ...holds
  } = createHoldKeeper(database.holds, holdLifetimeMs);
  let closing: Promise<void> | undefined;

  function assertSettling(): void {
    const { fault } = watch;
    if (fault !== undefined) throw fault;
  }

  return {
    ...administration,
    ...createBookings(bookFor, { sweepHolds, forgetKeysOf: finder.forget }),
    ...createReaders(database),
    ...createSpenders({ database, bookFor, newId, onEveryKeyChange: finder.forgetAll }),
    ...createUpkeep(database),
    ...createClosedMonths(database, bookFor),
    ...record,
    findKeyByCredential: finder.find,
    recallKey: finder.recall,
    async readStanding(keyId) {
      assertSettling();
      return database.readStanding(keyId);
    },
    settle: (settlement, options) =>
      committer.settle(settlement, options).finally(() => {
        // The settlement was charged or given up, so its hold no longer needs renewal.
        holds.abandonHold(settlement.requestId);
      }),
    settleTogether: (settlements, options) =>
      committer.settleTogether(settlements, options).finally(() => {
        for (const { requestId } of settlements) holds.abandonHold(requestId);
      }),
    ...holds,
    async placeHold(hold) {
      assertSettling();
      return holds.placeHold(hold);
    },
    quarantine: (usage) => database.quarantine(usage),
    summarize: () => database.summarize(pepperId),
    ping: () => database.ping(),
    charging: () => ({ fault: watch.fault, clockSkewMs: watch.clockSkewMs }),
    probeCharging: () => database.charging.probe(),
    pendingSettlements: () => committer.pending,
    close() {
      closing ??= committer
        .close()
        .then(watch.stop)
        .then(closeHolds)
        .then(closeRequests)
        .then(() => database.close());
      return closing;
    },
  };
}
