/**
 * Decides admissions in Redis, or locally while Redis cannot be reached. Redis does not count the
 * permits that were granted locally. So after an outage this process denies without asking Redis,
 * as long as its own permits use up the whole limit.
 */

import { denialOf } from '../admission.js';
import type { AskedLimit } from '../admission.js';
import type { Admission } from '../limiter.js';
import type { AdmissionCalls, AdmissionReply } from './admission-calls.js';
import type { Breaker } from './breaker.js';
import type { LeaseRegistry } from './lease-registry.js';
import type { LocalAdmissions, PendingAdmission } from './local-admissions.js';
import { ADMIT_REPLY } from './lua-scripts.js';

export interface AdmissionsOptions {
  readonly calls: AdmissionCalls;
  /** Counts every admission, so that it knows how much Redis has granted. */
  readonly local: LocalAdmissions;
  readonly registry: LeaseRegistry;
  readonly breaker: Breaker;
  readonly newId: () => string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Called when Redis has fewer leases than this process holds. */
  readonly onLostLeases: () => void;
}

/** @returns a function that takes the limits as `limitsOf` returns them */
export function createAdmit(
  options: AdmissionsOptions,
): (limits: readonly AskedLimit[]) => Admission | Promise<Admission> {
  const { calls, local, registry, breaker, newId, random, onLostLeases } = options;

  function grant(limits: readonly AskedLimit[], id: string, remaining: number): Admission {
    const subjects = limits.map(({ subject }) => subject);
    registry.add(subjects, id);
    return {
      outcome: 'admitted',
      remaining,
      lease: {
        release() {
          if (registry.remove(subjects, id)) calls.release(subjects, id);
        },
      },
    };
  }

  function admitLocally(limits: readonly AskedLimit[], id: string): Admission {
    const decision = local.admit(limits);
    return decision.outcome === 'admitted' ? grant(limits, id, decision.remaining) : decision;
  }

  async function admitThroughRedis(
    limits: readonly AskedLimit[],
    pending: PendingAdmission,
  ): Promise<Admission> {
    const id = newId();
    let reply: AdmissionReply;
    try {
      reply = await calls.admit(limits, id);
    } catch (error) {
      pending.notGranted();
      breaker.failed(error);
      return admitLocally(limits, id);
    }
    breaker.succeeded();
    const { outcome, index, waitOrRemaining, hasLostLeases } = reply;
    if (hasLostLeases) onLostLeases();
    if (outcome === ADMIT_REPLY.admitted) {
      // Redis does not know of permits that were granted here, and would promise them again.
      return grant(limits, id, Math.min(waitOrRemaining, pending.granted()));
    }
    pending.notGranted();
    return denialOf(
      outcome === ADMIT_REPLY.deniedRate
        ? { outcome: 'denied', index, limit: 'rate', waitUs: waitOrRemaining }
        : { outcome: 'denied', index, limit: 'concurrency' },
      random,
    );
  }

  return (limits) => {
    if (!breaker.isClosed()) return admitLocally(limits, newId());
    const asked = local.ask(limits);
    return asked.outcome === 'denied' ? asked : admitThroughRedis(limits, asked);
  };
}
