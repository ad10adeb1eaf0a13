/**
 * Local admissions: applies the local limits of `local.ts` to the permits that this process has
 * granted, which it keeps in a map by subject.
 *
 * The map is also kept up to date while Redis decides, so that the local limits include all that
 * was granted.
 */

import { denialOf } from '../admission.js';
import type { AskedLimit } from '../admission.js';
import { createExpiringMap } from '../expiring-map.js';
import { permitsLeft } from '../gcra.js';
import type { Admission } from '../limiter.js';
import {
  admitLocally,
  boundTatUs,
  isStillAhead,
  permitsLeftToAsk,
  tatAfterGrantUs,
  waitBeforeAskingUs,
} from '../local.js';
import { admissionIntervalUs, shareOfPolicy } from '../policy.js';
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
  ask(limits: readonly AskedLimit[]): PendingAdmission | Denial;
  /** Decides by the share of this process. */
  admit(
    limits: readonly AskedLimit[],
  ): { readonly outcome: 'admitted'; readonly remaining: number } | Denial;
  clear(): void;
}

/** Counts as granted until one of its methods is called. Call exactly one of them, once. */
export interface PendingAdmission {
  readonly outcome: 'pending';
  /**
   * @returns how many more admissions this process would ask Redis for at once; `Infinity` if Redis
   * alone decides that.
   */
  granted(): number;
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

  /** Counts one permit as granted until Redis has answered. */
  function addPending({ subject, policy }: AskedLimit, time: number) {
    const known = subjects.get(subject, time);
    const own = known ?? newSubject(time);
    const intervalUs = admissionIntervalUs(policy);
    own.isAhead = isStillAhead(own, time);
    own.pending += 1;
    own.pendingUs += intervalUs;
    if (known === undefined) subjects.put(subject, own, time);

    function notGranted(): void {
      own.pending -= 1;
      own.pendingUs -= intervalUs;
    }

    return {
      granted(): number {
        notGranted();
        const grantedAt = nowUs();
        own.tatUs = tatAfterGrantUs(own.tatUs, grantedAt, policy);
        return own.isAhead ? permitsLeftToAsk(own, grantedAt, limitsOf(policy)) : Infinity;
      },
      notGranted,
    };
  }

  return {
    ask(asked) {
      const time = nowUs();
      for (const [index, { subject, policy }] of asked.entries()) {
        const known = subjects.get(subject, time);
        if (known?.isAhead !== true) continue;
        const limits = limitsOf(policy);
        known.tatUs = boundTatUs(known.tatUs, time, limits);
        const waitUs = waitBeforeAskingUs(known, time, limits);
        if (waitUs > 0) {
          return denialOf({ outcome: 'denied', index, limit: 'rate', waitUs }, random);
        }
      }
      const pending = asked.map((limit) => addPending(limit, time));
      return {
        outcome: 'pending',
        granted() {
          let left = Infinity;
          for (const each of pending) left = Math.min(left, each.granted());
          return left;
        },
        notGranted() {
          for (const each of pending) each.notGranted();
        },
      };
    },

    admit(asked) {
      const time = nowUs();
      let remaining = Infinity;
      const granted: { subject: string; own: Subject; tatUs: number }[] = [];
      for (const [index, { subject, policy }] of asked.entries()) {
        const limits = limitsOf(policy);
        const own = subjects.get(subject, time) ?? newSubject(time);
        own.tatUs = boundTatUs(own.tatUs, time, limits);
        const decision = admitLocally(own, { leases: leasesOf(subject), nowUs: time }, limits);
        if (decision.outcome === 'denied') return denialOf({ ...decision, index }, random);
        granted.push({ subject, own, tatUs: decision.tatUs });
        remaining = Math.min(remaining, permitsLeft(decision.tatUs, time, limits.share));
      }
      for (const { subject, own, tatUs } of granted) {
        own.tatUs = tatUs;
        own.isAhead = true;
        subjects.put(subject, own, time);
      }
      return { outcome: 'admitted', remaining };
    },

    clear() {
      subjects.clear();
    },
  };
}
