/**
 * One connection to the ledger's file. Each statement blocks the thread that runs it, so the writer
 * has a thread of its own.
 */

import type { DatabaseSync as Database, SQLInputValue, StatementSync } from 'node:sqlite';
import { DatabaseSync } from './node-sqlite.js';
import { addSums } from './sums.js';

/** `LEDG`: marks the file as a ledger of this package. */
export const APPLICATION_ID = 0x4c_45_44_47;

/** How long a writer waits for another process, such as the command line, to commit. */
const WRITE_PATIENCE_MS = 5_000;
/** Readers wait only while the log of a killed process is being recovered. */
const READ_PATIENCE_MS = 250;
/** The log is copied into the file after this many pages of 4 KiB. */
const CHECKPOINT_PAGES = 4_000;
/** The writer's page cache. It holds the pages to which a thousand busy keys add entries. */
const CACHE_KIB = 16 * 1024;
/** The log is truncated to this size after it was copied completely. */
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Each SQL text is prepared once and kept. Pass values as arguments, so that there are only a few
 * texts.
 */
export interface Connection {
  /** Runs statements without arguments. */
  exec(sql: string): void;
  get<Row>(sql: string, ...values: readonly SQLInputValue[]): Row | undefined;
  all<Row>(sql: string, ...values: readonly SQLInputValue[]): readonly Row[];
  /** @returns how many rows it changed */
  run(sql: string, ...values: readonly SQLInputValue[]): number;
  /**
   * Runs `work` in a transaction that is on disk when this returns. If `work` throws, nothing is
   * changed.
   */
  write<Result>(work: () => Result): Result;
  /**
   * Like {@link Connection.write}, for work that returns a promise. All promises that the work
   * awaits must be settled already.
   */
  writeAsync<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs `work`, whose statements fail at once if another connection blocks them. */
  withoutPatience(work: () => void): void;
  /** Runs `work`, all of whose reads see the same state of the ledger. */
  read<Result>(work: () => Result): Result;
  /** Like {@link Connection.read}, for work that returns a promise, as `writeAsync` is. */
  readAsync<Result>(work: () => Promise<Result>): Promise<Result>;
  close(): void;
}

export interface WriterOptions {
  /**
   * Whether this connection copies the log into the file. Only connections of the process that owns
   * the ledger do so (see `open.ts`): SQLite before 3.51.3 may damage a file when two connections
   * copy the log at the same moment.
   */
  readonly checkpoints: boolean;
}

/** How many connections of this thread have each file open. */
const openFiles = new Map<string, number>();

export function isOpenHere(file: string): boolean {
  return (openFiles.get(file) ?? 0) > 0;
}

export function openWriter(file: string, { checkpoints }: WriterOptions): Connection {
  const database = new DatabaseSync(file);
  try {
    database.exec(`PRAGMA busy_timeout = ${String(WRITE_PATIENCE_MS)}`);
    const mode = database.prepare('PRAGMA journal_mode = WAL').get();
    if (mode?.['journal_mode'] !== 'wal') {
      throw new Error(`the file system of ${file} does not support a write-ahead log`);
    }
    database.exec(
      // A commit is on disk before it returns. The two `fullfsync` settings have an effect on
      // macOS.
      'PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; ' +
        `PRAGMA wal_autocheckpoint = ${String(checkpoints ? CHECKPOINT_PAGES : 0)}; ` +
        `PRAGMA journal_size_limit = ${String(LOG_LIMIT_BYTES)}; ` +
        `PRAGMA cache_size = -${String(CACHE_KIB)}; ` +
        // Overwrites what is deleted, so that erased texts are gone. A trial with 12,800 charges
        // and holds wrote as many bytes as without, in the same CPU time.
        'PRAGMA secure_delete = ON; ' +
        'PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;',
    );
    // Newer versions of Node have it on. Migrations could not change a constraint then. It protects
    // from SQL of strangers, of which there is none.
    if ('enableDefensive' in database) database.enableDefensive(false);
  } catch (error) {
    database.close();
    throw error;
  }
  return connectionOf(database, file);
}

/** Sees every committed transaction, and never waits for a writer. */
export function openReader(file: string): Connection {
  const database = new DatabaseSync(file, { readOnly: true });
  database.exec(`PRAGMA busy_timeout = ${String(READ_PATIENCE_MS)}`);
  return connectionOf(database, file);
}

function connectionOf(database: Database, file: string): Connection {
  openFiles.set(file, (openFiles.get(file) ?? 0) + 1);
  // For searches: SQLite's LIKE ignores the case of ASCII letters only.
  database.function('fold_case', { deterministic: true }, (text) => String(text).toLowerCase());
  // The time at which each row is read. Constant expressions with it are not computed in advance.
  database.function('now_ms', () => Date.now());
  addSums(database);
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  return {
    exec(sql) {
      database.exec(sql);
    },
    get: <Row>(sql: string, ...values: readonly SQLInputValue[]) =>
      prepare(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: readonly SQLInputValue[]) =>
      prepare(sql).all(...values) as unknown as readonly Row[],
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    write(work) {
      prepare('BEGIN IMMEDIATE').run();
      try {
        const result = work();
        prepare('COMMIT').run();
        return result;
      } catch (error) {
        rollBack();
        throw error;
      }
    },
    async writeAsync(work) {
      prepare('BEGIN IMMEDIATE').run();
      try {
        const result = await work();
        prepare('COMMIT').run();
        return result;
      } catch (error) {
        rollBack();
        throw error;
      }
    },
    withoutPatience(work) {
      database.exec('PRAGMA busy_timeout = 0');
      try {
        work();
      } finally {
        database.exec(`PRAGMA busy_timeout = ${String(WRITE_PATIENCE_MS)}`);
      }
    },
    read(work) {
      prepare('BEGIN').run();
      try {
        return work();
      } finally {
        rollBack();
      }
    },
    async readAsync(work) {
      prepare('BEGIN').run();
      try {
        return await work();
      } finally {
        rollBack();
      }
    },
    close() {
      if (!database.isOpen) return;
      database.close();
      openFiles.set(file, (openFiles.get(file) ?? 0) - 1);
    },
  };

  function rollBack(): void {
    try {
      prepare('ROLLBACK').run();
    } catch {
      // If the disk is full or failed, SQLite has already rolled back by itself.
    }
  }
}
