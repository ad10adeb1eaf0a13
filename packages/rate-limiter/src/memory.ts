/** The limiter of one process: the pure functions of this package and three maps. */

import { decideAdmission, denialOf, limitsOf } from './admission.js';
import type { AskedLimit } from './admission.js';
import type { Decision } from './decision.js';
import { createExpiringMap } from './expiring-map.js';
import type { Admission, Group, Lease, Limiter } from './limiter.js';
import type { LogPolicy, Policy } from './policy.js';
import { assertLogPolicy } from './policy.js';
import { takeSlot } from './sliding-log.js';

export interface MemoryLimiterOptions {
  /** Monotonic clock in milliseconds; fractions count. Default: `performance.now`. */
  readonly now?: () => number;
  /**
   * Uniform in [0, 1), to spread the retries of clients denied together. Default: `Math.random`.
   */
  readonly random?: () => number;
  /**
   * The most subjects without a lease whose permits are remembered, and the most sliding logs.
   * Beyond this number of each, the least recently used are forgotten. Subjects with a lease are
   * always kept. Default: 100,000.
   */
  readonly maxSubjects?: number;
}

/** A {@link Limiter} that answers at once. */
export interface MemoryLimiter extends Limiter {
  admit(subject: string, policy: Policy, group?: Group): Admission;
  record(subject: string, policy: LogPolicy): Decision;
  leases(subject: string, group?: string): number;
  close(): void;
  /** Subjects and logs held in memory, for tests and metrics. */
  size(): number;
}

/** A subject with leases in flight. */
interface BusySubject {
  leases: number;
  tatUs: number | undefined;
}

interface Log {
  readonly events: readonly number[];
  /** When the last event of the log leaves the window. */
  readonly emptyAtUs: number;
}

/**
 * Limits for one process.
 *
 * A lease lives until it is released. Subjects that hold no lease and whose permits are all
 * available again are forgotten as others are used. State ends with the process.
 */
export function createMemoryLimiter(options: MemoryLimiterOptions = {}): MemoryLimiter {
  const { now = () => performance.now(), random = Math.random, maxSubjects = 100_000 } = options;
  /** Bounded by the leases in flight. */
  const busy = new Map<string, BusySubject>();
  /** TAT of subjects without a lease; it expires once every permit is back. */
  const resting = createExpiringMap<number>({
    maxEntries: maxSubjects,
    expiresAtUs: (tatUs) => tatUs,
  });
  const logs = createExpiringMap<Log>({
    maxEntries: maxSubjects,
    expiresAtUs: ({ emptyAtUs }) => emptyAtUs,
  });

  const nowUs = (): number => Math.floor(now() * 1_000);

  function stateOf(subject: string, time: number): BusySubject {
    return busy.get(subject) ?? { leases: 0, tatUs: resting.get(subject, time) };
  }

  function leaseOf(limits: readonly AskedLimit[]): Lease {
    let isHeld = true;
    return {
      release() {
        if (!isHeld) return;
        isHeld = false;
        for (const { subject } of limits) giveBack(subject);
      },
    };
  }

  function giveBack(subject: string): void {
    const state = busy.get(subject);
    // After `close`, the subject is not in the map any more.
    if (state === undefined) return;
    state.leases -= 1;
    if (state.leases > 0) return;
    busy.delete(subject);
    if (state.tatUs !== undefined) resting.put(subject, state.tatUs, nowUs());
  }

  return {
    admit(subject, policy, group) {
      const limits = limitsOf(subject, policy, group);
      const time = nowUs();
      const asked = limits.map((limit) => ({
        ...limit,
        state: stateOf(limit.subject, time),
      }));
      const decision = decideAdmission(asked, time);
      if (decision.outcome === 'denied') return denialOf(decision, random);
      asked.forEach(({ subject: name, state }, index) => {
        busy.set(name, Object.assign(state, decision.states[index]));
        resting.delete(name);
      });
      return { outcome: 'admitted', lease: leaseOf(limits), remaining: decision.remaining };
    },

    record(subject, policy) {
      assertLogPolicy(policy);
      const time = nowUs();
      const decision = takeSlot(logs.get(subject, time)?.events ?? [], time, policy);
      if (decision.outcome === 'denied') {
        return { outcome: 'denied', retryAfterMs: Math.ceil(decision.waitUs / 1_000) };
      }
      logs.put(subject, { events: decision.log, emptyAtUs: time + policy.windowMs * 1_000 }, time);
      return { outcome: 'allowed', remaining: decision.remaining };
    },

    leases(subject) {
      return busy.get(subject)?.leases ?? 0;
    },

    size() {
      return busy.size + resting.size() + logs.size();
    },

    close() {
      busy.clear();
      resting.clear();
      logs.clear();
    },
  };
}
