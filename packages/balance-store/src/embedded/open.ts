/** Opens an embedded ledger. */

import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LedgerFileError, SchemaTooOldError } from '../errors.js';
import { assertDuration } from '../ledger/rules/argument-checks.js';
import { BACKGROUND_LIMITS } from '../ledger/threads/background-thread.js';
import { createBalanceStore } from '../ledger/store/balance-store.js';
import { assertPepperFits, assertPeppers, pepperIdsOf } from '../ledger/rules/pepper.js';
import type { Peppers } from '../ledger/rules/pepper.js';
import { unavailable } from '../ledger/base/reaching-database.js';
import type { BalanceStore } from '../store.js';
import { markReader, openCommitIndex } from './files/commit-mark.js';
import type { CommitIndex } from './files/commit-mark.js';
import { rewriteErased } from './files/erasure.js';
import { assertLocalFileSystem } from './files/file-system.js';
import { assertLogBelongsToFile, markFile } from './files/generation.js';
import { assertNotMoved } from './files/moved.js';
import { readGenerationsAsGuest, takeOwnership } from './files/owner-lock.js';
import type { OwnerLock } from './files/owner-lock.js';
import { makePrivate, requestsFile } from './files/requests-file.js';
import { APPLICATION_ID, openReader, openWriter } from './sqlite/connection.js';
import type { Connection } from './sqlite/connection.js';
import { isDamaged, isNotWritable, isUnavailable } from './sqlite/faults.js';
import { readPepperUse } from './sqlite/keys.js';
import { assertMigrated, migrate } from './sqlite/migrate.js';
import { createSqliteDatabase } from './sqlite-database.js';
import { createStandingMemory } from './standing-memory.js';
import type { StandingMemory } from './standing-memory.js';
import { syncToDisk } from '../ledger/base/sync-to-disk.js';
import type { ReadOperations, RequestOperations, WriteOperations } from './threads/operations.js';
import type { ThreadData } from './threads/messages.js';
import { createLedgerThread } from './threads/thread-client.js';
import type { LedgerThread } from '../ledger/threads/thread-client.js';

export interface EmbeddedStoreOptions {
  /** Where the ledger's files are: `ledger.db` and its companions. Created when missing. */
  readonly dataDir: string;
  /** Secret under which credentials are hashed. Keep it apart from the directory. */
  readonly pepper: string;
  /**
   * The secret that `pepper` replaces. A credential that is stored under it still finds its key,
   * and is stored under `pepper` from then on.
   */
  readonly previousPepper?: string | undefined;
  /**
   * How long a hold lives after its last renewal if its process dies: at most 2^31-1, and 5 minutes
   * when absent.
   */
  readonly holdLifetimeMs?: number;
  /**
   * `owner` (also when absent): a gateway, of which only one at a time may own the ledger. `guest`:
   * an operator's command, which may also run while a gateway owns the ledger.
   */
  readonly access?: 'owner' | 'guest';
  /** Whether to create the ledger and to apply missing migrations; true when absent. */
  readonly migrate?: boolean;
  /** For a process that serves requests: checks twice a second that charges can be recorded. */
  readonly serving?: boolean;
  /**
   * Whether to read the header of the index that SQLite keeps of its log (`ledger.db-shm`), which
   * shows whether what is remembered is current; true when absent. If false, each admission and
   * each charge reads its rows from the file.
   */
  readonly readsIndex?: boolean;
}

/**
 * How many batches of settlements may be in flight at once. With two, the next batch is already
 * waiting when the writing thread finishes one.
 */
const BATCHES_IN_FLIGHT = 2;
/** Small enough that a few hundred waiting clients fill both batches. */
const MAX_BATCH_ROWS = 256;
/** After this time without a call, a reading thread ends: it takes 12 MB and is seldom needed. */
const READING_IDLE_MS = 10_000;
/** How long the writing thread may take to start and to open the file. */
const START_TIMEOUT_MS = 60_000;

