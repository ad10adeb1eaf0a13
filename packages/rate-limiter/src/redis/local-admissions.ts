/**
 * Local admissions: applies the local limits of `local.ts` to the permits that this process has
 * granted, which it keeps in a map by subject.
 *
 * The map is also kept up to date while Redis decides, so that the local limits include all that
 * was granted.
 */

import { leaseRetryAfterMs } from '../admission.js';
import { createExpiringMap } from '../expiring-map.js';
import type { Admission } from '../limiter.js';
import {
  admitLocally,
  boundTatUs,
  isStillAhead,
  tatAfterGrantUs,
  waitBeforeAskingUs,
} from '../local.js';
import { permitIntervalUs, shareOfPolicy } from '../policy.js';
import type { Policy } from '../policy.js';

export interface LocalAdmissionsOptions {
  /** Whole microseconds of a monotonic clock. */
  readonly nowUs: () => number;
  readonly random: () => number;
  readonly replicas: number;
  readonly maxSubjects: number;
  /** How many leases of `subject` this process holds. */
  readonly leasesOf: (subject: string) => number;
}

export interface LocalAdmissions {
  /** Call this before Redis is asked for an admission. After a denial, do not ask Redis. */
  ask(subject: string, policy: Policy): PendingAdmission | Denial;
  /** Decides by the share of this process. */
  admit(subject: string, policy: Policy): { readonly outcome: 'admitted' } | Denial;
  clear(): void;
}

/** Counts as granted until one of its methods is called. Call exactly one of them, once. */
export interface PendingAdmission {
  readonly outcome: 'pending';
  granted(): void;
  notGranted(): void;
}

type Denial = Extract<Admission, { readonly outcome: 'denied' }>;

/**
 * `OwnPermits`, changed in place: a pending admission keeps a reference, so its answer needs no
 * look-up.
 */
interface Subject {
  tatUs: number;
  isAhead: boolean;
  pending: number;
  pendingUs: number;
}

export function createLocalAdmissions(options: LocalAdmissionsOptions): LocalAdmissions {
  const { nowUs, random, replicas, maxSubjects, leasesOf } = options;
  const subjects = createExpiringMap<Subject>({
    maxEntries: maxSubjects,
    expiresAtUs: ({ pending, tatUs }) => (pending > 0 ? Infinity : tatUs),
  });

  const limitsOf = (policy: Policy) => ({ whole: policy, share: shareOfPolicy(policy, replicas) });

  const newSubject = (tatUs: number): Subject => ({
    tatUs,
    isAhead: false,
    pending: 0,
    pendingUs: 0,
  });

  const denial = (waitUs: number): Denial => ({
    outcome: 'denied',
    limit: 'rate',
    retryAfterMs: Math.ceil(waitUs / 1_000),
  });

  return {
    ask(name, policy) {
      const time = nowUs();
      const known = subjects.get(name, time);
      if (known?.isAhead === true) {
        const limits = limitsOf(policy);
        known.tatUs = boundTatUs(known.tatUs, time, limits);
        const waitUs = waitBeforeAskingUs(known, time, limits);
        if (waitUs > 0) return denial(waitUs);
        known.isAhead = isStillAhead(known, time);
      }
      const intervalUs = permitIntervalUs(policy);
      const own = known ?? newSubject(time);
      own.pending += 1;
      own.pendingUs += intervalUs;
      if (known === undefined) subjects.put(name, own, time);

      function notGranted(): void {
        own.pending -= 1;
        own.pendingUs -= intervalUs;
      }

      return {
        outcome: 'pending',
        granted() {
          notGranted();
          own.tatUs = tatAfterGrantUs(own.tatUs, nowUs(), policy);
        },
        notGranted,
      };
    },

    admit(name, policy) {
      const time = nowUs();
      const limits = limitsOf(policy);
      const own = subjects.get(name, time) ?? newSubject(time);
      own.tatUs = boundTatUs(own.tatUs, time, limits);
      const decision = admitLocally(own, { leases: leasesOf(name), nowUs: time }, limits);
      if (decision.outcome === 'denied') {
        if (decision.limit === 'rate') return denial(decision.waitUs);
        return { ...decision, retryAfterMs: leaseRetryAfterMs(random) };
      }
      own.tatUs = decision.tatUs;
      own.isAhead = true;
      subjects.put(name, own, time);
      return decision;
    },

    clear() {
      subjects.clear();
    },
  };
}
