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

/** Delivers events from its construction until it is stopped. */
export class Deliverer {
  readonly #parts: DelivererParts;
  readonly #patience: DeliveryPatience;
  readonly #cutOff = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  #isStopping = false;
  #isFailing = false;
  /**
   * Whether an attempt has ended since the last pause. Its account may then have another event.
   */
  #isDue = false;
  #wake = (): void => undefined;

  constructor(parts: DelivererParts) {
    this.#parts = parts;
    this.#patience = parts.patience ?? DELIVERY_PATIENCE;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const taken = await this.#take(MAX_AT_ONCE - this.#underWay.size);
      for (const event of taken) this.#start(event);
      if (taken.length === 0) await this.#pause();
    }
  }

  async #take(limit: number): Promise<readonly StoredEvent[]> {
    if (limit === 0) return [];
    const askedAt = performance.now();
    try {
      const events = await this.#parts.store.takeDueEvents({
        limit,
        leaseMs: this.#patience.leaseMs,
      });
      this.#isFailing = false;
      // If the answer took long, for example because this process was paused, the lease may end
      // during the attempts, and another process may take these events.
      const isLate = performance.now() - askedAt > this.#patience.leaseMs / 2;
      return isLate ? [] : events;
    } catch (error) {
      if (!this.#isFailing)
        this.#parts.log.warn({ reason: reasonOf(error) }, 'events cannot be read');
      this.#isFailing = true;
      return [];
    }
  }

  /** Waits until an attempt ends, or until the next poll. */
  async #pause(): Promise<void> {
    if (!this.#isDue) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#patience.pollMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isDue = false;
  }

  #hurry(): void {
    this.#isDue = true;
    this.#wake();
  }

  #start(event: StoredEvent): void {
    const attempt = this.#deliver(event).finally(() => {
      this.#underWay.delete(attempt);
      this.#hurry();
    });
    this.#underWay.add(attempt);
  }

  async #deliver(event: StoredEvent): Promise<void> {
    const sent = await this.#send(event);
    if (sent.outcome === 'stopped') return;
    if (sent.outcome === 'delivered') {
      this.#parts.metrics.count('delivered');
      await this.#finish(event, { outcome: 'delivered' });
    } else {
      await this.#fail(event, sent);
    }
  }

  async #send(event: StoredEvent): Promise<SendOutcome> {
    try {
      const body = webhookBody(event);
      const headers = this.#parts.sign(event.id, new Date(), body);
      return await this.#parts.client.send({ headers, body }, this.#cutOff.signal);
    } catch (error) {
      // For example, the event may be from a newer version. It must not stop the others.
      return { outcome: 'failed', reason: `the event cannot be sent: ${reasonOf(error)}` };
    }
  }

  async #fail(
    event: StoredEvent,
    { reason }: SendOutcome & { readonly outcome: 'failed' },
  ): Promise<void> {
    const { type, accountId, attempts } = event;
    const now = Date.now();
    const retryAt = nextAttempt(this.#patience.schedule, event, { now, random: Math.random() });
    this.#parts.metrics.count('failed');
    const facts = {
      event_id: event.id,
      type,
      account_id: accountId,
      attempt: attempts + 1,
      reason,
    };
    if (retryAt === undefined) {
      this.#parts.metrics.count('givenUp');
      this.#parts.log.error(facts, 'webhook given up');
    } else {
      this.#parts.log.warn({ ...facts, retry_at: retryAt.toISOString() }, 'webhook not delivered');
    }
    await this.#finish(event, { outcome: 'failed', error: reason, retryAt });
  }

  /** Records an outcome. Retries only within the lease: after it the event is sent again anyway. */
  async #finish(
    { id, seq }: StoredEvent,
    result: Parameters<BalanceStore['finishEvent']>[1],
  ): Promise<void> {
    const until = performance.now() + this.#patience.leaseMs - SEND_TIMEOUT_MS;
    for (;;) {
      try {
        await this.#parts.store.finishEvent(seq, result);
        return;
      } catch (error) {
        if (this.#isStopping || performance.now() > until) {
          this.#parts.log.warn(
            { event_id: id, reason: reasonOf(error) },
            'webhook outcome not recorded',
          );
          return;
        }
        await sleep(FINISH_RETRY_MS);
      }
    }
  }

  /**
   * Takes no more events and waits for the attempts under way, for up to `stopMs`. An attempt that
   * is cut off then does not count: the next process that delivers sends the event again.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#hurry();
    await this.#running;
    const deadline = setTimeout(() => {
      this.#cutOff.abort();
    }, this.#patience.stopMs);
    await Promise.all(this.#underWay);
    clearTimeout(deadline);
    await this.#parts.client.close();
  }
}
