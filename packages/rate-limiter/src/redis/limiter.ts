/**
 * Limits shared by all replicas through Redis: each decision is one round trip of one script.
 *
 * A lease in Redis expires after `leaseTtlMs`; a heartbeat prolongs it while it is held. So the
 * leases of a killed replica disappear by themselves. While Redis is down, each replica serves with
 * its share of the limits.
 */

import { randomBytes } from 'node:crypto';
import { leaseRetryAfterMs } from '../admission.js';
import type { Decision } from '../decision.js';
import type { Admission, Limiter } from '../limiter.js';
import type { LogPolicy, Policy } from '../policy.js';
import { assertLogPolicy, assertPolicy } from '../policy.js';
import type { RedisLimiterState } from './breaker.js';
import { createAdmissionCalls } from './admission-calls.js';
import type { AdmissionReply } from './admission-calls.js';
import { createBreaker } from './breaker.js';
import type { RedisClient, ScriptCall } from './client.js';
import { asNumbers, runScript, withTimeout } from './client.js';
import { createLeaseRegistry } from './lease-registry.js';
import { createLocalAdmissions } from './local-admissions.js';
import type { PendingAdmission } from './local-admissions.js';
import { createLocalEvents } from './local-events.js';
import type { PendingEvent } from './local-events.js';
import { ADMIT_REPLY, ASSERT_LEASES, COUNT_LEASES, RECORD } from './lua-scripts.js';
import type { Script } from './lua-scripts.js';

export interface RedisLimiterOptions {
  /** The caller owns it: {@link Limiter.close} does not disconnect it. */
  readonly redis: RedisClient;
  /** Prefix of every key, the same in all replicas, without braces. Default: `gateway:`. */
  readonly prefix?: string;
  /**
   * A lease that is not prolonged expires after this time. The same in all replicas. Default:
   * 15,000.
   */
  readonly leaseTtlMs?: number;
  /** Pause between two heartbeats. Default: a third of `leaseTtlMs`. */
  readonly heartbeatMs?: number;
  /** The longest wait for one response; then this replica decides alone. Default: 100. */
  readonly timeoutMs?: number;
  /** How many replicas share the limits. Without Redis each takes an equal share. Default: 1. */
  readonly replicas?: number;
  /**
   * Subjects whose permits are remembered for the local limits, and sliding logs kept: the least
   * recently used are forgotten beyond this many of each. Default: 100,000.
   */
  readonly maxSubjects?: number;
  /** Called when the limits stop using Redis, and when they use it again. Must not throw. */
  readonly onStateChange?: (state: RedisLimiterState) => void;
  /** Monotonic milliseconds, for the breaker and the local limits. Default: `performance.now`. */
  readonly now?: () => number;
  /**
   * Uniform in [0, 1), to spread the retries of clients denied together. Default: `Math.random`.
   */
  readonly random?: () => number;
}

/**
 * The most subjects per heartbeat call, so that a few thousand streams do not delay an admission.
 */
const HEARTBEAT_CHUNK = 100;

