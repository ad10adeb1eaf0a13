/** The only implementation of {@link BalanceStore}, over any {@link LedgerDatabase}. */

import type { SealHead } from '../audit.js';
import { pepperIdOf } from '../credential.js';
import type { EntryFilter, EntryPage } from '../ledger-entry.js';
import { archiveLedger } from './archive/archive-ledger.js';
import { compareArchive } from './archive/compare-archive.js';
import {
  assertActor,
  assertAmount,
  assertDocument,
  assertId,
  assertPositive,
  assertText,
  assertHour,
  assertTime,
} from './argument-checks.js';
import type { ExpiryProgress } from './books/bookings.js';
import { unspentOf } from './books/lots.js';
import type { BalanceStore, StoreUnavailableError } from '../store.js';
import { chargingFaultOf, createChargeWatch } from './charge-watch.js';
import { Committer } from './committer.js';
import { cursorOf, positionOf } from './entry-cursor.js';
import { createHoldKeeper } from './hold-keeper.js';
import { createAdministration } from './administration.js';
import { createKeyFinder } from './key-finder.js';
import type { LedgerDatabase, SealTable } from './ledger-database.js';
import { hashesOf } from './pepper.js';
import type { Peppers } from './pepper.js';
import { HOUR_MS } from './hours.js';

export interface BalanceStoreOptions {
  readonly database: LedgerDatabase;
  readonly peppers: Peppers;
  /** How many batches of settlements may be in flight at once. */
  readonly maxInFlight: number;
  readonly maxBatchRows?: number;
  readonly holdLifetimeMs?: number | undefined;
  /** Whether to check all the time that charges can be recorded, see `charging` of the store. */
  readonly watchCharging?: boolean | undefined;
}

/**
 * After settling has failed for this long, new requests are refused even if a probe succeeds,
 * because they could not be charged.
 */
const SETTLE_GRACE_MS = 2_000;
const ENTRIES_PER_BLOCK = 1_000;
const EVENTS_PER_PRUNING = 1_000;
/** Charges of an hour may still be on their way to the database when the hour ends. */
const ROLL_UP_DELAY_MS = 5 * 60_000;
/** A small number, because charges of the embedded ledger wait during each roll-up. */
const SUMS_PER_ROLL_UP = 500;

