/**
 * Admission: one concurrency lease and one burst permit of each limit, all or none.
 *
 * These functions over plain data are the specification of `Limiter.admit`. The memory backend
 * calls them; the Redis backend is the same function in Lua.
 */

import { permitsLeft, takePermit } from './gcra.js';
import type { Admission, Group } from './limiter.js';
import { assertPolicy } from './policy.js';
import type { Policy } from './policy.js';

export interface SubjectState {
  /** Leases in flight. */
  readonly leases: number;
  /** State of the burst limit; undefined when every permit is there. */
  readonly tatUs: number | undefined;
}

/** A limit that an admission asks for. */
export interface AskedLimit {
  readonly subject: string;
  readonly policy: Policy;
}

export type AdmissionDecision =
  | {
      readonly outcome: 'admitted';
      readonly states: readonly SubjectState[];
      /** The least number of permits that a limit has left. */
      readonly remaining: number;
    }
  | LimitDenial;

export type LimitDenial = {
  readonly outcome: 'denied';
  /** Index of the limit that denies. */
  readonly index: number;
} & ({ readonly limit: 'concurrency' } | { readonly limit: 'rate'; readonly waitUs: number });

/**
 * A denial leaves the states as they are: it takes no lease and spends no permit of any limit.
 *
 * @param limits - The limit of the subject, then that of its group, if any. The first that is
 * reached denies.
 * @returns once admitted, the state of each limit
 */
export function decideAdmission(
  limits: readonly { readonly state: SubjectState; readonly policy: Policy }[],
  nowUs: number,
): AdmissionDecision {
  const states: SubjectState[] = [];
  let remaining = Infinity;
  for (const [index, { state, policy }] of limits.entries()) {
    if (state.leases >= policy.concurrency) {
      return { outcome: 'denied', index, limit: 'concurrency' };
    }
    const permit = takePermit(state.tatUs, nowUs, policy);
    if (permit.outcome === 'denied') {
      return { outcome: 'denied', index, limit: 'rate', waitUs: permit.waitUs };
    }
    states.push({ leases: state.leases + 1, tatUs: permit.tatUs });
    remaining = Math.min(remaining, permitsLeft(permit.tatUs, nowUs, policy));
  }
  return { outcome: 'admitted', states, remaining };
}

/**
 * The limits of an admission, the subject's first.
 *
 * @throws {RangeError} when a policy makes no sense.
 */
export function limitsOf(
  subject: string,
  policy: Policy,
  group: Group | undefined,
): readonly AskedLimit[] {
  assertPolicy(policy);
  if (group === undefined) return [{ subject, policy }];
  assertPolicy(group.policy);
  return [{ subject, policy }, group];
}

/** @param random - Uniform in [0, 1). */
export function denialOf(
  denial: LimitDenial,
  random: () => number,
): Extract<Admission, { readonly outcome: 'denied' }> {
  return {
    outcome: 'denied',
    of: denial.index === 0 ? 'subject' : 'group',
    limit: denial.limit,
    retryAfterMs:
      denial.limit === 'rate' ? Math.ceil(denial.waitUs / 1_000) : leaseRetryAfterMs(random),
  };
}

/**
 * How long to wait for a lease. The limiter cannot know when one will be released, so this is a
 * guess of one to two seconds. It is random, so that clients that are denied together do not retry
 * together.
 *
 * @param random - Uniform in [0, 1).
 */
function leaseRetryAfterMs(random: () => number): number {
  return 1_000 + Math.floor(random() * 1_001);
}
