/** The refusal of a request that the limits of the operator's upstream accounts do not admit. */

import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { waitOf } from '../http/refusal.js';

/** No client should hold a request back for longer, so it is asked not to try again by itself. */
const LONG_WAIT_SECONDS = 600;

export function isLongWait(seconds: number): boolean {
  return seconds > LONG_WAIT_SECONDS;
}

/**
 * A 429 in the gateway's own words, because the upstream's name its quotas.
 *
 * @param seconds - How long the client must wait, however long that is.
 */
export function upstreamLimit(seconds: number): Refusal {
  const refusal = newRefusal('upstream_rate_limited', waitOf(seconds * 1000));
  return isLongWait(seconds) ? { ...refusal, shouldRetry: false } : refusal;
}
