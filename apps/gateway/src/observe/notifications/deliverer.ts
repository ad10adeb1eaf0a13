/**
 * Delivers events to a target: at least once each, unless all attempts fail, and in order for each
 * account. The ledger's database is the queue, so nothing is lost when this process ends, and
 * several processes share the work. Each target has a queue and a deliverer of its own.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BalanceStore, StoredEvent } from '@gateway/balance-store';
import { reasonOf } from '../../base/error-code.js';
import { MINUTE_MS } from '../../base/times.js';
import type { DeliveryMetrics } from './delivery-metrics.js';
import type { DeliveryTarget, SendOutcome } from './delivery-target.js';
import { RETRY_SCHEDULE, nextAttempt } from './retry-schedule.js';
import type { RetrySchedule } from './retry-schedule.js';

export interface DelivererParts {
  readonly store: Pick<BalanceStore, 'takeDueEvents' | 'finishEvent'>;
  readonly target: DeliveryTarget;
  readonly metrics: DeliveryMetrics;
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
      const taken = await this.#take(this.#parts.target.mostAtOnce - this.#underWay.size);
      for (const event of taken) this.#start(event);
      if (taken.length === 0) await this.#pause();
    }
  }

  async #take(limit: number): Promise<readonly StoredEvent[]> {
    if (limit === 0) return [];
    const askedAt = performance.now();
    try {
      const events = await this.#parts.store.takeDueEvents({
        channel: this.#parts.target.channel,
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
    switch (sent.outcome) {
      case 'stopped':
        return;
      case 'delivered':
        this.#parts.metrics.count('delivered');
        await this.#finish(event, { outcome: 'delivered' });
        return;
      case 'needless':
        await this.#finish(event, { outcome: 'failed', error: sent.reason, retryAt: undefined });
        return;
      case 'failed':
        await this.#fail(event, sent);
    }
  }

  async #send(event: StoredEvent): Promise<SendOutcome> {
    try {
      return await this.#parts.target.send(event, this.#cutOff.signal);
    } catch (error) {
      // For example, the event may be from a newer version. It must not stop the others.
      return { outcome: 'failed', reason: `the event cannot be sent: ${reasonOf(error)}` };
    }
  }

  async #fail(
    event: StoredEvent,
    { reason, isFinal }: SendOutcome & { readonly outcome: 'failed' },
  ): Promise<void> {
    const { type, accountId, attempts } = event;
    const now = Date.now();
    const retryAt =
      isFinal === true
        ? undefined
        : nextAttempt(this.#patience.schedule, event, { now, random: Math.random() });
    this.#parts.metrics.count('failed');
    const facts = {
      event_id: event.id,
      type,
      account_id: accountId,
      attempt: attempts + 1,
      reason,
    };
    const { channel } = this.#parts.target;
    if (retryAt === undefined) {
      this.#parts.metrics.count('givenUp');
      this.#parts.log.error(facts, `${channel} given up`);
    } else {
      this.#parts.log.warn(
        { ...facts, retry_at: retryAt.toISOString() },
        `${channel} not delivered`,
      );
    }
    await this.#finish(event, { outcome: 'failed', error: reason, retryAt });
  }

  /** Records an outcome. Retries only within the lease: after it the event is sent again anyway. */
  async #finish(
    { id, seq }: StoredEvent,
    result: Parameters<BalanceStore['finishEvent']>[2],
  ): Promise<void> {
    const { channel, timeoutMs } = this.#parts.target;
    const until = performance.now() + this.#patience.leaseMs - timeoutMs;
    for (;;) {
      try {
        await this.#parts.store.finishEvent(channel, seq, result);
        return;
      } catch (error) {
        if (this.#isStopping || performance.now() > until) {
          this.#parts.log.warn(
            { event_id: id, reason: reasonOf(error) },
            `${channel} outcome not recorded`,
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
    await this.#parts.target.close();
  }
}
