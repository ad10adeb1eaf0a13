/**
 * Decides admissions in Redis, or locally while Redis cannot be reached. Redis does not count the
 * permits that were granted locally. So after an outage this process denies without asking Redis,
 * as long as its own permits use up the whole limit.
 */

import { leaseRetryAfterMs } from '../admission.js';
import type { Admission, Limiter } from '../limiter.js';
import type { Policy } from '../policy.js';
import { assertPolicy } from '../policy.js';
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

export function createAdmit(options: AdmissionsOptions): Limiter['admit'] {
  const { calls, local, registry, breaker, newId, random, onLostLeases } = options;

  function grant(subject: string, id: string): Admission {
    registry.add(subject, id);
    return {
      outcome: 'admitted',
      lease: {
        release() {
          if (!registry.has(subject, id)) return;
          registry.remove(subject, id);
          calls.release(subject, id);
        },
      },
    };
  }

  function admitLocally(subject: string, policy: Policy, id: string): Admission {
    const decision = local.admit(subject, policy);
    return decision.outcome === 'admitted' ? grant(subject, id) : decision;
  }

  async function admitThroughRedis(
    subject: string,
    policy: Policy,
    pending: PendingAdmission,
  ): Promise<Admission> {
    const id = newId();
    let reply: AdmissionReply;
    try {
      reply = await calls.admit(subject, policy, id);
    } catch (error) {
      pending.notGranted();
      breaker.failed(error);
      return admitLocally(subject, policy, id);
    }
    breaker.succeeded();
    const { outcome, waitUs, hasLostLeases } = reply;
    if (hasLostLeases) onLostLeases();
    if (outcome === ADMIT_REPLY.admitted) {
      pending.granted();
      return grant(subject, id);
    }
    pending.notGranted();
    return outcome === ADMIT_REPLY.deniedRate
      ? { outcome: 'denied', limit: 'rate', retryAfterMs: Math.ceil(waitUs / 1_000) }
      : { outcome: 'denied', limit: 'concurrency', retryAfterMs: leaseRetryAfterMs(random) };
  }

  return (subject, policy) => {
    assertPolicy(policy);
    if (!breaker.isClosed()) return admitLocally(subject, policy, newId());
    const asked = local.ask(subject, policy);
    return asked.outcome === 'denied' ? asked : admitThroughRedis(subject, policy, asked);
  };
}
