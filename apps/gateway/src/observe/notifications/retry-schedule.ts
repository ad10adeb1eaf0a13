/** Decides when a failed webhook is sent again, and when it is given up. */

import type { StoredEvent } from '@gateway/balance-store';
import { HOUR_MS, MINUTE_MS } from '../../base/times.js';

export interface RetrySchedule {
  /** The delay after each failed attempt, in milliseconds. The last delay repeats. */
  readonly delaysMs: readonly number[];
  /** The age of an event after which it is not tried again, if it had at least `leastAttempts`. */
  readonly giveUpAfterMs: number;
  /**
   * The minimum number of attempts. It matters for events that waited behind another event of their
   * account, or for a gateway that was down.
   */
  readonly leastAttempts: number;
}

const [SECOND, MINUTE, HOUR] = [1_000, MINUTE_MS, HOUR_MS];

export const RETRY_SCHEDULE: RetrySchedule = {
  delaysMs: [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR],
  giveUpAfterMs: 24 * HOUR,
  leastAttempts: 3,
};

/** Delays vary by this share in both directions, so that events that failed together spread out. */
const JITTER = 0.2;

/**
 * @param event - The event before the attempt that has just failed.
 * @param now - Milliseconds since the epoch.
 * @param random - From 0 to 1.
 * @returns `undefined`: it is given up.
 */
export function nextAttempt(
  { delaysMs, giveUpAfterMs, leastAttempts }: RetrySchedule,
  event: Pick<StoredEvent, 'attempts' | 'createdAt'>,
  { now, random }: { readonly now: number; readonly random: number },
): Date | undefined {
  const attempts = event.attempts + 1;
  const delayMs = delaysMs[Math.min(attempts, delaysMs.length) - 1] ?? 0;
  const at = now + delayMs * (1 - JITTER + 2 * JITTER * random);
  const isOld = at - event.createdAt.getTime() > giveUpAfterMs;
  return isOld && attempts >= leastAttempts ? undefined : new Date(at);
}
