/**
 * Limits shared by all replicas through Redis: each decision is one round trip of one script.
 *
 * A lease in Redis expires after `leaseTtlMs`; a heartbeat prolongs it while it is held. So the
 * leases of a killed replica disappear by themselves. While Redis is down, each replica serves with
 * its share of the limits.
 */

import { randomBytes } from 'node:crypto';
import { limitsOf } from '../admission.js';
import type { Limiter } from '../limiter.js';
import { createAdmissionCalls } from './admission-calls.js';
import { createAdmit } from './admissions.js';
import { createBreaker } from './breaker.js';
import type { Breaker, RedisLimiterState } from './breaker.js';
import { runScript, withTimeout } from './client.js';
import type { RedisClient } from './client.js';
import { createRecord } from './events.js';
import { createLeaseRegistry } from './lease-registry.js';
import { createLeaseRenewal } from './lease-renewal.js';
import { createLocalAdmissions } from './local-admissions.js';
import { createLocalEvents } from './local-events.js';
import { COUNT_LEASES } from './lua-scripts.js';

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
  /** Pause between two heartbeats, at most 2^31-1. Default: a third of `leaseTtlMs`. */
  readonly heartbeatMs?: number;
  /**
   * The longest wait for one response, at most 2^31-1. Then this replica decides alone. Default:
   * 100.
   */
  readonly timeoutMs?: number;
  /** How many replicas share the limits. Without Redis each takes an equal share. Default: 1. */
  readonly replicas?: number;
  /**
   * The most subjects whose permits are remembered for the local limits, and the most sliding logs.
   * Beyond this number of each, the least recently used are forgotten. Default: 100,000.
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
 * A {@link Limiter} on Redis 5 or newer, alone or as a cluster.
 *
 * - The limits are never exceeded while Redis answers and keeps its data. If Redis loses its data,
 *   each process continues to count its own leases and puts them back at its next admission or
 *   heartbeat. Until then at most twice the concurrency can be in flight over all replicas, and
 *   never more than the concurrency in a single replica.
 * - `admit` and `record` do not reject because of Redis. After `timeoutMs`, or at once while Redis
 *   is known to be down, they decide by this replica's share of the limits: at least one lease, one
 *   permit and one event.
 * - The local limits count all that this process has granted already, and Redis does not grant a
 *   second time what was granted locally. One process therefore gives no second burst when it loses
 *   Redis or reaches it again.
 * - `release` does not wait for Redis. If it gets lost, the lease expires.
 */
