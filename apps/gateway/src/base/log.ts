/** Where log lines go. */

import { writeSync } from 'node:fs';
import { pino } from 'pino';
import type { Logger } from 'pino';

/** The part of pino's destination that is used here. Pino's published types allow only strings. */
interface ByteFile {
  write(bytes: Buffer): void;
  flush(done: () => void): void;
  flushSync(): void;
  /** Writes everything, then destroys itself. */
  end(): void;
  destroy(): void;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): void;
  on(event: 'drain' | 'close', listener: () => void): void;
}

export interface OpenLog {
  readonly log: Logger;
  /**
   * Writes the lines that wait, and stops the timer that writes them. Otherwise a process that
   * starts and stops gateways would keep one timer for each. Later lines are written at once.
   *
   * @returns when the lines are written, or after {@link CLOSE_MS} if nobody reads them
   */
  readonly close: () => Promise<void>;
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

/** A pipe that is full and that nobody reads must not keep a gateway from stopping. */
const CLOSE_MS = 5_000;
/** How often a later line is tried while the pipe is full, with 100 ms between two attempts. */
const LATE_RETRIES = 20;

/**
 * A process whose log cannot be written continues to serve. It reports the failure once on standard
 * error, and drops all lines until a new attempt to write succeeds. If nobody reads the pipe any
 * more, it drops all later lines without a report. The file is opened for the first line, so never
 * at the level `silent`.
 *
 * @param options.isShared - Whether other processes write to the same standard output.
 */
export function openLog(level: string, { isShared }: { readonly isShared: boolean }): OpenLog {
  /** `undefined` before the first line, after a failed write, and when the log is closed. */
  let file: ByteFile | undefined;
  let isNew = true;
  /** The time of the first failed write; `undefined` while lines are written. */
  let failedAt: string | undefined;
  let retry: NodeJS.Timeout | undefined;
  let lateFile: ByteFile | undefined;
  let isClosed = false;

  function onFailure(error: NodeJS.ErrnoException): void {
    file = undefined;
    // Nobody reads the pipe any more.
    if (error.code === 'EPIPE') return;
    if (failedAt === undefined) complain(error);
    failedAt ??= new Date().toISOString();
    if (!isClosed) retry = setTimeout(reopen, RETRY_MS).unref();
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

  function openedFile(): ByteFile | undefined {
    if (isClosed) return (lateFile ??= openLateFile());
    if (isNew) file = openFile(isShared, onFailure);
    isNew = false;
    return file;
  }

  const lines = {
    write(line: string) {
      openedFile()?.write(Buffer.from(line));
    },
    flush: (done: () => void) => {
      if (file === undefined) done();
      else file.flush(done);
    },
  };
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
  return {
    log,
    async close() {
      isClosed = true;
      clearTimeout(retry);
      const last = file;
      file = undefined;
      if (last !== undefined) await end(last);
    },
  };
}

/** Resolves when everything is written, or after a limited time. */
function end(file: ByteFile): Promise<void> {
  return new Promise((resolve) => {
    const tooLong = setTimeout(resolve, CLOSE_MS);
    file.on('close', () => {
      clearTimeout(tooLong);
      resolve();
    });
    file.end();
  });
}

/**
 * For the few lines after the end, such as the one that says that the gateway has stopped. Each is
 * written before the call returns.
 */
function openLateFile(): ByteFile {
  let retries = LATE_RETRIES;
  const file = pino.destination({
    dest: process.stdout.fd,
    sync: true,
    contentMode: 'buffer',
    retryEAGAIN: () => (retries -= 1) >= 0,
  }) as object as ByteFile;
  // There is no later line that could report the loss.
  file.on('error', () => undefined);
  return file;
}

/** @param onFailure - Called once, with the reason, if a write fails. The file is closed then. */
function openFile(isShared: boolean, onFailure: (error: NodeJS.ErrnoException) => void): ByteFile {
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
  // If nobody reads the pipe any more, pino replaces this method by one that does nothing, and the
  // timer would go on.
  const destroy = file.destroy.bind(file);
  let hasFailed = false;
  file.on('error', (error) => {
    // Pino emits some errors a second time.
    if (hasFailed) return;
    hasFailed = true;
    // Pino flushes the file when the process exits, and would then try for ever.
    file.flushSync = () => undefined;
    destroy();
    onFailure(error);
  });
  return file;
}

function complain({ message }: Error): void {
  try {
    writeSync(process.stderr.fd, `farthing: the log cannot be written: ${message}\n`);
  } catch {
    // Standard error is often the same file.
  }
}
