/**
 * Limits shared by all replicas through Redis: each decision is one round trip of one script.
 *
 * Leases in Redis lapse by themselves (a killed replica's are gone within `leaseTtlMs`) and are prolonged
 * by a heartbeat while they are held. When Redis is lost, each replica goes on with its share of the
 * limits: neither without limits nor without service.
 */

import { randomBytes } from 'node:crypto';
import { leaseRetryAfterMs } from '../admission.js';
import type { Decision } from '../decision.js';
import type { Admission, Lease, Limiter } from '../limiter.js';
import { createMemoryLimiter } from '../memory.js';
import type { LogPolicy, Policy } from '../policy.js';
import { assertLogPolicy, assertPolicy, shareOfLogPolicy, shareOfPolicy } from '../policy.js';
import type { RedisLimiterState } from './breaker.js';
import { createAdmissionCalls } from './admission-calls.js';
import type { AdmissionReply } from './admission-calls.js';
import { createBreaker } from './breaker.js';
import type { RedisClient, ScriptCall } from './client.js';
import { asNumbers, runScript, withTimeout } from './client.js';
import { createLeaseRegistry } from './lease-registry.js';
import { ADMIT_REPLY, ASSERT_LEASES, COUNT_LEASES, RECORD } from './scripts.js';
import type { Script } from './scripts.js';

export interface RedisLimiterOptions {
  /** Stays the caller's: {@link Limiter.close} does not disconnect it. */
  readonly redis: RedisClient;
  /** Begins every key. The same in all replicas; without braces. Default: `gateway:`. */
  readonly prefix?: string;
  /** A lease that is not prolonged lapses after this time. The same in all replicas. Default: 15,000. */
  readonly leaseTtlMs?: number;
  /** Pause between two heartbeats. Default: a third of `leaseTtlMs`. */
  readonly heartbeatMs?: number;
  /** Longest wait for one answer; after it this replica decides alone. Default: 100. */
  readonly timeoutMs?: number;
  /** How many replicas share the limits: without Redis each takes this part of them. Default: 1. */
  readonly replicas?: number;
  /** Bound of the local limiter, as in `createMemoryLimiter`. Default: 100,000. */
  readonly maxSubjects?: number;
  /** Told whenever Redis is given up or taken up again. Must not throw. */
  readonly onStateChange?: (state: RedisLimiterState) => void;
  /** Monotonic milliseconds, for the breaker and the local limits. Default: `performance.now`. */
  readonly now?: () => number;
  /** Uniform in [0, 1), to spread the retries of clients denied together. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Subjects whose leases are asserted at once: a few thousand streams must not delay an admission. */
const HEARTBEAT_CHUNK = 100;

/**
 * A {@link Limiter} on Redis 5 or newer, alone or as a cluster.
 *
 * - Never over the limit while Redis keeps its data. If it loses them, each process counts its own leases
 *   on and puts them back at its next admission or heartbeat: until then at most twice the concurrency
 *   can be in flight over all replicas, and never more than once in a single one.
 * - `admit` and `record` do not reject because of Redis: after `timeoutMs`, or at once while it is known to
 *   be down, they answer from this replica's share of the limits, at least 1.
 * - `release` does not wait: it is sent, and what gets lost lapses with the lease.
 */
export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const {
    redis,
    prefix = 'gateway:',
    leaseTtlMs = 15_000,
    heartbeatMs = Math.ceil(leaseTtlMs / 3),
    timeoutMs = 100,
    replicas = 1,
    maxSubjects = 100_000,
    onStateChange = () => {},
    now = () => performance.now(),
    random = Math.random,
  } = options;
  // A brace would end or begin the hash tag in the wrong place.
  if (/[{}]/.test(prefix)) throw new RangeError('prefix must not contain braces');
  if (!(Number.isSafeInteger(replicas) && replicas >= 1)) {
    throw new RangeError(`replicas is ${replicas}, not an integer of at least 1`);
  }
  if (!(heartbeatMs < leaseTtlMs)) throw new RangeError('heartbeatMs must be below leaseTtlMs');

  /** Decides while Redis does not, and counts every lease of this process, whoever granted it. */
  const local = createMemoryLimiter({ now, random, maxSubjects });
  const registry = createLeaseRegistry();
  const breaker = createBreaker({ now, probe: assertAllLeases, onStateChange });
  const calls = createAdmissionCalls({
    redis,
    timeoutMs,
    leaseTtlMs,
    now,
    keysOf: (subject) => [keyOf(subject, 'l'), keyOf(subject, 'g')],
    heldOf: (subject) => registry.count(subject),
    onLateAnswer(subject, id) {
      // It may have left a lease that nobody holds, or no longer.
      if (!registry.has(subject, id)) calls.release(subject, id);
    },
  });
  const instance = randomBytes(9).toString('base64url');
  let nextId = 0;
  let isBeating = false;

  const heartbeat = setInterval(() => void beat(), heartbeatMs);
  heartbeat.unref();