export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const settings = withDefaults(options);
  const { redis, leaseTtlMs, heartbeatMs, timeoutMs, replicas, maxSubjects, now, random } =
    settings;
  const registry = createLeaseRegistry();
  const newId = createIds();
  const nowUs = (): number => Math.floor(now() * 1_000);
  // Below, a subject or group has the name that its keys begin with, which is unique: the same
  // subject in another group has another name. The number tells where the group's name ends. `k:`
  // keeps the hash tag from being empty for an empty subject.
  const nameOf = (subject: string, group?: string): string =>
    group === undefined
      ? `${settings.prefix}{k:${subject}}`
      : `${settings.prefix}${group.length}{k:${group}}:${subject}`;
  const leasesKeyOf = (name: string): string => `${name}:l`;
  // The local limits. They count all that this process has granted, through Redis or locally.
  const localAdmissions = createLocalAdmissions({
    nowUs,
    random,
    replicas,
    maxSubjects,
    leasesOf: (name) => registry.count(name),
  });
  const localEvents = createLocalEvents({ nowUs, replicas, maxSubjects });
  const renewLeases = createLeaseRenewal({
    redis,
    registry,
    leaseTtlMs,
    // No client waits for a heartbeat, so its calls get at least as much time as an admission.
    timeoutMs: Math.max(heartbeatMs, timeoutMs),
    keyOf: leasesKeyOf,
    probeKey: `${settings.prefix}probe`,
  });
  const { onStateChange } = settings;
  const breaker = createBreaker({ now, probe: renewLeases, onStateChange });
  const calls = createAdmissionCalls({
    redis,
    timeoutMs,
    leaseTtlMs,
    now,
    keysOf: (name) => [leasesKeyOf(name), `${name}:g`],
    heldOf: (name) => registry.count(name),
    onLateAnswer(names, id) {
      // The admission may have left a lease in Redis that nobody holds.
      if (!names.some((name) => registry.has(name, id))) calls.release(names, id);
    },
  });

  const heartbeat = startHeartbeat({ renewLeases, breaker, everyMs: heartbeatMs });

  async function countLeases(name: string): Promise<number> {
    if (!breaker.isClosed()) return registry.count(name);
    calls.flush();
    try {
      const call = { keys: [leasesKeyOf(name)], args: [] };
      return Number(
        await withTimeout(
          runScript(redis, COUNT_LEASES, () => call),
          timeoutMs,
        ),
      );
    } catch (error) {
      breaker.failed(error);
      return registry.count(name);
    }
  }

  const admit = createAdmit({
    calls,
    local: localAdmissions,
    registry,
    breaker,
    newId,
    random,
    // After a flush or a failover: puts the leases back without waiting for the heartbeat.
    onLostLeases: heartbeat.beat,
  });

  return {
    admit(subject, policy, group) {
      const shared = group && { subject: nameOf(group.subject), policy: group.policy };
      return admit(limitsOf(nameOf(subject, group?.subject), policy, shared));
    },
    record: createRecord({
      redis,
      timeoutMs,
      local: localEvents,
      breaker,
      newId,
      keyOf: (subject) => `${nameOf(subject)}:r`,
    }),
    leases: (subject, group) => countLeases(nameOf(subject, group)),
    async close() {
      heartbeat.stop();
      calls.flush();
      const given = registry
        .subjects()
        .map((name) => redis.zrem(leasesKeyOf(name), ...registry.ids(name)));
      registry.clear();
      localAdmissions.clear();
      localEvents.clear();
      // If Redis does not get a release, the lease expires.
      await withTimeout(Promise.allSettled(given), timeoutMs).catch(() => {});
    },
  };
}

/** Renews the leases at once with `beat`, and in intervals until `stop`. */
function startHeartbeat(options: {
  readonly renewLeases: () => Promise<void>;
  readonly breaker: Breaker;
  readonly everyMs: number;
}): { beat(this: void): void; stop(): void } {
  const { renewLeases, breaker, everyMs } = options;
  let isBeating = false;

  function beat(): void {
    // `isClosed` also starts the probe that ends an outage when no request comes.
    if (isBeating || !breaker.isClosed()) return;
    isBeating = true;
    renewLeases()
      .catch((error: unknown) => {
        breaker.failed(error);
      })
      .finally(() => {
        isBeating = false;
      });
  }

  const timer = setInterval(beat, everyMs).unref();
  return {
    beat,
    stop() {
      clearInterval(timer);
    },
  };
}

/** The longest timer of Node, some 25 days. Longer ones fire after 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** @throws {RangeError} when options contradict each other or cannot be used. */
function withDefaults(options: RedisLimiterOptions): Required<RedisLimiterOptions> {
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
  for (const [name, ms] of Object.entries({ heartbeatMs, timeoutMs })) {
    if (ms > 0 && ms <= LONGEST_TIMER_MS) continue;
    throw new RangeError(`${name} is ${ms}, not above 0 and at most ${LONGEST_TIMER_MS}`);
  }
  if (!(heartbeatMs < leaseTtlMs)) throw new RangeError('heartbeatMs must be below leaseTtlMs');
  return {
    redis,
    prefix,
    leaseTtlMs,
    heartbeatMs,
    timeoutMs,
    replicas,
    maxSubjects,
    onStateChange,
    now,
    random,
  };
}

/** Makes ids that no other process makes: a random prefix and a counter. */
function createIds(): () => string {
  const instance = randomBytes(9).toString('base64url');
  let lastId = 0;
  return () => {
    lastId += 1;
    return `${instance}.${lastId.toString(36)}`;
  };
}
