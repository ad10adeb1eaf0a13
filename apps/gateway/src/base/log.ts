/** Where log lines go. */

import { writeSync } from 'node:fs';
import { pino } from 'pino';
import type { Logger } from 'pino';

/** The part of pino's destination that is used here. Pino's published types allow only strings. */
interface ByteFile {
  write(bytes: Buffer): void;
  flush(done: () => void): void;
  flushSync(): void;
  destroy(): void;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): void;
  on(event: 'drain', listener: () => void): void;
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

/** After a failed write, for example on a full disk, lines are dropped for this time. */
const RETRY_MS = 10_000;

/**
 * A process whose log cannot be written continues to serve. It reports the failure once on standard
 * error, and drops all lines until a new attempt to write succeeds. If nobody reads the pipe any
 * more, it drops all later lines without a report.
 *
 * @param options.isShared - Whether other processes write to the same standard output.
 */
export function openLog(level: string, { isShared }: { readonly isShared: boolean }): Logger {
  let file: ByteFile | undefined = openFile(isShared, onFailure);
  /** The time of the first failed write; `undefined` while lines are written. */
  let failedAt: string | undefined;

  function onFailure(error: Error): void {
    file = undefined;
    if (failedAt === undefined) complain(error);
    failedAt ??= new Date().toISOString();
    setTimeout(reopen, RETRY_MS).unref();
  }

  function reopen(): void {
    file = openFile(isShared, onFailure);
    file.on('drain', () => {
      failedAt = undefined;
    });
    // The last line may be cut off, so the next one begins on a new line.
    file.write(Buffer.from('\n'));
    log.error({ since: failedAt }, 'log lines lost');
  }

  const lines = {
    write(line: string) {
      file?.write(Buffer.from(line));
    },
    flush: (done: () => void) => {
      if (file === undefined) done();
      else file.flush(done);
    },
  };
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
  return log;
}

/**
 * @param onFailure - Called once, with the reason, if a write fails, unless nobody reads the pipe
 * any more. The file is closed then.
 */
function openFile(isShared: boolean, onFailure: (error: Error) => void): ByteFile {
  const file = pino.destination({
    dest: process.stdout.fd,
    // Lines are written in batches: one write per line would cost as much CPU as the rest of a
    // request.
    sync: false,
    ...(isShared ? SHARED_PIECES : OWN_PIECES),
    periodicFlush: LOG_FLUSH_MS,
    // Given strings, sonic-boom measures its whole buffer again on each write: 2.8 µs per line.
    contentMode: 'buffer',
  }) as object as ByteFile;
  let hasFailed = false;
  file.on('error', (error) => {
    // If nobody reads the pipe any more, pino itself drops all later lines. It emits any other
    // error a second time.
    if (hasFailed || error.code === 'EPIPE') return;
    hasFailed = true;
    // Pino flushes the file when the process exits, and would then try for ever.
    file.flushSync = () => undefined;
    file.destroy();
    onFailure(error);
  });
  return file;
}

function complain({ message }: Error): void {
  try {
    writeSync(process.stderr.fd, `gateway: the log cannot be written: ${message}\n`);
  } catch {
    // Standard error is often the same file.
  }
}
