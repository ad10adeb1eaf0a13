/** Prolongs the leases of this process in Redis, and puts back those that Redis has lost. */

import { runScript, withTimeout } from './client.js';
import type { RedisClient } from './client.js';
import type { LeaseRegistry } from './lease-registry.js';
import { ASSERT_LEASES } from './lua-scripts.js';

const PROBE = "return redis.call('SET', KEYS[1], '', 'PX', 1)";

/** The most subjects renewed at once, so that thousands of streams do not delay an admission. */
const SUBJECTS_PER_CALL = 100;

export interface LeaseRenewalOptions {
  readonly redis: RedisClient;
  readonly registry: LeaseRegistry;
  readonly leaseTtlMs: number;
  readonly timeoutMs: number;
  /** The key of the subject's leases. */
  readonly keyOf: (subject: string) => string;
  /** A key to be written if there is no lease. */
  readonly probeKey: string;
}

/**
 * @returns a function that renews the leases. It writes at least one key, so that it can serve as a
 * probe of Redis: a demoted or full one still answers, but refuses all that an admission writes. It
 * rejects if a call fails or takes longer than `timeoutMs`.
 */
export function createLeaseRenewal(options: LeaseRenewalOptions): () => Promise<void> {
  const { redis, registry, leaseTtlMs, timeoutMs, keyOf, probeKey } = options;

  function renew(subject: string): Promise<unknown> {
    return runScript(redis, ASSERT_LEASES, () => {
      const ids = registry.ids(subject);
      return ids.length === 0 ? undefined : { keys: [keyOf(subject)], args: [leaseTtlMs, ...ids] };
    });
  }

  return async () => {
    const subjects = registry.subjects();
    if (subjects.length === 0) {
      await withTimeout(redis.eval(PROBE, 1, probeKey), timeoutMs);
      return;
    }
    for (let start = 0; start < subjects.length; start += SUBJECTS_PER_CALL) {
      const chunk = subjects.slice(start, start + SUBJECTS_PER_CALL);
      await withTimeout(Promise.all(chunk.map(renew)), timeoutMs);
    }
  };
}
