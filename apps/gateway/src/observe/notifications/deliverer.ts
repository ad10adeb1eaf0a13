/**
 * Delivers events as webhooks: at least once each, unless all attempts fail, and in order for each
 * account. The ledger's database is the queue, so nothing is lost when this process ends, and
 * several processes share the work.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BalanceStore, StoredEvent } from '@gateway/balance-store';
import { reasonOf } from '../../base/error-code.js';
import { MINUTE_MS } from '../../base/times.js';
import { RETRY_SCHEDULE, nextAttempt } from './retry-schedule.js';
import type { RetrySchedule } from './retry-schedule.js';
import { SEND_TIMEOUT_MS } from './webhook-client.js';
import type { SendOutcome, WebhookClient } from './webhook-client.js';
import { webhookBody } from './webhook-message.js';
import type { WebhookSigner } from './webhook-message.js';
import type { WebhookMetrics } from './webhook-metrics.js';

export interface DelivererParts {
  readonly store: Pick<BalanceStore, 'takeDueEvents' | 'finishEvent'>;
  readonly client: WebhookClient;
  readonly sign: WebhookSigner;
  readonly metrics: Pick<WebhookMetrics, 'count'>;
  readonly log: Logger;
  readonly patience?: DeliveryPatience;
}

export interface DeliveryPatience {
  readonly schedule: RetrySchedule;
  /** The time between two reads of the ledger while there is nothing to deliver. */
  readonly pollMs: number;
  /**
   * No other process delivers a taken event before this time has passed. If this process dies
   * meanwhile, the event is delivered again after this time.
   */
  readonly leaseMs: number;
  /** How long the attempts under way may go on when the gateway stops. */
  readonly stopMs: number;
}

export const DELIVERY_PATIENCE: DeliveryPatience = {
  schedule: RETRY_SCHEDULE,
  pollMs: 2_000,
  leaseMs: MINUTE_MS,
  stopMs: 5_000,
};

/**
 * The most attempts in progress. An account has at most one, even if the receiver does not respond.
 */
const MAX_AT_ONCE = 32;
/** The time between two attempts to record an outcome while the database does not respond. */
const FINISH_RETRY_MS = 1_000;

export interface Deliverer {
  /**
   * Takes no more events and waits for the attempts under way, for up to `stopMs`. An attempt that
   * is cut off then does not count: the next process that delivers sends the event again.
   */
  stop(): Promise<void>;
}

export function startDeliverer(parts: DelivererParts): Deliverer {
  const { store, client, sign, metrics, log, patience = DELIVERY_PATIENCE } = parts;
  const { schedule, pollMs, leaseMs, stopMs } = patience;
  const cutOff = new AbortController();
  const underWay = new Set<Promise<void>>();
  let isStopping = false;
  let isFailing = false;
  /**
   * Whether an attempt has ended since the last pause. Its account may then have another event.
   */
  let isDue = false;
  let wake = (): void => undefined;

  async function run(): Promise<void> {
    while (!isStopping) {
      const taken = await take(MAX_AT_ONCE - underWay.size);
      for (const event of taken) start(event);
      if (taken.length === 0) await pause();
    }
  }

  async function take(limit: number): Promise<readonly StoredEvent[]> {
    if (limit === 0) return [];
    const askedAt = performance.now();
    try {
      const events = await store.takeDueEvents({ limit, leaseMs });
      isFailing = false;
      // If the answer took long, for example because this process was paused, the lease may end
      // during the attempts, and another process may take these events.
      const isLate = performance.now() - askedAt > leaseMs / 2;
      return isLate ? [] : events;
    } catch (error) {
      if (!isFailing) log.warn({ reason: reasonOf(error) }, 'events cannot be read');
      isFailing = true;
      return [];
    }
  }

  /** Waits until an attempt ends, or until the next poll. */
  async function pause(): Promise<void> {
    if (!isDue) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    isDue = false;
  }

  function hurry(): void {
    isDue = true;
    wake();
  }

  function start(event: StoredEvent): void {
    const attempt = deliver(event).finally(() => {
      underWay.delete(attempt);
      hurry();
    });
    underWay.add(attempt);
  }

  async function deliver(event: StoredEvent): Promise<void> {
    const sent = await send(event);
    if (sent.outcome === 'stopped') return;
    if (sent.outcome === 'delivered') {
      metrics.count('delivered');
      await finish(event, { outcome: 'delivered' });
    } else {
      await fail(event, sent);
    }
  }

  async function send(event: StoredEvent): Promise<SendOutcome> {
    try {
      const body = webhookBody(event);
      const headers = sign(event.id, new Date(), body);
      return await client.send({ headers, body }, cutOff.signal);
    } catch (error) {
      // For example, the event may be from a newer version. It must not stop the others.
      return { outcome: 'failed', reason: `the event cannot be sent: ${reasonOf(error)}` };
    }
  }

  async function fail(
    event: StoredEvent,
    { reason }: SendOutcome & { readonly outcome: 'failed' },
  ): Promise<void> {
    const { type, accountId, attempts } = event;
    const now = Date.now();
    const retryAt = nextAttempt(schedule, event, { now, random: Math.random() });
    metrics.count('failed');
    const facts = {
      event_id: event.id,
      type,
      account_id: accountId,
      attempt: attempts + 1,
      reason,
    };
    if (retryAt === undefined) {
      metrics.count('givenUp');
      log.error(facts, 'webhook given up');
    } else {
      log.warn({ ...facts, retry_at: retryAt.toISOString() }, 'webhook not delivered');
    }
    await finish(event, { outcome: 'failed', error: reason, retryAt });
  }

  /** Records an outcome. Retries only within the lease: after it the event is sent again anyway. */
  async function finish(
    { id, seq }: StoredEvent,
    result: Parameters<BalanceStore['finishEvent']>[1],
  ): Promise<void> {
    const until = performance.now() + leaseMs - SEND_TIMEOUT_MS;
    for (;;) {
      try {
        await store.finishEvent(seq, result);
        return;
      } catch (error) {
        if (isStopping || performance.now() > until) {
          log.warn({ event_id: id, reason: reasonOf(error) }, 'webhook outcome not recorded');
          return;
        }
        await sleep(FINISH_RETRY_MS);
      }
    }
  }

  const running = run();

  return {
    async stop() {
      isStopping = true;
      hurry();
      await running;
      const deadline = setTimeout(() => {
        cutOff.abort();
      }, stopMs);
      await Promise.all(underWay);
      clearTimeout(deadline);
      await client.close();
    },
  };
}
