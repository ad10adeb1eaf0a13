/**
 * The burst limit: the generic cell rate algorithm, a token bucket kept in a single number.
 *
 * That number is the theoretical arrival time (TAT): the time at which the bucket will be full
 * again. Each permit moves the TAT one interval ahead, or a part of it for a part of a permit. A
 * permit that would move it more than `burst` intervals ahead of now is denied. All times are whole
 * microseconds on one clock, so the arithmetic is exact.
 */

import type { Policy } from './policy.js';
import { admissionIntervalUs, burstSpanUs } from './policy.js';

export type PermitDecision =
  | { readonly outcome: 'allowed'; readonly tatUs: number }
  | { readonly outcome: 'denied'; readonly waitUs: number };

/**
 * Whether a permit may be taken now, and the state after it. A denial leaves the state as it is.
 *
 * Exactly `burst` permits are allowed at once from a full bucket. A TAT further ahead than the
 * policy can have put it (the clock stepped back, or the limits were lowered) counts as a bucket
 * with one permit left. That permit brings the TAT back into range, so a clock never locks a
 * subject out.
 *
 * @param tatUs - State left by the last allowed permit; undefined for a full bucket.
 */
export function takePermit(
  tatUs: number | undefined,
  nowUs: number,
  policy: Policy,
): PermitDecision {
  const intervalUs = admissionIntervalUs(policy);
  const spanUs = burstSpanUs(policy);
  const startUs = Math.max(tatUs ?? nowUs, nowUs);
  if (startUs > nowUs + spanUs) return { outcome: 'allowed', tatUs: nowUs + spanUs };
  const nextUs = startUs + intervalUs;
  if (nextUs > nowUs + spanUs) return { outcome: 'denied', waitUs: nextUs - nowUs - spanUs };
  return { outcome: 'allowed', tatUs: nextUs };
}

/** How many more permits could be taken at once. */
export function permitsLeft(tatUs: number, nowUs: number, policy: Policy): number {
  return Math.floor((nowUs + burstSpanUs(policy) - tatUs) / admissionIntervalUs(policy));
}
