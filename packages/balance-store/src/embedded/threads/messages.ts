/** What a thread of the embedded ledger is started with, and what it reports about its commits. */

import type { CommitMark } from '../files/commit-mark.js';
import type { ChangedRows } from '../sqlite/settle.js';

export interface ThreadData {
  readonly file: string;
  /**
   * `background`: reads like `read`, at a lower priority than all other threads. `requests`: writes
   * and reads the record of requests, whose file is `file`.
   */
  readonly role: 'write' | 'read' | 'background' | 'requests';
  /** See `WriterOptions`. */
  readonly checkpoints: boolean;
  /** See `CommitIndex`. When absent, the writing thread reports no commits. */
  readonly indexDescriptor?: number | undefined;
}

/** What an operation committed, if the thread knows all that it changed of the standing of keys. */
export interface CommitReport {
  readonly from: CommitMark;
  readonly to: CommitMark;
  /** Undefined if nothing was changed. */
  readonly changed: ChangedRows | undefined;
}
