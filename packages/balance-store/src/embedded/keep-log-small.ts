/** Makes a guest that writes much wait until the write-ahead log is small again. */

import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedStoreLockedError } from '../errors.js';
import { takeOwnership } from './owner-lock.js';
import type { OwnerLock } from './owner-lock.js';
import { isLogLarge } from './sqlite/log.js';

/**
 * The longest wait. If a reader, such as a backup, keeps the log from being emptied for longer, the
 * log grows.
 */
const PATIENCE_MS = 5_000;
const POLL_MS = 100;

/** @param empty - Empties the log. Called only while this process owns the ledger. */
export async function keepLogSmall(
  { dataDir, file }: { readonly dataDir: string; readonly file: string },
  empty: () => Promise<void>,
): Promise<void> {
  for (let waitedMs = 0; isLogLarge(file) && waitedMs < PATIENCE_MS; waitedMs += POLL_MS) {
    const lock = ownershipOf(dataDir);
    if (lock === undefined) {
      // The owner empties the log.
      await sleep(POLL_MS);
      continue;
    }
    try {
      await empty();
    } finally {
      lock.release();
    }
  }
}

function ownershipOf(dataDir: string): OwnerLock | undefined {
  try {
    return takeOwnership(dataDir);
  } catch (error) {
    if (error instanceof EmbeddedStoreLockedError) return undefined;
    throw error;
  }
}
