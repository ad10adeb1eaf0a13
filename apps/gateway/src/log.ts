/** Where log lines go. */

import { pino } from 'pino';
import type { Logger } from 'pino';

export interface Log {
  readonly log: Logger;
  /** Takes one finished line of JSON, with its end. */
  readonly writeLine: (line: string) => void;
}

/** What is used of the library's file. Its own types know texts only. */
interface ByteFile {
  write(bytes: Buffer): void;
  flush(done: () => void): void;
}

/** The library writes 16 KiB at most at once. */
const OWN_PIECES = { minLength: 15_000, maxWrite: 16_384 };
/** What several processes write to one pipe is kept in one piece up to 4,096 bytes. */
const SHARED_PIECES = { minLength: 3_400, maxWrite: 4_096 };
/** A line is seen this late at most; those of a process that is killed meanwhile are lost. */
const LOG_FLUSH_MS = 500;

/** @param options.isShared - Whether other processes write to the same standard output. */
export function openLog(level: string, { isShared }: { readonly isShared: boolean }): Log {
  const file = pino.destination({
    dest: process.stdout.fd,
    // Lines are written many at a time: a write for each would cost as much as the rest of a request.
    sync: false,
    ...(isShared ? SHARED_PIECES : OWN_PIECES),
    periodicFlush: LOG_FLUSH_MS,
    // Of texts, the library counts the bytes of all that wait again with each one that comes.
    contentMode: 'buffer',
  }) as object as ByteFile;
  const writeLine = (line: string): void => {
    file.write(Buffer.from(line));
  };
  const lines = {
    write: writeLine,
    flush: (done: () => void) => {
      file.flush(done);
    },
  };
  return {
    log: pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines),
    writeLine,
  };
}
