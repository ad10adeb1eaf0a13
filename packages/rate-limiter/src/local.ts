/**
 * Local limits: how one process decides while it cannot ask Redis.
 *
 * They count everything that this process has granted, through Redis or locally. Otherwise each
 * loss of Redis would give a client a second burst (docs/decisions/0018). These functions over
 * plain data are the specification of a Redis limiter's behaviour without Redis.
 *
 * A call to Redis without an answer is pending. Local decisions count it as granted, because Redis
 * may still grant it.
 */

import type { Policy, LogPolicy } from './policy.js';
import { admissionIntervalUs, burstSpanUs } from './policy.js';
import type { LogDecision } from './sliding-log.js';
import { addEvent, takeSlot } from './sliding-log.js';

/** The limits of all processes together, and the share of this one while it decides locally. */
export interface SharedLimits<P> {
  readonly whole: P;
  readonly share: P;
}

/** The permits of one subject that this process has granted. */
export interface OwnPermits {
  /**
   * Their TAT: the time at which all of them are available again. A time in the past means a full
   * bucket.
   */
  readonly tatUs: number;
  /** Some permits were granted locally, so Redis does not count all of them. */
  readonly isAhead: boolean;
  readonly pending: number;
  /** How long the pending permits take to become available again if all are granted. */
  readonly pendingUs: number;
}

/** The events of one sliding log that this process has allowed. */
export interface OwnEvents {
  /** Their times, oldest first. */
  readonly log: readonly number[];
  /** When the last event that Redis does not count leaves the window. */
  readonly aheadUntilUs: number;
  readonly pending: number;
}

export type LocalAdmission =
  | { readonly outcome: 'admitted'; readonly tatUs: number }
  | { readonly outcome: 'denied'; readonly limit: 'concurrency' }
  | { readonly outcome: 'denied'; readonly limit: 'rate'; readonly waitUs: number };

/**
 * Admits by the share of this process.
 *
 * A permit that Redis granted becomes available again at the rate of the whole limit. A permit that
 * is granted here becomes available again at the rate of the share, because the other processes may
 * grant theirs at the same time.
 *
 * @param leases - All that this process holds, granted by Redis or locally.
 */
export function admitLocally(
  own: OwnPermits,
  { leases, nowUs }: { readonly leases: number; readonly nowUs: number },
  limits: SharedLimits<Policy>,
): LocalAdmission {
  const { share } = limits;
  if (leases + own.pending >= share.concurrency) return { outcome: 'denied', limit: 'concurrency' };
  const waitUs = permitWaitUs(own, nowUs, { limits, deciding: share });
  if (waitUs > 0) return { outcome: 'denied', limit: 'rate', waitUs };
  return { outcome: 'admitted', tatUs: Math.max(own.tatUs, nowUs) + admissionIntervalUs(share) };
}

/**
 * How long to wait before Redis may be asked for a permit; 0 if it may be asked now.
 *
 * Redis does not count permits that were granted locally and would grant them a second time. The
 * wait ends when the whole limit has a permit left beyond those of this process.
 */
export function waitBeforeAskingUs(
  own: OwnPermits,
  nowUs: number,
  limits: SharedLimits<Policy>,
): number {
  return isStillAhead(own, nowUs)
    ? permitWaitUs(own, nowUs, { limits, deciding: limits.whole })
    : 0;
}

/**
 * How many more permits Redis may be asked for at once; `Infinity` if Redis counts all of them, and
 * so knows better.
 */
export function permitsLeftToAsk(
  own: OwnPermits,
  nowUs: number,
  limits: SharedLimits<Policy>,
): number {
  if (!isStillAhead(own, nowUs)) return Infinity;
  const { whole } = limits;
  const freeUs = burstSpanUs(whole) - usedSpanUs(own, nowUs, limits);
  return Math.max(0, Math.floor(freeUs / admissionIntervalUs(whole)));
}

/**
 * Whether permits that were granted locally still count: the TAT is in the future, or a pending
 * permit, which the TAT does not include, can still move it there.
 */
export function isStillAhead(own: OwnPermits, nowUs: number): boolean {
  return own.isAhead && (own.pending > 0 || own.tatUs > nowUs);
}

/**
 * The given TAT, but no later than that of a burst that is used up now. The given TAT can be later
 * if the limits were lowered. Without this bound the subject would be locked out.
 */
export function boundTatUs(tatUs: number, nowUs: number, limits: SharedLimits<Policy>): number {
  return Math.min(tatUs, nowUs + longestSpanUs(limits));
}

/**
 * The TAT after Redis has granted one more permit. Never later than that of a burst that is used up
 * now.
 */
export function tatAfterGrantUs(tatUs: number, nowUs: number, policy: Policy): number {
  const afterUs = Math.max(tatUs, nowUs) + admissionIntervalUs(policy);
  return Math.min(afterUs, nowUs + burstSpanUs(policy));
}

/** Allows an event by the share of this process. */
export function recordLocally(
  own: OwnEvents,
  nowUs: number,
  { whole, share }: SharedLimits<LogPolicy>,
): LogDecision {
  const decision = takeSlot(withPending(own, nowUs), nowUs, share);
  if (decision.outcome === 'denied') return decision;
  return { ...decision, log: addEvent(own.log, nowUs, whole) };
}

/** As {@link waitBeforeAskingUs}, for an event. */
export function eventWaitBeforeAskingUs(own: OwnEvents, nowUs: number, policy: LogPolicy): number {
  if (own.aheadUntilUs <= nowUs) return 0;
  const decision = takeSlot(withPending(own, nowUs), nowUs, policy);
  return decision.outcome === 'denied' ? decision.waitUs : 0;
}

/** As {@link permitsLeftToAsk}, for events. */
export function eventsLeftToAsk(own: OwnEvents, nowUs: number, policy: LogPolicy): number {
  if (own.aheadUntilUs <= nowUs) return Infinity;
  const next = takeSlot(withPending(own, nowUs), nowUs, policy);
  return next.outcome === 'denied' ? 0 : next.remaining + 1;
}

/** How long until the policy has a permit; 0 if it has one now. */
function permitWaitUs(
  own: OwnPermits,
  nowUs: number,
  { limits, deciding }: { readonly limits: SharedLimits<Policy>; readonly deciding: Policy },
): number {
  const usedUs = usedSpanUs(own, nowUs, limits);
  return Math.max(0, usedUs + admissionIntervalUs(deciding) - burstSpanUs(deciding));
}

function usedSpanUs(own: OwnPermits, nowUs: number, limits: SharedLimits<Policy>): number {
  const grantedUs = Math.max(own.tatUs - nowUs, 0) + own.pendingUs;
  // Redis grants at most one burst of the pending permits.
  return Math.min(grantedUs, longestSpanUs(limits));
}

/**
 * The span of the share can be longer: a share is at least one permit, and its permits become
 * available again at a fraction of the rate.
 */
function longestSpanUs({ whole, share }: SharedLimits<Policy>): number {
  return Math.max(burstSpanUs(whole), burstSpanUs(share));
}

function withPending({ log, pending }: OwnEvents, nowUs: number): readonly number[] {
  return [...log, ...Array.from({ length: pending }, () => nowUs)];
}
