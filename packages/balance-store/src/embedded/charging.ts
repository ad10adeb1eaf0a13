/** Whether charges can be recorded in the embedded ledger at the moment. */

import { access, constants, statfs } from 'node:fs/promises';
import type { ChargingCheck } from '../ledger/charging/charge-watch.js';
import { StoreUnavailableError } from '../store.js';

/**
 * New requests are refused when less than this is free, so that those in progress can still be
 * charged. A charge alone in its transaction writes about 40 KiB.
 */
const RESERVE_BYTES = 4 * 1024 * 1024;

/**
 * Asks whether the directory can be written, and whether its disk has room. Changes nothing.
 *
 * @throws {StoreUnavailableError} if not
 */
export async function checkCharging(dataDir: string): Promise<ChargingCheck> {
  try {
    await access(dataDir, constants.W_OK);
  } catch (error) {
    throw new StoreUnavailableError(
      `${dataDir} cannot be written (${String(error)}): check its permissions, and that its disk is ` +
        'not read-only',
      { cause: error },
    );
  }
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize >= RESERVE_BYTES) return { clockSkewMs: undefined };
  throw new StoreUnavailableError(
    `less than ${String(RESERVE_BYTES / 1024 / 1024)} MiB are free on the disk of ${dataDir}: make room`,
  );
}
