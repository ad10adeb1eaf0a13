/**
 * The embedded ledger as a {@link LedgerDatabase}. Admission reads run in this thread, on a
 * connection of their own: a few microseconds each, without a round trip. Everything that writes
 * runs in one thread, and everything that may take long in another.
 */

import type { LedgerDatabase } from '../ledger/ledger-database.js';
import { readHere } from './read-here.js';
import type { Connection } from './sqlite/connection.js';
import { findKey, getKey, readStanding } from './sqlite/keys.js';
import { decodeOutcomes, encodeBatch } from './threads/batch-codec.js';
import type { ReadOperations, WriteOperations } from './threads/operations.js';
import type { LedgerThread } from './threads/thread-client.js';

/** A disk that hangs must not hang admission, nor leave anyone in doubt about a charge for long. */
const WRITE_TIMEOUT_MS = 10_000;
const READ_TIMEOUT_MS = 30_000;
const KEYS_PER_PAGE = 1_000;

export interface SqliteDatabaseParts {
  readonly reader: Connection;
  readonly writing: LedgerThread<WriteOperations>;
  readonly reading: LedgerThread<ReadOperations>;
  /** Called last. */
  readonly onClosed: () => void;
}

export function createSqliteDatabase(parts: SqliteDatabaseParts): LedgerDatabase {
  const { reader, writing, reading, onClosed } = parts;
  const write = <Name extends keyof WriteOperations>(
    name: Name,
    ...args: Parameters<WriteOperations[Name]>
  ) => writing.call(name, args, WRITE_TIMEOUT_MS);
  const read = <Name extends keyof ReadOperations>(
    name: Name,
    ...args: Parameters<ReadOperations[Name]>
  ) => reading.call(name, args, READ_TIMEOUT_MS);

  return {
    keys: {
      insert: (row) => write('insertKey', row),
      update: (keyId, change, onlyInState) => write('updateKey', keyId, change, onlyInState),
      get: (keyId) => readHere(() => getKey(reader, keyId)),
      list: (page) => read('listKeys', page),
      find: (credentialHmac) => readHere(() => findKey(reader, credentialHmac)),
    },
    holds: {
      place: (holds, lifetimeMs) => write('placeHolds', holds, lifetimeMs),
      renew: (requestIds, lifetimeMs) => write('renewHolds', requestIds, lifetimeMs),
      release: (requestIds) => write('releaseHolds', requestIds),
      list: (filter) => read('listHolds', filter),
      count: (state) => read('countHolds', state),
    },
    entries: {
      find: (keyId, id) => read('findEntry', keyId, id),
      findMany: (ids) => read('findEntries', ids),
      list: (filter, before) => read('listEntries', filter, before),
    },
    seals: {
      head: () => read('readHead'),
      async *keyIds(which) {
        const ids = await read('unsealedKeyIds', which);
        for (let start = 0; start < ids.length; start += KEYS_PER_PAGE) {
          yield ids.slice(start, start + KEYS_PER_PAGE);
        }
      },
      sealBlock: (keyIds, maxEntries) => write('sealBlock', keyIds, maxEntries),
    },
    settling: {
      settleBatch: async (batch) => decodeOutcomes(await write('settleBatch', encodeBatch(batch))),
      quarantine: (settlement, reason) => write('quarantineSettlement', settlement, reason),
      classify: (error) => (error instanceof RangeError ? 'refused' : 'retry'),
    },
    readStanding: (keyId) => readHere(() => readStanding(reader, keyId)),
    topUp: (topUp) => write('topUp', topUp),
    quarantine: (usage) => write('insertQuarantine', usage),
    summarize: () => read('summarize'),
    // It reads page by page for as long as it takes.
    audit: (options) => reading.call('audit', [options], undefined),
    ping: () => write('ping'),
    async close() {
      await reading.stop();
      reader.close();
      // The last to close copies the log into the file, and only this thread may write.
      await writing.stop();
      onClosed();
    },
  };
}
