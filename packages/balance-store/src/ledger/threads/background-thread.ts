/**
 * Long work of operators, such as an audit, runs in a thread of its own, so that it neither blocks
 * the event loop nor can take more memory than a part of the process's.
 */

import { getPriority, setPriority } from 'node:os';
import { BackgroundWorkError } from '../../errors.js';

/**
 * Limits of the heap of the embedded ledger's threads. All of their work is done page by page, so
 * it needs far less. A thread that reaches the limit ends; the process does not.
 */
export const THREAD_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

/** Limits for long work. A process that does nothing else then has less than 256 MB in all. */
export const BACKGROUND_LIMITS = { ...THREAD_LIMITS, maxOldGenerationSizeMb: 96 };

/** The share of the CPU that the thread then gets beside a busy one: a quarter. */
const NICENESS = 5;

/**
 * Gives other threads that want the CPU a larger share of it, if the system permits. Call it in the
 * thread.
 */
export function yieldToOtherThreads(): void {
  // Only Linux gives each thread a priority of its own; elsewhere this would slow the process.
  if (process.platform !== 'linux') return;
  try {
    // To lower the niceness of a process that was started with a higher one needs a right.
    if (getPriority() < NICENESS) setPriority(NICENESS);
  } catch {
    // A filter of system calls may refuse this. The work is the same at any priority.
  }
}

/** @returns an error that says why the thread ended, if it ended because of its memory. */
export function memoryErrorOf(error: unknown): BackgroundWorkError | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') return undefined;
  return new BackgroundWorkError(
    'the work needed more memory than it may use, and was ended; nothing was changed',
    { cause: error },
  );
}