  const keyOf = (subject: string, kind: 'l' | 'g' | 'r'): string =>
    // `k:` keeps the hash tag from being empty whatever the subject.
    `${prefix}{k:${subject}}:${kind}`;

  function newId(): string {
    nextId += 1;
    return `${instance}.${nextId.toString(36)}`;
  }

  function run(script: Script, call: () => ScriptCall | undefined): Promise<unknown> {
    return runScript(redis, script, call);
  }

  function grant(subject: string, id: string, localLease: Lease): Admission {
    registry.add(subject, id);
    return {
      outcome: 'admitted',
      lease: {
        release() {
          if (!registry.has(subject, id)) return;
          registry.remove(subject, id);
          localLease.release();
          calls.release(subject, id);
        },
      },
    };
  }

  function admitLocally(subject: string, policy: Policy, id: string): Admission {
    const admission = local.admit(subject, shareOfPolicy(policy, replicas));
    return admission.outcome === 'admitted' ? grant(subject, id, admission.lease) : admission;
  }

  async function admitThroughRedis(subject: string, policy: Policy): Promise<Admission> {
    const id = newId();
    let reply: AdmissionReply;
    try {
      reply = await calls.admit(subject, policy, id);
    } catch (error) {
      breaker.failed(error);
      return admitLocally(subject, policy, id);
    }
    breaker.succeeded();
    const { outcome, waitUs, hasLostLeases } = reply;
    // In a flush or a failover: put them back without waiting for the heartbeat.
    if (hasLostLeases) void beat();
    if (outcome === ADMIT_REPLY.admitted) return grant(subject, id, local.hold(subject));
    return outcome === ADMIT_REPLY.deniedRate
      ? { outcome: 'denied', limit: 'rate', retryAfterMs: Math.ceil(waitUs / 1_000) }
      : { outcome: 'denied', limit: 'concurrency', retryAfterMs: leaseRetryAfterMs(random) };
  }

  async function recordThroughRedis(subject: string, policy: LogPolicy): Promise<Decision> {
    const id = newId();
    try {
      const answer = await withTimeout(
        run(RECORD, () => ({
          keys: [keyOf(subject, 'r')],
          args: [policy.limit, policy.windowMs, id],
        })),
        timeoutMs,
      );
      breaker.succeeded();
      const [outcome, value = 0] = asNumbers(answer);
      return outcome === 0
        ? { outcome: 'allowed', remaining: value }
        : { outcome: 'denied', retryAfterMs: Math.ceil(value / 1_000) };
    } catch (error) {
      breaker.failed(error);
      return local.record(subject, shareOfLogPolicy(policy, replicas));
    }
  }

  async function beat(): Promise<void> {
    // `isClosed` also starts the probe that ends an outage when no request comes.
    if (isBeating || !breaker.isClosed()) return;
    isBeating = true;
    try {
      await assertAllLeases();
    } catch (error) {
      breaker.failed(error);
    } finally {
      isBeating = false;
    }
  }

  /** At least one call, so that it can serve as a probe. */
  async function assertAllLeases(): Promise<void> {
    const subjects = registry.subjects();
    if (subjects.length === 0) {
      await withTimeout(redis.eval('return 1', 0), heartbeatMs);
      return;
    }
    for (let start = 0; start < subjects.length; start += HEARTBEAT_CHUNK) {
      const chunk = subjects.slice(start, start + HEARTBEAT_CHUNK);
      await withTimeout(Promise.all(chunk.map(assertLeases)), heartbeatMs);
    }
  }

  function assertLeases(subject: string): Promise<unknown> {
    return run(ASSERT_LEASES, () => {
      const ids = registry.ids(subject);
      return ids.length === 0
        ? undefined
        : { keys: [keyOf(subject, 'l')], args: [leaseTtlMs, ...ids] };
    });
  }

  return {
    admit(subject, policy) {
      assertPolicy(policy);
      return breaker.isClosed()
        ? admitThroughRedis(subject, policy)
        : admitLocally(subject, policy, newId());
    },

    record(subject, policy) {
      assertLogPolicy(policy);
      return breaker.isClosed()
        ? recordThroughRedis(subject, policy)
        : local.record(subject, shareOfLogPolicy(policy, replicas));
    },

    async leases(subject) {
      if (!breaker.isClosed()) return registry.count(subject);
      calls.flush();
      try {
        const call = { keys: [keyOf(subject, 'l')], args: [] };
        return Number(
          await withTimeout(
            run(COUNT_LEASES, () => call),
            timeoutMs,
          ),
        );
      } catch (error) {
        breaker.failed(error);
        return registry.count(subject);
      }
    },

    async close() {
      clearInterval(heartbeat);
      calls.flush();
      const given = registry.subjects().map((subject) => {
        const ids = registry.ids(subject);
        for (const id of ids) registry.remove(subject, id);
        return redis.zrem(keyOf(subject, 'l'), ...ids);
      });
      local.close();
      // What Redis does not hear lapses by itself.
      await withTimeout(Promise.allSettled(given), timeoutMs).catch(() => {});
    },
  };
}
