/** What operators and timers run: delivery of events, roll-ups, seals, archives and audits. */

import type { SealHead } from '../../audit.js';
import type { BalanceStore } from '../../store.js';
import { archiveLedger } from './archive-ledger.js';
import { assertActor, assertTime } from '../rules/argument-checks.js';
import { HOUR_MS } from '../base/hours.js';
import { TRAIL } from '../seals/hashes.js';
import type { LedgerDatabase, SealTable } from '../database/ledger-database.js';

/** Charges of the embedded ledger wait while a block is sealed, some 10 ms. */
const ENTRIES_PER_BLOCK = 250;
const EVENTS_PER_PRUNING = 1_000;
/** Charges of an hour may still be on their way to the database when the hour ends. */
const ROLL_UP_DELAY_MS = 5 * 60_000;
/** A small number, because charges of the embedded ledger wait during each roll-up. */
const SUMS_PER_ROLL_UP = 500;

export function createUpkeep(
  database: LedgerDatabase,
): Pick<
  BalanceStore,
  | 'listEvents'
  | 'takeDueEvents'
  | 'finishEvent'
  | 'pruneEvents'
  | 'rollUpUsage'
  | 'sealEntries'
  | 'archive'
  | 'listArchives'
  | 'compareArchive'
  | 'audit'
> {
  return {
    listEvents: (filter) => database.events.list(filter),
    takeDueEvents: (takeOptions) => database.events.takeDue(takeOptions),
    finishEvent: (channel, seq, result) =>
      database.events.finish(
        channel,
        seq,
        result.outcome === 'delivered'
          ? { isDelivered: true, error: null, retryAt: null }
          : { isDelivered: false, error: result.error, retryAt: result.retryAt ?? null },
      ),
    pruneEvents: ({ finishedBefore, giveUp }) =>
      database.events.prune({ finishedBefore, giveUp, limit: EVENTS_PER_PRUNING }),
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
    compareArchive: (file, onProgress) => database.background.compareArchive(file, onProgress),
    audit: (auditOptions = {}) => database.background.audit(auditOptions),
  };
}

/**
 * Seals the entries that are not sealed yet.
 *
 * @param all - Reads every account. If false, reads only the accounts with entries since two
 * minutes before the last block. An entry whose transaction took longer than two minutes is then
 * sealed when its account has a later entry, or by a call with `all`.
 */
export async function sealEntries(seals: SealTable, all: boolean): Promise<SealHead | undefined> {
  const isEmpty = (await seals.head()) === undefined;
  // One block covers the first accounts and the trail.
  let others = [TRAIL];
  for await (const accountIds of seals.accountIds(all || isEmpty ? 'all' : 'changed')) {
    await sealEntriesOf(seals, [...accountIds, ...others]);
    others = [];
  }
  await sealEntriesOf(seals, others);
  return seals.head();
}

async function sealEntriesOf(seals: SealTable, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length === 0) return;
  let sealed;
  do sealed = await seals.sealBlock(accountIds, ENTRIES_PER_BLOCK);
  while (sealed === ENTRIES_PER_BLOCK);
}