/**
 * A {@link Limiter} on Redis 5 or newer, alone or as a cluster.
 *
 * - Never over the limit while Redis keeps its data. If it loses them, each process counts its own
 *   leases on and puts them back at its next admission or heartbeat: until then at most twice the
 *   concurrency can be in flight over all replicas, and never more than once in a single one.
 * - `admit` and `record` do not reject because of Redis: after `timeoutMs`, or at once while it is
 *   known to be down, they answer from this replica's share of the limits, at least 1.
 * - The local limits begin with what this process has granted already, and Redis does not grant
 *   again what was granted locally. So one process gives no second burst when it loses Redis or
 *   finds it again.
 * - `release` does not wait for Redis. If it gets lost, the lease expires.
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
  // A brace would start or end the hash tag in the wrong place.
  if (/[{}]/.test(prefix)) throw new RangeError('prefix must not contain braces');
  if (!(Number.isSafeInteger(replicas) && replicas >= 1)) {
    throw new RangeError(`replicas is ${replicas}, not an integer of at least 1`);
  }
  if (!(heartbeatMs < leaseTtlMs)) throw new RangeError('heartbeatMs must be below leaseTtlMs');

  const registry = createLeaseRegistry();
  const nowUs = (): number => Math.floor(now() * 1_000);
  // The local limits. They count all that this process has granted, through Redis or locally.
  const localAdmissions = createLocalAdmissions({
    nowUs,
    random,
    replicas,
    maxSubjects,
    leasesOf: (subject) => registry.count(subject),
  });
  const localEvents = createLocalEvents({ nowUs, replicas, maxSubjects });
  const breaker = createBreaker({ now, probe: assertAllLeases, onStateChange });
  const calls = createAdmissionCalls({
    redis,
    timeoutMs,
    leaseTtlMs,
    now,
    keysOf: (subject) => [keyOf(subject, 'l'), keyOf(subject, 'g')],
    heldOf: (subject) => registry.count(subject),
    onLateAnswer(subject, id) {
      // The admission may have left a lease in Redis that nobody holds.
      if (!registry.has(subject, id)) calls.release(subject, id);
    },
  });
  const instance = randomBytes(9).toString('base64url');
  // No client waits for a heartbeat, so its calls get at least as much time as an admission.
  const beatTimeoutMs = Math.max(heartbeatMs, timeoutMs);
  let nextId = 0;
  let isBeating = false;

  const heartbeat = setInterval(() => void beat(), heartbeatMs);
  heartbeat.unref();

  const keyOf = (subject: string, kind: 'l' | 'g' | 'r'): string =>
    // `k:` keeps the hash tag from being empty for an empty subject.
    `${prefix}{k:${subject}}:${kind}`;

  function newId(): string {
    nextId += 1;
    return `${instance}.${nextId.toString(36)}`;
  }

  function run(script: Script, call: () => ScriptCall | undefined): Promise<unknown> {
    return runScript(redis, script, call);
  }

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
    const decision = localAdmissions.admit(subject, policy);
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
    // After a flush or a failover: put the leases back without waiting for the heartbeat.
    if (hasLostLeases) void beat();
    if (outcome === ADMIT_REPLY.admitted) {
      pending.granted();
      return grant(subject, id);
    }
    pending.notGranted();
    return outcome === ADMIT_REPLY.deniedRate
      ? { outcome: 'denied', limit: 'rate', retryAfterMs: Math.ceil(waitUs / 1_000) }
      : { outcome: 'denied', limit: 'concurrency', retryAfterMs: leaseRetryAfterMs(random) };
  }

  async function recordThroughRedis(
    subject: string,
    policy: LogPolicy,
    pending: PendingEvent,
  ): Promise<Decision> {
    const id = newId();
    let reply: readonly number[];
    try {
      const answer = await withTimeout(
        run(RECORD, () => ({
          keys: [keyOf(subject, 'r')],
          args: [policy.limit, policy.windowMs, id],
        })),
        timeoutMs,
      );
      reply = asNumbers(answer);
    } catch (error) {
      pending.notAllowed();
      breaker.failed(error);
      return localEvents.record(subject, policy);
    }
    breaker.succeeded();
    const [outcome, value = 0] = reply;
    if (outcome === 0) {
      pending.allowed();
      return { outcome: 'allowed', remaining: value };
    }
    pending.notAllowed();
    return { outcome: 'denied', retryAfterMs: Math.ceil(value / 1_000) };
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
      await withTimeout(redis.eval('return 1', 0), beatTimeoutMs);
      return;
    }
    for (let start = 0; start < subjects.length; start += HEARTBEAT_CHUNK) {
      const chunk = subjects.slice(start, start + HEARTBEAT_CHUNK);
      await withTimeout(Promise.all(chunk.map(assertLeases)), beatTimeoutMs);
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
      if (!breaker.isClosed()) return admitLocally(subject, policy, newId());
      const asked = localAdmissions.ask(subject, policy);
      return asked.outcome === 'denied' ? asked : admitThroughRedis(subject, policy, asked);
    },

    record(subject, policy) {
      assertLogPolicy(policy);
      if (!breaker.isClosed()) return localEvents.record(subject, policy);
      const asked = localEvents.ask(subject, policy);
      return asked.outcome === 'denied' ? asked : recordThroughRedis(subject, policy, asked);
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
      localAdmissions.clear();
      localEvents.clear();
      // Leases that Redis is not told to release expire.
      await withTimeout(Promise.allSettled(given), timeoutMs).catch(() => {});
    },
  };
}
