/**
 * Moves a whole embedded ledger into PostgreSQL, once. The PostgreSQL client is loaded only then;
 * without it the embedded ledger needs half the memory.
 */

import { LedgerMoveError } from '../errors.js';
import type { AuditReport } from '../audit.js';
import { BACKGROUND_LIMITS } from '../ledger/threads/background-thread.js';
import { builtFile } from '../ledger/threads/built-file.js';
import { createThread } from '../ledger/threads/thread-client.js';
import type { CopyOperations, CopyThreadData } from './copy-thread.js';
import { markAsMoved } from './files/moved.js';
import { ledgerFile, openEmbedded } from './open.js';
import { readHere } from './read-here.js';
import { openWriter } from './sqlite/connection.js';
import type { Connection } from './sqlite/connection.js';

const THREAD_FILE = builtFile('embedded/copy-thread', import.meta.url);

export interface LedgerMove {
  /** The embedded ledger's directory. No process may have it open. */
  readonly dataDir: string;
  /** The pepper under which the ledger's keys were issued. The new ledger keeps it. */
  readonly pepper: string;
  /** The pepper that `pepper` replaces. Keys issued under it are still found. */
  readonly previousPepper?: string | undefined;
  /** See `EmbeddedStoreOptions`. */
  readonly readsIndex?: boolean;
  /**
   * The database to move to. It must be empty, or hold this same ledger from an interrupted move.
   */
  readonly connectionString: string;
}

export interface LedgerMoveReport {
  /** Rows per table. */
  readonly rows: ReadonlyMap<string, number>;
  /** The audit of the new ledger. Its figures equal those of the old one. */
  readonly audit: AuditReport;
}

/**
 * Moves a ledger: keys, entries, seals and everything else, compared row by row, in one
 * transaction. Afterwards the embedded store refuses to open, so that no key can be spent in both
 * places.
 *
 * @throws {LedgerMoveError} when the old ledger is not sound, or the new database has rows of
 * another ledger, and then nothing changed; or when the copy differs from the ledger.
 * @throws {EmbeddedStoreLockedError} @throws {StoreUnavailableError}
 */
export async function moveEmbeddedLedger(move: LedgerMove): Promise<LedgerMoveReport> {
  const { dataDir, pepper, previousPepper, readsIndex = true, connectionString } = move;
  const source = await openEmbedded({ dataDir, pepper, previousPepper, readsIndex });
  let writeLock: Connection | undefined;
  try {
    writeLock = await readHere(() => keepFromWriting(dataDir));
    const before = await source.audit();
    if (!before.isSound) {
      throw new LedgerMoveError(
        'the embedded ledger is not sound: audit it first; nothing was changed',
      );
    }
    const { openPostgresStore } = await import('../postgres/index.js');
    const target = await openPostgresStore({ connectionString, pepper, previousPepper });
    try {
      const rows = await copyFile(dataDir, connectionString);
      const audit = await target.audit();
      assertSame(before, audit);
      markAsMoved(dataDir);
      return { rows, audit };
    } finally {
      await target.close();
    }
  } finally {
    writeLock?.close();
    await source.close();
  }
}

/**
 * Keeps other processes from writing to the ledger until the connection is closed. A change that an
 * operator's command commits while the ledger is copied would otherwise be lost. A command that has
 * waited until the move is done then finds the mark.
 */
function keepFromWriting(dataDir: string): Connection {
  const writer = openWriter(ledgerFile(dataDir), { checkpoints: false });
  try {
    writer.exec('BEGIN IMMEDIATE');
  } catch (error) {
    writer.close();
    throw error;
  }
  return writer;
}

/** Copies in a thread, whose heap is limited: in this one, it grew with the ledger's size. */
async function copyFile(
  dataDir: string,
  connectionString: string,
): Promise<ReadonlyMap<string, number>> {
  const data = { file: ledgerFile(dataDir), connectionString } satisfies CopyThreadData;
  const thread = createThread<CopyOperations>(
    { file: THREAD_FILE, data },
    { limits: BACKGROUND_LIMITS },
  );
  try {
    return new Map(await thread.call('copy', [], undefined));
  } finally {
    await thread.stop();
  }
}

const FIGURES = [
  'accounts',
  'keys',
  'entries',
  'credited',
  'adjusted',
  'expired',
  'charged',
  'writtenOff',
  'balances',
  'sealed',
] as const;

function assertSame(before: AuditReport, after: AuditReport): void {
  for (const figure of FIGURES) {
    if (before[figure] !== after[figure]) {
      throw new LedgerMoveError(
        `after the move ${figure} is ${String(after[figure])} instead of ${String(before[figure])}: ` +
          'the embedded ledger stays in use; do not use the new one',
      );
    }
  }
  if (!after.isSound) throw new LedgerMoveError('after the move the new ledger is not sound');
}
