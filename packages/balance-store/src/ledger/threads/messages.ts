/** Messages between the main thread and a thread of the ledger. */

import type { MessagePort } from 'node:worker_threads';

/** What a thread is started with, besides what its file needs. */
export interface StartedThreadData {
  /** For all messages. The main thread can also take its messages without waiting for an event. */
  readonly port: MessagePort;
}

export interface Request {
  readonly id: number;
  readonly operation: string;
  /** Each argument is encoded, unless it is copied. */
  readonly args: readonly unknown[];
  /** Whether the port copies arguments and result as they are. */
  readonly isCopied: boolean;
  /** Whether to send {@link Progress} messages before the answer. */
  readonly reportsProgress: boolean;
}

/** The progress of an operation that has not finished. */
export interface Progress {
  readonly id: number;
  /** Encoded. */
  readonly progress: string;
}

export type Fault =
  /** The database cannot be read or written now: the same operation may succeed later. */
  | 'unavailable'
  /** A value is at fault, so that the same operation will always fail. */
  | 'refused'
  /** A `LedgerArchiveError`: an archive cannot be made, or its file is at fault. */
  | 'archive'
  /** A `LedgerMoveError`: a ledger cannot be moved to PostgreSQL. */
  | 'move'
  /** None of these: a mistake in this program. */
  | 'mistake';

/** @typeParam Report - What a thread that writes reports about its commit. */
export type Answer<Report = never> =
  | {
      readonly id: number;
      /** Encoded, unless it is copied. */
      readonly result: unknown;
      readonly commit?: Report;
    }
  | { readonly id: number; readonly fault: Fault; readonly name: string; readonly message: string };

export const STOP = 'stop';
