/**
 * Warns the operator before the provider retires a model of the price table, and when the day has
 * come: a line in the log, and an event that is written once, however many replicas there are.
 */

import type { Logger } from 'pino';
import type { BalanceStore, NewEvent } from '@gateway/balance-store';
import type { PriceTable } from '@gateway/billing';
import { reasonOf } from '../../base/error-code.js';
import { MINUTE_MS } from '../../base/times.js';
import { EVENTS_KEPT_MS } from './event-pruning.js';

const PERIOD_MS = 60 * MINUTE_MS;
/** A gateway that is starting has other work. */
const FIRST_LOOK_MS = MINUTE_MS;
const NOTICE_MS = 7 * 86_400_000;

interface WatchParts {
  readonly prices: Pick<PriceTable, 'list'>;
  readonly store: Pick<BalanceStore, 'recordEvent'>;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface RetirementWatch {
  /** Looks now. Resolves when the events are written. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** Looks after a minute, and then every hour. */
export function startRetirementWatch({ prices, store, log, now }: WatchParts): RetirementWatch {
  /** The ids of the events that this process has written or only logged. */
  const written = new Set<string>();
  let running = Promise.resolve();

  async function look(): Promise<void> {
    for (const { id: model, retiresAt } of prices.list()) {
      if (retiresAt === undefined || Date.parse(retiresAt) - now() > NOTICE_MS) continue;
      const isRetired = Date.parse(retiresAt) <= now();
      const type = isRetired ? 'model.retired' : 'model.retiring';
      // A day that the provider moves is a new event.
      const id = `evt_${type}:${model}:${retiresAt}`;
      if (!written.has(id)) await report({ id, type, model, retiresAt });
    }
  }

  async function report({
    id,
    type,
    model,
    retiresAt,
  }: {
    readonly id: string;
    readonly type: 'model.retiring' | 'model.retired';
    readonly model: string;
    readonly retiresAt: string;
  }): Promise<void> {
    log.warn({ model, retires_at: retiresAt }, TEXTS[type]);
    const data: NewEvent['data'] = { model, retires_at: retiresAt };
    try {
      // Later, the first event may have been deleted.
      if (now() - Date.parse(retiresAt) < EVENTS_KEPT_MS) {
        await store.recordEvent({ id, type, accountId: '', keyId: undefined, data });
      }
      written.add(id);
    } catch (error) {
      // The next look tries again.
      const reason = reasonOf(error);
      log.warn({ reason }, `the event ${type} cannot be written`);
    }
  }

  const lookNext = (): Promise<void> => (running = running.then(look));
  const timers = [
    setTimeout(() => void lookNext(), FIRST_LOOK_MS).unref(),
    setInterval(() => void lookNext(), PERIOD_MS).unref(),
  ];

  return {
    look: lookNext,
    async stop() {
      timers.forEach(clearTimeout);
      await running;
    },
  };
}

const TEXTS = {
  'model.retiring': 'the provider retires a model of the price table soon',
  'model.retired':
    'the provider has retired a model of the price table: remove it once requests for it fail',
} as const;
