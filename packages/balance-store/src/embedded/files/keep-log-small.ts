/**
 * Keeps the write-ahead log small while an operator's command (a guest, see `open.ts`) writes a
 * lot. The command empties the log if no other process owns the ledger. Otherwise it waits until
 * the owner has emptied it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedStoreLockedError } from '../../errors.js';
import { takeOwnership } from './owner-lock.js';
import type { OwnerLock } from './owner-lock.js';
import { isLogLarge } from '../sqlite/log.js';

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
  const giveUpAt = performance.now() + PATIENCE_MS;
  while (isLogLarge(file) && performance.now() < giveUpAt) {
    // If there is another owner, it empties the log.
    const lock = ownershipOf(dataDir);
    try {
      if (lock !== undefined) await empty();
    } finally {
      lock?.release();
    }
    if (isLogLarge(file)) await sleep(POLL_MS);
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
