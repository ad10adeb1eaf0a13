/**
 * The embedded ledger as a {@link LedgerDatabase}. Admission reads run in this thread, without a
 * round trip: from memory (see `standing-memory.ts`), or on a connection of their own in a few
 * microseconds each. Everything that writes runs in one thread, the lists and sums that clients and
 * operators read in another, and audits and everything else that reads the whole ledger in a third,
 * so that no page waits for them.
 */

import { createBackgroundWork } from '../ledger/database/background-work.js';
import { isValueError } from '../ledger/charging/committer.js';
import type { ArchiveSource, LedgerDatabase } from '../ledger/database/ledger-database.js';
import { pagesOf } from '../ledger/base/pages.js';
import type { BookResult } from '../ledger/books/index.js';
import type { UsageQuery } from '../usage.js';
import { takeArchiveLock } from './files/archive-lock.js';
import { checkCharging } from './charging.js';
import { keepLogSmall } from './files/keep-log-small.js';
import { readHere } from './read-here.js';
import { getAccount } from './sqlite/accounts.js';
import type { Connection } from './sqlite/connection.js';
import { findKey, getKey } from './sqlite/keys.js';
import type { StandingMemory } from './standing-memory.js';
import type { ReadOperations, RequestOperations, WriteOperations } from './threads/operations.js';
import type { LedgerThread } from '../ledger/threads/thread-client.js';

/**
 * If the disk hangs, settlements, holds and other writes fail after this time instead of waiting.
 */
const WRITE_TIMEOUT_MS = 10_000;
const READ_TIMEOUT_MS = 30_000;
/** The background thread has the lowest priority, and reads far more at once. */
const BACKGROUND_TIMEOUT_MS = 600_000;
const ACCOUNTS_PER_PAGE = 1_000;

export interface SqliteDatabaseParts {
  readonly dataDir: string;
  readonly file: string;
  readonly reader: Connection;
  readonly memory: StandingMemory;
  readonly writing: LedgerThread<WriteOperations>;
  readonly reading: LedgerThread<ReadOperations>;
  /** For work that reads the whole ledger. */
  readonly background: LedgerThread<ReadOperations>;
  /** For the record of requests. */
  readonly requests: LedgerThread<RequestOperations>;
  /** Called after everything else is closed. */
  readonly onClosed: () => void;
}

export function createSqliteDatabase(parts: SqliteDatabaseParts): LedgerDatabase {
  const { dataDir, reader, memory, writing, reading, background, requests, onClosed } = parts;
  const write = <Name extends keyof WriteOperations>(
    name: Name,
    ...args: Parameters<WriteOperations[Name]>
  ) => writing.call(name, args, WRITE_TIMEOUT_MS);
  const read = <Name extends keyof ReadOperations>(
    name: Name,
    ...args: Parameters<ReadOperations[Name]>
  ) => reading.call(name, args, READ_TIMEOUT_MS);

  return {
    accounts: {
      get: (accountId) => readHere(() => getAccount(reader, accountId)),
      list: (filter) => read('listAccounts', filter),
      readLots: (accountId) => read('readLots', accountId),
      readBalanceAt: (accountId, time) => read('readBalanceAt', accountId, time),
    },
    keys: {
      get: (keyId) => readHere(() => getKey(reader, keyId)),
      list: (filter, pepperId) => read('listKeys', filter, pepperId),
      find: (hashes) => readHere(() => findKey(reader, hashes)),
      version: memory.version,
    },
    holds: {
      place: (holds, lifetimeMs) => write('placeHolds', holds, lifetimeMs),
      renew: (requestIds, lifetimeMs) => write('renewHolds', requestIds, lifetimeMs),
      release: (requestIds) => write('releaseHolds', requestIds),
      list: (filter) => read('listHolds', filter),
      count: (state) => read('countHolds', state),
    },
    entries: createEntryTable(read),
    events: {
      list: (filter) => read('listEvents', filter),
      takeDue: (options) => write('takeDueEvents', options),
      finish: (channel, seq, result) => write('finishEvent', channel, seq, result),
      prune: (options) => write('pruneEvents', options),
    },
    documents: {
      get: (kind, id) => read('getDocument', kind, id),
      list: (filter) => read('listDocuments', filter),
    },
    spenders: createSpenderTable(read),
    seals: {
      head: () => read('readHead'),
      async *accountIds(which) {
        if (which === 'all') yield* allAccountIds(background);
        else yield* pagesOf(await read('changedAccountIds'), ACCOUNTS_PER_PAGE);
      },
      sealBlock: (accountIds, maxEntries) => write('sealBlock', accountIds, maxEntries),
    },
    archives: createArchiveTable(parts),
    requests: {
      ...createRequestTable(requests),
      erasuresAfter: (seq, since) => read('erasuresAfter', seq, since),
    },
    settling: {
      settleBatch: (batch) => write('settleBatch', batch),
      quarantine: (settlement, reason) => write('quarantineSettlement', settlement, reason),
      // The thread reports what SQLite refuses as a RangeError.
      classify: (error) => (isValueError(error) ? 'refused' : 'retry'),
    },
    charging: {
      check: () => checkCharging(dataDir),
      async probe() {
        await checkCharging(dataDir);
        await write('probeCharging');
      },
    },
    readStanding: (keyId) => readHere(() => memory.readStanding(keyId)),
    readBudgets: (keyId, spender) => readHere(() => memory.readBudgets(keyId, spender)),
    book: (name, ...args) =>
      write('book', ...([name, ...args] as never)) as Promise<BookResult<typeof name>>,
    readUsage: (query) =>
      isOfAllOwners(query)
        ? background.call('readUsage', [query], BACKGROUND_TIMEOUT_MS)
        : read('readUsage', query),
    readSpending: (query) =>
      query.accountId === undefined && query.keyId === undefined
        ? background.call('readSpending', [query], BACKGROUND_TIMEOUT_MS)
        : read('readSpending', query),
    spendingNamedSince: (accountId) => read('spendingNamedSince', accountId),
    readBooks: (query) => background.call('readBooks', [query], BACKGROUND_TIMEOUT_MS),
    listClosedMonths: () => read('listClosedMonths'),
    listStatements: (filter) => read('listStatements', filter),
    rollUpUsage: (before, limit) => write('rollUpUsage', before, limit),
    listTrail: (filter) => read('listTrail', filter),
    quarantine: (usage) => write('insertQuarantine', usage),
    listQuarantined: (filter) => read('listQuarantined', filter),
    summarize: (pepperId) => read('summarize', pepperId),
    background: createBackgroundWork(background),
    ping: () => write('ping'),
    async close() {
      await Promise.all([reading.stop(), background.stop(), requests.stop()]);
      memory.close();
      reader.close();
      // The last connection to close copies the log into the file, and only the writing thread may
      // write.
      await writing.stop();
      onClosed();
    },
  };
}

