/** The main thread's side of a thread of the embedded ledger. */

import { builtFile } from '../../ledger/threads/built-file.js';
import { createThread } from '../../ledger/threads/thread-client.js';
import type {
  LedgerThread,
  Operations,
  ThreadOptions,
} from '../../ledger/threads/thread-client.js';
import type { CommitReport, ThreadData } from './messages.js';
import type { ReadOperations, RequestOperations, WriteOperations } from './operations.js';

const FILE = builtFile('embedded/ledger-thread', import.meta.url);

/** Charges and records of all requests, and sums, of which a holder can make thousands. */
const COPIED: ReadonlySet<string> = new Set<
  keyof WriteOperations | keyof ReadOperations | keyof RequestOperations
>(['settleBatch', 'recordRequests', 'readUsage']);

export function createLedgerThread<All extends Operations<All>>(
  data: ThreadData,
  options: ThreadOptions<CommitReport> = {},
): LedgerThread<All> {
  const code = { file: FILE, data, writes: data.role === 'write' };
  return createThread(code, { ...options, copied: COPIED });
}
