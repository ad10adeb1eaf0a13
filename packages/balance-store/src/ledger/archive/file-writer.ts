/**
 * Writes the file of an archive. Only its owner can read it, and it gets its name only when it is
 * on disk.
 */

import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { LedgerArchiveError } from '../../errors.js';
import { syncToDisk } from '../base/sync-to-disk.js';

const BUFFER_CHARACTERS = 128 * 1024;

export interface ArchiveFileWriter {
  /** Writes an object as one line. */
  write(line: object): void;
  /** SHA-256 of all lines so far, in hexadecimal. */
  digest(): string;
  /**
   * Returns when the file is on disk under its name.
   *
   * @throws {LedgerArchiveError} when a file of this name exists, or it cannot be written.
   */
  finish(): void;
  /** Removes what was written. */
  abort(): void;
}

/** @throws {LedgerArchiveError} when the file cannot be written. */
export function createArchiveFile(file: string): ArchiveFileWriter {
  const unfinished = `${file}.unfinished`;
  const hash = createHash('sha256');
  let buffer = '';
  let size = 0;
  let isOpen = true;
  const descriptor = writing(file, () => {
    // Removes the file that a killed process has left behind.
    rmSync(unfinished, { force: true });
    return openSync(unfinished, 'wx', 0o600);
  });
  function flush(): void {
    const bytes = Buffer.from(buffer);
    buffer = '';
    size = 0;
    for (let written = 0; written < bytes.length;) {
      written += writing(file, () => writeSync(descriptor, bytes, written));
    }
  }
  function close(): void {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  }
  return {
    write(line) {
      const text = `${jsonLineOf(line)}\n`;
      hash.update(text);
      buffer += text;
      size += text.length;
      if (size >= BUFFER_CHARACTERS) flush();
    },
    digest: () => hash.copy().digest('hex'),
    finish() {
      flush();
      close();
      writing(file, () => {
        syncToDisk(unfinished);
      });
      if (existsSync(file)) throw new LedgerArchiveError(`${file} exists: nothing is overwritten`);
      writing(file, () => {
        renameSync(unfinished, file);
        syncToDisk(dirname(file));
      });
    },
    abort() {
      close();
      rmSync(unfinished, { force: true });
    },
  };
}

/**
 * An object as JSON that every program reads as one line. U+2028 and U+2029, which JSON allows
 * within texts, are escaped, because many programs end a line at them.
 */
function jsonLineOf(line: object): string {
  return JSON.stringify(line).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** @throws {LedgerArchiveError} with the reason of the file system. */
function writing<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LedgerArchiveError(`${file} cannot be written (${reason}); nothing was changed`, {
      cause: error,
    });
  }
}
