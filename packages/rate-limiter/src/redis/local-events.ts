/**
 * Local sliding logs: applies the local limits of `local.ts` to the events that this process has
 * allowed, which it keeps in a map by subject.
 *
 * The map is also kept up to date while Redis decides, so that the local limits include all that
 * was allowed.
 */

import type { Decision } from '../decision.js';
import { createExpiringMap } from '../expiring-map.js';
import { eventWaitBeforeAskingUs, eventsLeftToAsk, recordLocally } from '../local.js';
import { shareOfLogPolicy } from '../policy.js';
import type { LogPolicy } from '../policy.js';
import { addEvent } from '../sliding-log.js';

export interface LocalEventsOptions {
  /** Whole microseconds of a monotonic clock. */
  readonly nowUs: () => number;
  readonly replicas: number;
  readonly maxSubjects: number;
}

export interface LocalEvents {
  /** Call this before Redis is asked for an event. After a denial, do not ask Redis. */
  ask(subject: string, policy: LogPolicy): PendingEvent | Denial;
  /** Decides by the share of this process. */
  record(subject: string, policy: LogPolicy): Decision;
  clear(): void;
}

/** Counts as allowed until one of its methods is called. Call exactly one of them, once. */
export interface PendingEvent {
  readonly outcome: 'pending';
  /**
   * @returns how many more events this process would ask Redis for at once; `Infinity` if Redis
   * alone decides that.
   */
  allowed(): number;
  notAllowed(): void;
}

type Denial = Extract<Decision, { readonly outcome: 'denied' }>;

/**
 * `OwnEvents`, changed in place: a pending event keeps a reference, so its answer needs no look-up.
 */
interface Log {
  log: readonly number[];
  aheadUntilUs: number;
  pending: number;
  /** When the last event leaves the window. */
  emptyAtUs: number;
}

export function createLocalEvents(options: LocalEventsOptions): LocalEvents {
  const { nowUs, replicas, maxSubjects } = options;
  const logs = createExpiringMap<Log>({
    maxEntries: maxSubjects,
    expiresAtUs: ({ pending, emptyAtUs }) => (pending > 0 ? Infinity : emptyAtUs),
  });

  const newLog = (): Log => ({
    log: [],
    aheadUntilUs: -Infinity,
    pending: 0,
    emptyAtUs: -Infinity,
  });

  return {
    ask(name, policy) {
      const time = nowUs();
      const known = logs.get(name, time);
      const waitUs = known === undefined ? 0 : eventWaitBeforeAskingUs(known, time, policy);
      if (waitUs > 0) return denial(waitUs);
      const own = known ?? newLog();
      own.pending += 1;
      if (known === undefined) logs.put(name, own, time);

      function notAllowed(): void {
        own.pending -= 1;
      }

      return {
        outcome: 'pending',
        allowed(): number {
          notAllowed();
          const allowedAtUs = nowUs();
          own.log = addEvent(own.log, allowedAtUs, policy);
          own.emptyAtUs = allowedAtUs + policy.windowMs * 1_000;
          return eventsLeftToAsk(own, allowedAtUs, policy);
        },
        notAllowed,
      };
    },

    record(name, policy) {
      const time = nowUs();
      const own = logs.get(name, time) ?? newLog();
      const limits = { whole: policy, share: shareOfLogPolicy(policy, replicas) };
      const decision = recordLocally(own, time, limits);
      if (decision.outcome === 'denied') return denial(decision.waitUs);
      own.log = decision.log;
      own.emptyAtUs = time + policy.windowMs * 1_000;
      own.aheadUntilUs = own.emptyAtUs;
      logs.put(name, own, time);
      return { outcome: 'allowed', remaining: decision.remaining };
    },

    clear() {
      logs.clear();
    },
  };
}

function denial(waitUs: number): Denial {
  return { outcome: 'denied', retryAfterMs: Math.ceil(waitUs / 1_000) };
}
