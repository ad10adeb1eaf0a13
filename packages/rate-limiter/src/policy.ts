/**
 * Limits as plain numbers. They are passed with each call, so changing a key's limits needs no
 * restart.
 */

export interface Policy {
  /** The most leases at the same time. */
  readonly concurrency: number;
  /** Permits that may be taken at once after a pause. */
  readonly burst: number;
  /** Rate at which permits come back. */
  readonly requestsPerMinute: number;
  /**
   * How many permits an admission takes, above 0 and at most the burst; 1 when absent. With 0.5 a
   * member of a group has twice the group's burst and rate, in the bucket that all members share.
   * With 5 an admission counts like five.
   */
  readonly cost?: number;
}

export interface LogPolicy {
  readonly limit: number;
  readonly windowMs: number;
}

const MICROSECONDS_PER_MINUTE = 60_000_000;

/**
 * 31.7 years. Added to the current time in microseconds, even if that counts from 1970, it stays
 * below 2^53, so a double holds the sum exactly.
 */
const MAX_SPAN_US = 1e15;

/**
 * Microseconds until one permit comes back. Whole, so that sums of it are exact; rounded up, so
 * that no more permits come back than the policy allows.
 */
function permitIntervalUs(policy: Policy): number {
  return Math.ceil(MICROSECONDS_PER_MINUTE / policy.requestsPerMinute);
}

/**
 * Microseconds until the permits of one admission are back. Rounded down, so that a cost of 1/n
 * allows no less than n times the limits.
 */
export function admissionIntervalUs(policy: Policy): number {
  return Math.max(1, Math.floor(permitIntervalUs(policy) * (policy.cost ?? 1)));
}

/** Microseconds until all permits of a burst that is used up are back. */
export function burstSpanUs(policy: Policy): number {
  return policy.burst * permitIntervalUs(policy);
}

/**
 * @throws {RangeError} when a limit is not a positive number, or not an integer where one is
 * needed, or when the burst takes longer than {@link MAX_SPAN_US} to come back.
 */
export function assertPolicy(policy: Policy): void {
  assertCount('concurrency', policy.concurrency);
  assertCount('burst', policy.burst);
  if (!(policy.requestsPerMinute > 0 && policy.requestsPerMinute < Infinity)) {
    throw new RangeError(`requestsPerMinute is ${policy.requestsPerMinute}, not a number above 0`);
  }
  const { cost = 1 } = policy;
  if (!(cost > 0 && cost <= policy.burst)) {
    throw new RangeError(`cost is ${cost}, not above 0 and at most the burst`);
  }
  if (burstSpanUs(policy) > MAX_SPAN_US) {
    throw new RangeError('burst takes more than 31 years to come back at requestsPerMinute');
  }
}

/**
 * @throws {RangeError} when the limit or the window is not a positive integer, or the window is
 * longer than {@link MAX_SPAN_US}.
 */
export function assertLogPolicy(policy: LogPolicy): void {
  assertCount('limit', policy.limit);
  assertCount('windowMs', policy.windowMs);
  if (policy.windowMs * 1_000 > MAX_SPAN_US) throw new RangeError('windowMs is more than 31 years');
}

function assertCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw new RangeError(`${name} is ${value}, not an integer of at least 1`);
}

/**
 * The share of one replica when `replicas` share a policy without communicating. Its concurrency
 * and burst are at least 1.
 */
export function shareOfPolicy(policy: Policy, replicas: number): Policy {
  const burst = shareOf(policy.burst, replicas);
  return {
    ...policy,
    concurrency: shareOf(policy.concurrency, replicas),
    burst,
    requestsPerMinute: policy.requestsPerMinute / replicas,
    // Otherwise an admission that takes more permits than the share has would never be granted.
    ...(policy.cost !== undefined && { cost: Math.min(policy.cost, burst) }),
  };
}

/** As {@link shareOfPolicy}, for a sliding log. */
export function shareOfLogPolicy(policy: LogPolicy, replicas: number): LogPolicy {
  return { limit: shareOf(policy.limit, replicas), windowMs: policy.windowMs };
}

function shareOf(count: number, replicas: number): number {
  return Math.max(1, Math.floor(count / replicas));
}