type Read = <Name extends keyof ReadOperations>(
  name: Name,
  ...args: Parameters<ReadOperations[Name]>
) => Promise<Awaited<ReturnType<ReadOperations[Name]>>>;

function createEntryTable(read: Read): LedgerDatabase['entries'] {
  return {
    find: (keyId, id) => read('findEntry', keyId, id),
    findMany: (ids) => read('findEntries', ids),
    list: (filter, before) => read('listEntries', filter, before),
  };
}

function createSpenderTable(read: Read): LedgerDatabase['spenders'] {
  return {
    getGroup: (id) => read('getGroup', id),
    listGroups: (filter) => read('listGroups', filter),
    getMember: (id) => read('getMember', id),
    listMembers: (filter) => read('listMembers', filter),
    getBudget: (id) => read('getBudget', id),
    listBudgets: (filter) => read('listBudgets', filter),
    listRaises: (budgetId) => read('listRaises', budgetId),
    listBudgetUses: (budgetId, limit, subjects) =>
      read('listBudgetUses', budgetId, limit, subjects),
  };
}

async function* allAccountIds(thread: LedgerThread<ReadOperations>) {
  for (let after: string | undefined = ''; after !== undefined;) {
    const page: readonly string[] = await thread.call(
      'accountIdsAfter',
      [after, ACCOUNTS_PER_PAGE],
      BACKGROUND_TIMEOUT_MS,
    );
    if (page.length > 0) yield page;
    after = page.at(-1);
  }
}

function createRequestTable(
  thread: LedgerThread<RequestOperations>,
): Omit<LedgerDatabase['requests'], 'erasuresAfter'> {
  return {
    record: (batch) => thread.call('recordRequests', [batch], WRITE_TIMEOUT_MS),
    addToSums: () => thread.call('addToSums', [], BACKGROUND_TIMEOUT_MS),
    list: (query) => thread.call('listRequests', [query], READ_TIMEOUT_MS),
    sums: (query) => thread.call('sumRequests', [query], READ_TIMEOUT_MS),
    recordedFrom: (of) => thread.call('recordedFrom', [of], READ_TIMEOUT_MS),
    prune: (pruning) => thread.call('pruneRequests', [pruning], BACKGROUND_TIMEOUT_MS),
    erase: (accountId, series) =>
      thread.call('eraseRequests', [accountId, series], BACKGROUND_TIMEOUT_MS),
  };
}

function createArchiveTable({
  dataDir,
  file,
  writing,
  background,
}: SqliteDatabaseParts): LedgerDatabase['archives'] {
  return {
    lock: () => readHere(() => takeArchiveLock(dataDir)),
    source: createThreadSource(background),
    async deleteCharges(ranges) {
      const deleted = await writing.call('deleteCharges', [ranges], WRITE_TIMEOUT_MS);
      await keepLogSmall({ dataDir, file }, () => writing.call('emptyLog', [], WRITE_TIMEOUT_MS));
      return deleted;
    },
  };
}

/** Whether a query sums the usage of each account or key of the ledger. */
function isOfAllOwners({ by, accountId, keyId }: UsageQuery): boolean {
  if (accountId !== undefined || keyId !== undefined) return false;
  return by.includes('account') || by.includes('key');
}

function createThreadSource(thread: LedgerThread<ReadOperations>): ArchiveSource {
  return {
    archives: () => thread.call('archives', [], BACKGROUND_TIMEOUT_MS),
    carriesAfter: (...args) => thread.call('carriesAfter', args, BACKGROUND_TIMEOUT_MS),
    hasCarriedCharges: (number) =>
      thread.call('hasCarriedCharges', [number], BACKGROUND_TIMEOUT_MS),
  };
}
