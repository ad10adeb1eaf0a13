/** Reads entries, sums, balances and documents. */

import type { EntryFilter, EntryPage } from '../../ledger-entry.js';
import type { BalanceStore } from '../../store.js';
import { assertHour, assertText, assertTime } from '../rules/argument-checks.js';
import { unspentOf } from '../books/lots.js';
import { cursorOf, positionOf } from '../queries/entry-cursor.js';
import type { LedgerDatabase } from '../database/ledger-database.js';

export function createReaders(
  database: LedgerDatabase,
): Pick<
  BalanceStore,
  | 'listQuarantined'
  | 'readUnspent'
  | 'readUsage'
  | 'readSpending'
  | 'spendingNamedSince'
  | 'readBooks'
  | 'readBalanceAt'
  | 'getDocument'
  | 'listDocuments'
  | 'listTrail'
  | 'findEntry'
  | 'findEntries'
  | 'listEntries'
> {
  return {
    async listQuarantined(filter) {
      assertTime('from', filter.from);
      assertTime('until', filter.until);
      return database.listQuarantined(filter);
    },
    async readUnspent(accountId) {
      const found = await database.accounts.readLots(accountId);
      return found === undefined ? undefined : unspentOf(found.account, found.lots, found.at);
    },
    async readUsage(query) {
      assertHour('from', query.from);
      assertHour('until', query.until);
      return database.readUsage(query);
    },
    async readSpending(query) {
      assertHour('from', query.from);
      assertHour('until', query.until);
      const { by, memberId, groupId, tag, run, metadata } = query;
      if (by.includes('metadata') && metadata === undefined) {
        throw new RangeError('metadata: must name what to sum by');
      }
      const texts = { memberId, groupId, tag, run, 'metadata.name': metadata?.name };
      for (const [name, text] of Object.entries(texts)) {
        assertText(name, text);
      }
      return database.readSpending(query);
    },
    spendingNamedSince: (accountId) => database.spendingNamedSince(accountId),
    async readBooks(query) {
      assertTime('from', query.from);
      assertTime('until', query.until);
      return database.readBooks(query);
    },
    async readBalanceAt(accountId, time) {
      assertTime('time', time);
      return database.accounts.readBalanceAt(accountId, time);
    },
    getDocument: (kind, id) => database.documents.get(kind, id),
    listDocuments: (filter) => database.documents.list(filter),
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
