/** The main thread's side of a thread of the embedded ledger. */

import { extname } from 'node:path';
import { createThread } from '../../ledger/threads/thread-client.js';
import type {
  LedgerThread,
  Operations,
  ThreadOptions,
} from '../../ledger/threads/thread-client.js';
import type { CommitReport, ThreadData } from './messages.js';

/** A thread always runs the built file, even when tests run the sources. */
const FILE = new URL(
  extname(import.meta.url) === '.ts'
    ? '../../../dist/embedded/ledger-thread.js'
    : './ledger-thread.js',
  import.meta.url,
);

export function createLedgerThread<All extends Operations<All>>(
  data: ThreadData,
  options: ThreadOptions<CommitReport> = {},
): LedgerThread<All> {
  return createThread({ file: FILE, data, writes: data.role === 'write' }, options);
}