export async function openEmbedded(options: EmbeddedStoreOptions): Promise<BalanceStore> {
  const { dataDir, pepper, previousPepper, holdLifetimeMs } = options;
  const peppers = { pepper, previousPepper };
  const isOwner = options.access !== 'guest';
  assertPeppers(peppers);
  assertDuration('holdLifetimeMs', holdLifetimeMs);
  const file = ledgerFile(dataDir);
  if (options.migrate === false && !existsSync(file)) {
    throw new SchemaTooOldError(`there is no ledger in ${dataDir}`);
  }
  mkdirSync(dataDir, { recursive: true });
  keepTemporaryFilesIn(dataDir);
  assertNotMoved(dataDir);
  assertLocalFileSystem(dataDir);
  const lock = isOwner ? takeOwnership(dataDir) : undefined;
  const thread = { file, checkpoints: isOwner };
  const reading = createLedgerThread<ReadOperations>(
    { ...thread, role: 'read' },
    { idleTimeoutMs: READING_IDLE_MS },
  );
  const background = createLedgerThread<ReadOperations>(
    { ...thread, role: 'background' },
    { idleTimeoutMs: READING_IDLE_MS, limits: BACKGROUND_LIMITS },
  );
  const requests = createLedgerThread<RequestOperations>(
    { file: requestsFile(dataDir), checkpoints: isOwner, role: 'requests' },
    { idleTimeoutMs: READING_IDLE_MS },
  );
  let reader: Connection | undefined;
  let index: CommitIndex | undefined;
  let writing: LedgerThread<WriteOperations> | undefined;
  try {
    reader = prepareFile(file, peppers, { lock, migrates: options.migrate !== false });
    if (options.readsIndex !== false) index = openCommitIndex(file);
    const started = startWriting({ ...thread, role: 'write' }, reader, index);
    ({ writing } = started);
    await writing.call('ping', [], START_TIMEOUT_MS);
    const database = createSqliteDatabase({
      dataDir,
      file,
      reader,
      ...started,
      reading,
      background,
      requests,
      onClosed() {
        index?.close();
        lock?.release();
      },
    });
    if (isOwner) await database.charging.probe();
    return createBalanceStore({
      database,
      peppers,
      maxInFlight: BATCHES_IN_FLIGHT,
      maxBatchRows: MAX_BATCH_ROWS,
      holdLifetimeMs,
      serving: options.serving,
    });
  } catch (error) {
    reader?.close();
    await writing?.stop();
    index?.close();
    lock?.release();
    throw error;
  }
}

/** Starts the writing thread, which reports its commits to the memory of this thread. */
function startWriting(
  data: ThreadData,
  reader: Connection,
  index: CommitIndex | undefined,
): { readonly writing: LedgerThread<WriteOperations>; readonly memory: StandingMemory } {
  const writing = createLedgerThread<WriteOperations>(
    { ...data, indexDescriptor: index?.descriptor },
    {
      onCommit(commit) {
        memory.committed(commit);
      },
    },
  );
  const memory = createStandingMemory({
    reader,
    // Without a mark nothing is remembered, as with a header of an unknown form.
    readMark: index === undefined ? () => undefined : markReader(index.descriptor),
    receiveCommits() {
      writing.receive();
    },
    mayCommit: () => !writing.isIdle(),
  });
  return { writing, memory };
}

/** @returns the path of the embedded ledger's file, whether it exists or not */
export function ledgerFile(dataDir: string): string {
  return join(dataDir, 'ledger.db');
}

/**
 * SQLite sorts more rows than fit into its cache in temporary files, which have no name and vanish
 * with the process. It would create them in `/var/tmp` or `/tmp`, where a container with a
 * read-only file system refuses them. It reads this variable of its own when it needs a file.
 */
function keepTemporaryFilesIn(dataDir: string): void {
  process.env['SQLITE_TMPDIR'] ??= dataDir;
}

/**
 * Recovers the file if its process was killed, migrates it, and checks that it may be used.
 *
 * @returns a reader. It reads before the connection that did this work is closed. Otherwise
 * that connection would be the last one, and closing it would delete the log, which the writing
 * thread would have to create again.
 */
function prepareFile(
  file: string,
  peppers: Peppers,
  { lock, migrates }: { readonly lock: OwnerLock | undefined; readonly migrates: boolean },
): Connection {
  let connection: Connection | undefined;
  let reader: Connection | undefined;
  try {
    assertLogBelongsToFile(
      file,
      lock === undefined ? readGenerationsAsGuest(dirname(file)) : lock.readGenerations(),
    );
    makePrivate(file);
    connection = openWriter(file, { checkpoints: lock !== undefined });
    assertLedger(file, connection);
    if (migrates) migrate(connection);
    else assertMigrated(connection);
    assertPepperFits(readPepperUse(connection, pepperIdsOf(peppers)));
    if (lock !== undefined) {
      markFile(connection, lock);
      rewriteErased(connection, file);
    }
    // A power cut can lose a new file whose contents are on disk but whose directory entry is not.
    syncToDisk(dirname(file));
    reader = openReader(file);
    // SQLite opens a file when it is first read.
    reader.get('SELECT 1 FROM sqlite_schema');
    return reader;
  } catch (error) {
    reader?.close();
    throw openingError(file, error);
  } finally {
    connection?.close();
  }
}

function assertLedger(file: string, connection: Connection): void {
  const id = connection.get<{ readonly application_id: number }>('PRAGMA application_id');
  const isEmpty = connection.get('SELECT 1 FROM sqlite_schema') === undefined;
  if (isEmpty || id?.application_id === APPLICATION_ID) return;
  throw new LedgerFileError(`${file} is a database of another program`);
}

function openingError(file: string, error: unknown): unknown {
  const reason = error instanceof Error ? error.message : String(error);
  if (isDamaged(error)) {
    return new LedgerFileError(
      `${file} is not a ledger, or it is damaged (${reason}): restore it from a backup`,
      { cause: error },
    );
  }
  if (isNotWritable(error)) {
    return new LedgerFileError(
      `${file} cannot be opened for writing (${reason}): check the permissions of the file ` +
        'and of its directory, and that its disk is not read-only',
      { cause: error },
    );
  }
  return isUnavailable(error) ? unavailable(error) : error;
}