export function createBalanceStore(options: BalanceStoreOptions): BalanceStore {
  const { database, peppers, maxInFlight, maxBatchRows, holdLifetimeMs } = options;
  const pepperId = pepperIdOf(peppers.pepper);
  const watch = createChargeWatch(database.charging, {
    isPeriodic: options.watchCharging === true,
  });
  const committer = new Committer({
    driver: database.settling,
    maxInFlight,
    maxBatchRows,
    onFault: watch.suspect,
  });
  const finder = createKeyFinder({
    keys: database.keys,
    peppers,
    renew: (credential) =>
      database.book('renewHash', { ...hashesOf(credential, peppers), pepperId }),
    now: () => performance.now(),
  });
  const administration = createAdministration({
    database,
    pepper: peppers.pepper,
    onKeyChange: finder.forget,
    onEveryKeyChange: finder.forgetAll,
  });
  const {
    close: closeHolds,
    sweep: sweepHolds,
    ...holds
  } = createHoldKeeper(database.holds, holdLifetimeMs);
  let closing: Promise<void> | undefined;

  function chargingFault(): StoreUnavailableError | undefined {
    if (watch.fault !== undefined) return watch.fault;
    return committer.failingForMs <= SETTLE_GRACE_MS
      ? undefined
      : chargingFaultOf(committer.lastFault);
  }

  function assertSettling(): void {
    const fault = chargingFault();
    if (fault !== undefined) throw fault;
  }

  return {
    ...administration,
    findKeyByCredential: finder.find,
    recallKey: finder.recall,
    async readStanding(keyId) {
      assertSettling();
      return database.readStanding(keyId);
    },
    settle: (settlement, { deadlineMs }) =>
      committer.settle(settlement, { deadlineMs }).finally(() => {
        // The settlement was charged or given up, so its hold no longer needs renewal.
        holds.abandonHold(settlement.requestId);
      }),
    ...holds,
    async placeHold(hold) {
      assertSettling();
      return holds.placeHold(hold);
    },
    quarantine: (usage) => database.quarantine(usage),
    async listQuarantined(filter) {
      assertTime('from', filter.from);
      assertTime('until', filter.until);
      return database.listQuarantined(filter);
    },
    async topUp(topUp) {
      assertPositive('a top-up', topUp.amount);
      assertId('topUpId', topUp.topUpId);
      assertTime('expiresAt', topUp.expiresAt);
      assertText('reference', topUp.reference);
      assertText('note', topUp.note);
      assertActor(topUp.by);
      return database.book('topUp', topUp);
    },
    async adjust(adjustment) {
      if (adjustment.amount === 0n) throw new RangeError('an adjustment must not be zero');
      assertAmount('an adjustment', adjustment.amount);
      assertId('adjustmentId', adjustment.adjustmentId);
      assertText('reference', adjustment.reference);
      assertText('note', adjustment.note);
      assertActor(adjustment.by);
      return database.book('adjust', adjustment);
    },
    async transfer(transfer) {
      assertPositive('a transfer', transfer.amount);
      assertId('transferId', transfer.transferId);
      assertText('note', transfer.note);
      assertActor(transfer.by);
      if (transfer.from === transfer.to) {
        throw new RangeError('a transfer must be between two accounts');
      }
      return database.book('transfer', transfer);
    },
    async expire(options) {
      // A process that places no holds must also find the holds of a process that was killed.
      // Otherwise they would keep credits from expiring.
      await sweepHolds();
      return (
        (await forEachAccount((after) => database.book('expireCredits', after))) +
        (await forEachAccount((after) => database.book('announceExpiringKeys', after, options)))
      );
    },
    async readUnspent(accountId) {
      const found = await database.accounts.readLots(accountId);
      return found === undefined ? undefined : unspentOf(found.account, found.lots);
    },
    async readUsage(query) {
      assertHour('from', query.from);
      assertHour('until', query.until);
      return database.readUsage(query);
    },
    async readBooks(query) {
      assertTime('from', query.from);
      assertTime('until', query.until);
      return database.readBooks(query);
    },
    async readBalanceAt(accountId, time) {
      assertTime('time', time);
      return database.accounts.readBalanceAt(accountId, time);
    },
    async recordEvent(event) {
      if (event.id !== undefined) assertId('id', event.id);
      return database.book('recordEvent', event);
    },
    async writeDocument(write) {
      assertDocument(write);
      return database.book('writeDocument', write);
    },
    getDocument: (kind, id) => database.documents.get(kind, id),
    listDocuments: (filter) => database.documents.list(filter),
    listEvents: (filter) => database.events.list(filter),
    takeDueEvents: (takeOptions) => database.events.takeDue(takeOptions),
    finishEvent: (seq, result) =>
      database.events.finish(
        seq,
        result.outcome === 'delivered'
          ? { isDelivered: true, error: null, retryAt: null }
          : { isDelivered: false, error: result.error, retryAt: result.retryAt ?? null },
      ),
    pruneEvents: ({ finishedBefore, giveUpBefore = null }) =>
      database.events.prune({ finishedBefore, giveUpBefore, limit: EVENTS_PER_PRUNING }),
    listTrail: (filter) => database.listTrail(filter),
    findEntry: (keyId, id) => database.entries.find(keyId, id),
    findEntries: (requestIds) => database.entries.findMany(requestIds),
    async listEntries(filter): Promise<EntryPage> {
      const { limit } = filter;
      const before = positionOf(filter);
      // One entry more than the page holds, to know whether there is a next page.
      const found = await database.entries.list({ ...filter, limit: limit + 1 }, before);
      const entries = found.slice(0, limit);
      const archivedUntil = await archivedUntilOf(filter, database);
      const page = { entries, ...(archivedUntil === undefined ? {} : { archivedUntil }) };
      const last = entries.at(-1);
      if (found.length <= limit || last === undefined) return page;
      return { ...page, next: cursorOf(filter, last) };
    },
    async rollUpUsage({ before = new Date(Date.now() - ROLL_UP_DELAY_MS) } = {}) {
      assertTime('before', before);
      const hour = Math.floor(before.getTime() / HOUR_MS);
      for (let total = 0; ;) {
        const sums = await database.rollUpUsage(hour, SUMS_PER_ROLL_UP);
        total += sums;
        if (sums < SUMS_PER_ROLL_UP) return total;
      }
    },
    sealEntries: ({ all = false } = {}) => sealEntries(database.seals, all),
    async archive(archiveOptions) {
      assertTime('until', archiveOptions.until);
      assertActor(archiveOptions.by);
      return archiveLedger(database, () => sealEntries(database.seals, true), archiveOptions);
    },
    listArchives: () => database.archives.source.archives(),
    compareArchive: (file, onProgress) =>
      compareArchive(database.archives.source, file, onProgress),
    summarize: () => database.summarize(pepperId),
    audit: (auditOptions = {}) => database.audit(auditOptions),
    ping: () => database.ping(),
    charging: () => ({ fault: chargingFault(), clockSkewMs: watch.clockSkewMs }),
    probeCharging: () => database.charging.probe(),
    pendingSettlements: () => committer.pending,
    close() {
      closing ??= committer
        .close()
        .then(watch.stop)
        .then(closeHolds)
        .then(() => database.close());
      return closing;
    },
  };
}

/** The end of the last archive, if the page asks for charges before it. */
async function archivedUntilOf(
  { kind = 'charge', withoutCharges = false, from }: EntryFilter,
  { archives }: LedgerDatabase,
): Promise<Date | undefined> {
  if (kind !== 'charge' || withoutCharges) return undefined;
  const until = (await archives.source.archives()).at(-1)?.until;
  return until === undefined || (from !== undefined && from >= until) ? undefined : until;
}

/** @returns the total of `done` over all calls */
async function forEachAccount(work: (after: string) => Promise<ExpiryProgress>): Promise<number> {
  let done = 0;
  for (let after: string | undefined = ''; after !== undefined;) {
    const progress = await work(after);
    done += progress.done;
    after = progress.last;
  }
  return done;
}

/**
 * Seals the entries that are not sealed yet.
 *
 * @param all - Reads every account. If false, reads only the accounts with entries since two
 * minutes before the last block. An entry whose transaction took longer than two minutes is then
 * sealed when its account has a later entry, or by a call with `all`.
 */
async function sealEntries(seals: SealTable, all: boolean): Promise<SealHead | undefined> {
  const isEmpty = (await seals.head()) === undefined;
  for await (const accountIds of seals.accountIds(all || isEmpty ? 'all' : 'changed')) {
    let sealed;
    do sealed = await seals.sealBlock(accountIds, ENTRIES_PER_BLOCK);
    while (sealed === ENTRIES_PER_BLOCK);
  }
  return seals.head();
}
