/**
 * Admission: one concurrency lease and one burst permit, both or neither.
 *
 * This function over plain data is the specification of `Limiter.admit`. The memory backend calls
 * it; the Redis backend is the same function in Lua.
 */

import { takePermit } from './gcra.js';
import type { Policy } from './policy.js';

export interface SubjectState {
  /** Leases in flight. */
  readonly leases: number;
  /** State of the burst limit; undefined when every permit is there. */
  readonly tatUs: number | undefined;
}

export type AdmissionDecision =
  | { readonly outcome: 'admitted'; readonly state: SubjectState }
  | { readonly outcome: 'denied'; readonly limit: 'concurrency' }
  | { readonly outcome: 'denied'; readonly limit: 'rate'; readonly waitUs: number };

/** A denial leaves the state as it is: it takes no lease and spends no permit. */
export function decideAdmission(
  state: SubjectState,
  nowUs: number,
  policy: Policy,
): AdmissionDecision {
  if (state.leases >= policy.concurrency) return { outcome: 'denied', limit: 'concurrency' };
  const permit = takePermit(state.tatUs, nowUs, policy);
  if (permit.outcome === 'denied') {
    return { outcome: 'denied', limit: 'rate', waitUs: permit.waitUs };
  }
  return { outcome: 'admitted', state: { leases: state.leases + 1, tatUs: permit.tatUs } };
}

/**
 * How long to wait for a lease. The limiter cannot know when one will be released, so this is a
 * guess of one to two seconds. It is random, so that clients that are denied together do not retry
 * together.
 *
 * @param random - Uniform in [0, 1).
 */
export function leaseRetryAfterMs(random: () => number): number {
  return 1_000 + Math.floor(random() * 1_001);
}
