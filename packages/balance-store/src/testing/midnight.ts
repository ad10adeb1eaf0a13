/** For tests of what ends with a day: a cap, a sum of today, an allowance of the month. */

import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS } from '../ledger/base/hours.js';

/**
 * Waits for the new day in UTC if it begins within this time. Otherwise a test could begin on one
 * day and end on the next.
 */
export async function waitPastMidnight(withinMs = 60_000): Promise<void> {
  const day = Math.floor(Date.now() / DAY_MS);
  if ((day + 1) * DAY_MS - Date.now() > withinMs) return;
  while (Math.floor(Date.now() / DAY_MS) === day) await sleep(50);
}
