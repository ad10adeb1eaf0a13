/** The only implementation of {@link BalanceStore}, over any {@link LedgerDatabase}. */

import { types } from 'node:util';
import type { SealHead } from '../audit.js';
import type { EntryPage } from '../ledger-entry.js';
import { StoreUnavailableError } from '../store.js';
import type { BalanceStore } from '../store.js';
import { Committer } from './committer.js';
import { cursorOf, positionOf } from './entry-cursor.js';
import { createHoldKeeper } from './hold-keeper.js';
import { createKeyAdmin } from './key-admin.js';
import { createKeyFinder } from './key-finder.js';
import type { LedgerDatabase, SealTable } from './ledger-database.js';

export interface BalanceStoreOptions {
  readonly database: LedgerDatabase;
  readonly pepper: string;
  /** Batches of settlements in flight at once. */
  readonly lanes: number;
  readonly maxBatchRows?: number;
  readonly holdLifetimeMs?: number | undefined;
}

/** After settling has failed for this long, new requests are refused: they could not be charged. */
const SETTLE_GRACE_MS = 2_000;
const ENTRIES_PER_BLOCK = 1_000;

export function createBalanceStore(options: BalanceStoreOptions): BalanceStore {
  const { database, pepper, lanes, maxBatchRows, holdLifetimeMs } = options;
  const batches = { lanes, ...(maxBatchRows === undefined ? {} : { maxBatchRows }) };
  const committer = new Committer({ driver: database.settling, ...batches });
  const finder = createKeyFinder(database.keys, pepper, () => performance.now());
  const keyAdmin = createKeyAdmin({ keys: database.keys, pepper, onChange: finder.forget });
  const { close: closeHolds, ...holds } = createHoldKeeper(database.holds, holdLifetimeMs);
  let closing: Promise<void> | undefined;

  function assertSettling(): void {
    if (committer.failingForMs <= SETTLE_GRACE_MS) return;
    const { lastFault } = committer;
    const reason = types.isNativeError(lastFault) ? lastFault.message : String(lastFault);
    throw new StoreUnavailableError(
      `the ledger's database cannot record charges at the moment: ${reason}`,
      { cause: lastFault },
    );
  }

  return {
    ...keyAdmin,
    findKeyByCredential: finder.find,
    async readStanding(keyId) {
      assertSettling();
      return database.readStanding(keyId);
    },
    settle: (settlement, { deadlineMs }) =>
      committer.settle(settlement, { deadlineMs }).finally(() => {
        // The settlement is charged or given up, so its hold no longer needs renewal.
        holds.abandonHold(settlement.requestId);
      }),
    ...holds,
    async placeHold(hold) {
      assertSettling();
      return holds.placeHold(hold);
    },
    quarantine: (usage) => database.quarantine(usage),
    async topUp(topUp) {
      if (topUp.amount <= 0n) throw new RangeError('a top-up must be above zero');
      return database.topUp(topUp);
    },
    findEntry: (keyId, requestId) => database.entries.find(keyId, requestId),
    findEntries: (requestIds) => database.entries.findMany(requestIds),
    async listEntries({ cursor, ...filter }): Promise<EntryPage> {
      const { limit } = filter;
      const before = positionOf(cursor === undefined ? filter : { ...filter, cursor });
      // One entry more than the page holds, to know whether there is a next page.
      const found = await database.entries.list({ ...filter, limit: limit + 1 }, before);
      const entries = found.slice(0, limit);
      const last = entries.at(-1);
      if (found.length <= limit || last === undefined) return { entries };
      return { entries, next: cursorOf(filter, last) };
    },
    sealEntries: ({ all = false } = {}) => sealEntries(database.seals, all),
    summarize: () => database.summarize(),
    audit: (auditOptions = {}) => database.audit(auditOptions),
    ping: () => database.ping(),
    pendingSettlements: () => committer.pending,
    close() {
      closing ??= committer
        .close()
        .then(closeHolds)
        .then(() => database.close());
      return closing;
    },
  };
}

/**
 * Seals the entries that are not sealed yet.
 *
 * @param all - Looks at every key. Without it, only at keys with entries since two minutes before
 * the last block. That misses an entry whose transaction took longer than two minutes, until the
 * next call with `all`.
 */
async function sealEntries(seals: SealTable, all: boolean): Promise<SealHead | undefined> {
  const isEmpty = (await seals.head()) === undefined;
  for await (const keyIds of seals.keyIds(all || isEmpty ? 'all' : 'changed')) {
    let sealed;
    do sealed = await seals.sealBlock(keyIds, ENTRIES_PER_BLOCK);
    while (sealed === ENTRIES_PER_BLOCK);
  }
  return seals.head();
}
