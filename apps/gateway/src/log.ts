/** Where log lines go. */

import { pino } from 'pino';
import type { Logger } from 'pino';

export interface Log {
  readonly log: Logger;
  /** Writes one complete line of JSON. `line` includes the newline. */
  readonly writeLine: (line: string) => void;
}

/** The part of pino's destination that is used here. Pino's published types allow only strings. */
interface ByteFile {
  write(bytes: Buffer): void;
  flush(done: () => void): void;
}

/** Write sizes if no other process writes to standard output: sonic-boom's default of 16 KiB. */
const OWN_PIECES = { minLength: 15_000, maxWrite: 16_384 };
/**
 * When several processes write to one pipe, the system keeps writes of up to 4,096 bytes in one
 * piece.
 */
const SHARED_PIECES = { minLength: 3_400, maxWrite: 4_096 };
/**
 * A line is written within this time. If the process is killed, lines that are not written yet are
 * lost.
 */
const LOG_FLUSH_MS = 500;

/** @param options.isShared - Whether other processes write to the same standard output. */
export function openLog(level: string, { isShared }: { readonly isShared: boolean }): Log {
  const file = pino.destination({
    dest: process.stdout.fd,
    // Lines are written in batches: one write per line would cost as much CPU as the rest of a
    // request.
    sync: false,
    ...(isShared ? SHARED_PIECES : OWN_PIECES),
    periodicFlush: LOG_FLUSH_MS,
    // For strings, sonic-boom measures its whole buffer again on each write. Buffers avoid that.
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
