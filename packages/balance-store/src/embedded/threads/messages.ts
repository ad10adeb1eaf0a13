/** Messages between the main thread and a thread of the ledger. */

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

export type Answer =
  | { readonly id: number; /** Encoded. */ readonly result: string }
  | { readonly id: number; readonly fault: Fault; readonly name: string; readonly message: string };

export const STOP = 'stop';
