/**
 * Decides whether a sliding log admits an event: in Redis, or locally while Redis cannot be
 * reached.
 */

import type { Decision } from '../decision.js';
import type { Limiter } from '../limiter.js';
import type { LogPolicy } from '../policy.js';
import { assertLogPolicy } from '../policy.js';
import type { Breaker } from './breaker.js';
import { asNumbers, runScript, withTimeout } from './client.js';
import type { RedisClient } from './client.js';
import type { LocalEvents, PendingEvent } from './local-events.js';
import { RECORD } from './lua-scripts.js';

export interface EventsOptions {
  readonly redis: RedisClient;
  readonly timeoutMs: number;
  /** Counts every event, so that it knows what Redis has allowed. */
  readonly local: LocalEvents;
  readonly breaker: Breaker;
  readonly newId: () => string;
  /** The key of the subject's log. */
  readonly keyOf: (subject: string) => string;
}

export function createRecord(options: EventsOptions): Limiter['record'] {
  const { redis, timeoutMs, local, breaker, newId, keyOf } = options;

  async function recordThroughRedis(
    subject: string,
    policy: LogPolicy,
    pending: PendingEvent,
  ): Promise<Decision> {
    const call = { keys: [keyOf(subject)], args: [policy.limit, policy.windowMs, newId()] };
    let reply: readonly number[];
    try {
      const answer = runScript(redis, RECORD, () => call);
      reply = asNumbers(await withTimeout(answer, timeoutMs));
    } catch (error) {
      pending.notAllowed();
      breaker.failed(error);
      return local.record(subject, policy);
    }
    breaker.succeeded();
    const [outcome, value = 0] = reply;
    if (outcome === 0) {
      // Redis does not know of events that were allowed here.
      return { outcome: 'allowed', remaining: Math.min(value, pending.allowed()) };
    }
    pending.notAllowed();
    return { outcome: 'denied', retryAfterMs: Math.ceil(value / 1_000) };
  }

  return (subject, policy) => {
    assertLogPolicy(policy);
    if (!breaker.isClosed()) return local.record(subject, policy);
    const asked = local.ask(subject, policy);
    return asked.outcome === 'denied' ? asked : recordThroughRedis(subject, policy, asked);
  };
}
