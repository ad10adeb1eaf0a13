/** Messages between the main thread and a thread of the ledger. */

import type { MessagePort } from 'node:worker_threads';
import type { CommitMark } from '../commit-mark.js';
import type { Fault } from '../sqlite/faults.js';

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
  readonly indexDescriptor?: number;
}

export interface StartedThreadData extends ThreadData {
  /** For all messages. The main thread can also take its messages without waiting for an event. */
  readonly port: MessagePort;
}

export interface Request {
  readonly id: number;
  readonly operation: string;
  /** Each argument is encoded. */
  readonly args: readonly string[];
  /** Whether to send {@link Progress} messages before the answer. */
  readonly reportsProgress: boolean;
}

/** The progress of an operation that has not finished. */
export interface Progress {
  readonly id: number;
  /** Encoded. */
  readonly progress: string;
}

/** What an operation committed, if the thread knows all that it changed of the standing of keys. */
export interface CommitReport {
  readonly from: CommitMark;
  readonly to: CommitMark;
  /** Encoded by `batch-codec.ts`; undefined if nothing was changed. */
  readonly changed: string | undefined;
}

export type Answer =
  | { readonly id: number; /** Encoded. */ readonly result: string; readonly commit?: CommitReport }
  | { readonly id: number; readonly fault: Fault; readonly name: string; readonly message: string };

export const STOP = 'stop';
