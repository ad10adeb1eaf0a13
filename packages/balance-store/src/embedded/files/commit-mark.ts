/**
 * Shows in one small read whether anybody has committed to the ledger's file: this process, the
 * command line, a worker, or a program that knows nothing of this package.
 *
 * SQLite's index of the write-ahead log (`ledger.db-shm`) begins with a header that each commit
 * changes: a counter of commits, the length of the log, and a checksum of all of the log
 * (https://sqlite.org/walformat.html, section 2.1). The header is there twice. A commit writes the
 * second copy first, so two equal copies are a commit that has finished.
 *
 * `PRAGMA data_version` shows the same, but costs three times as much, and cannot tell one commit
 * from two. So it cannot show that the only commit was one that this process knows.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { isOpenHere } from '../sqlite/connection.js';

/** Equal marks are the same state of the file. */
export type CommitMark = string;

/** @returns undefined while a commit is being written, and when the header has an unknown form */
export type ReadMark = () => CommitMark | undefined;

/** The open index of a ledger's file. */
export interface CommitIndex {
  /** For {@link markReader}, in any thread of this process. */
  readonly descriptor: number;
  /** Call after all connections of the store are closed. */
  close(): void;
}

const COPY_BYTES = 48;
/** Offsets of members of the header, each of which has four bytes in the order of this machine. */
const VERSION = 0;
const COMMITS = 8;
const KNOWN_VERSION = 3_007_000;

interface OpenIndexes {
  readonly descriptors: number[];
  users: number;
}

/**
 * The open indexes of each ledger. Closing any descriptor of a file frees all locks that this
 * process has on it, also those of SQLite (https://sqlite.org/howtocorrupt.html, section 2.2). So
 * all descriptors are closed after the last connection.
 */
const openIndexes = new Map<string, OpenIndexes>();

/** @param file - The ledger's file, to which the caller has a connection that has read. */
export function openCommitIndex(file: string): CommitIndex {
  // Not one that is open already: that may be the index of a file that was replaced.
  const descriptor = openSync(`${file}-shm`, 'r');
  const indexes = openIndexes.get(file) ?? { descriptors: [], users: 0 };
  openIndexes.set(file, indexes);
  indexes.descriptors.push(descriptor);
  indexes.users += 1;
  return {
    descriptor,
    close() {
      indexes.users -= 1;
      if (indexes.users > 0 || isOpenHere(file)) return;
      openIndexes.delete(file);
      for (const each of indexes.descriptors) closeSync(each);
    },
  };
}

export function markReader(descriptor: number): ReadMark {
  const header = Buffer.alloc(2 * COPY_BYTES);
  return () => {
    readSync(descriptor, header, 0, header.length, 0);
    const first = header.toString('latin1', 0, COPY_BYTES);
    const isWhole = first === header.toString('latin1', COPY_BYTES);
    return isWhole && memberOf(header, VERSION) === KNOWN_VERSION ? first : undefined;
  };
}

/** Whether exactly one commit lies between the two, or none. */
export function isNextCommit(from: CommitMark, to: CommitMark): boolean {
  if (from === to) return true;
  const [before, after] = [from, to].map((mark) => memberOf(Buffer.from(mark, 'latin1'), COMMITS));
  return after === ((before ?? 0) + 1) >>> 0;
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

function memberOf(header: Buffer, offset: number): number {
  return isLittleEndian ? header.readUInt32LE(offset) : header.readUInt32BE(offset);
}
