/** The main thread's side of a thread of the embedded ledger. */

import { builtFile } from '../../ledger/threads/built-file.js';
import { createThread } from '../../ledger/threads/thread-client.js';
import type {
  LedgerThread,
  Operations,
  ThreadOptions,
} from '../../ledger/threads/thread-client.js';
import type { CommitReport, ThreadData } from './messages.js';

const FILE = builtFile('embedded/ledger-thread', import.meta.url);

export function createLedgerThread<All extends Operations<All>>(
  data: ThreadData,
  options: ThreadOptions<CommitReport> = {},
): LedgerThread<All> {
  return createThread({ file: FILE, data, writes: data.role === 'write' }, options);
}
