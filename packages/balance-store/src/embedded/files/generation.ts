/**
 * Recognises a write-ahead log that belongs to another file. A ledger that is killed leaves its log
 * behind, and the next start copies the log into the file. If somebody has meanwhile replaced the
 * file with a backup, copying the log into it would destroy the backup. SQLite does not detect that
 * the log belongs to another file.
 *
 * Therefore each start writes a new random mark into the ledger's file and into the lock's file.
 * The next start compares the two. Each backup is written with a mark of its own, so a backup in
 * the file's place does not match.
 */

import { randomInt } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { LedgerFileError } from '../../errors.js';
import type { Generations, OwnerLock } from './owner-lock.js';
import { isOpenHere } from '../sqlite/connection.js';
import type { Connection } from '../sqlite/connection.js';

const LARGEST_MARK = 2 ** 31 - 1;
/** See https://sqlite.org/fileformat.html */
const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const USER_VERSION_OFFSET = 60;

/**
 * Must be called before SQLite opens the file, which would copy the log.
 *
 * @param expected - The marks that the file may have; `undefined` if that is not known.
 * @throws {LedgerFileError}
 */
export function assertLogBelongsToFile(file: string, expected: Generations | undefined): void {
  if (expected === undefined || sizeOf(`${file}-wal`) === 0) return;
  // If the file is open here already, its log is in use and belongs to it. Reading the mark would
  // close a descriptor of the file, which would release this process's locks on it.
  if (isOpenHere(file)) return;
  const found = sizeOf(file) === 0 ? undefined : readMark(file);
  if (found === expected.current || found === expected.former) return;
  throw new LedgerFileError(
    `${file} is not the file that ${file}-wal belongs to: it was replaced or emptied while the log ` +
      'of the former one was still there. To use it, move the files ending in -wal and -shm away; ' +
      'changes that only they contain are then lost. To keep the former ledger, put its file back',
  );
}

/**
 * Gives the file a new mark, which no other file has. The lock's file gets the mark first: after a
 * crash in between, the ledger's file has its former mark, which is accepted, too.
 */
export function markFile(connection: Connection, lock: OwnerLock): void {
  const former = markOf(connection);
  if (!copyLog(connection)) {
    // Another process still reads an old state of the file, so the log cannot be copied completely.
    // A new mark could stay in the log, where `readMark` does not see it.
    lock.writeGenerations({ current: former, former: lock.readGenerations()?.former ?? former });
    return;
  }
  const current = newMark();
  lock.writeGenerations({ current, former });
  writeMark(connection, current);
  copyLog(connection);
}

export function newMark(): number {
  return randomInt(1, LARGEST_MARK);
}

function writeMark(connection: Connection, mark: number): void {
  connection.exec(`PRAGMA user_version = ${String(mark)}`);
}

function markOf(connection: Connection): number {
  return (
    connection.get<{ readonly user_version: number }>('PRAGMA user_version')?.user_version ?? 0
  );
}

/** Copies the whole log into the file and empties it. @returns whether this succeeded */
function copyLog(connection: Connection): boolean {
  const result = connection.get<{ readonly busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
  return result?.busy === 0;
}

/**
 * Reads the mark from the file alone, as if there were no log. Does not use SQLite, because SQLite
 * refuses a file whose process was killed while it copied the log.
 */
function readMark(file: string): number | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  return header.toString('latin1', 0, MAGIC.length) === MAGIC
    ? header.readInt32BE(USER_VERSION_OFFSET)
    : undefined;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
