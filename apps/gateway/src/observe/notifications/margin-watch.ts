/**
 * Writes the event `model.sold_below_cost` if an account was charged less for a model on one day
 * than its requests cost the operator: once for each account, model and day, however many replicas
 * there are.
 */

import type { BalanceStore } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { Logger } from 'pino';
import { reasonOf } from '../../base/error-code.js';
import { DAY_MS, HOUR_MS } from '../../base/times.js';

interface WatchParts {
  readonly store: Pick<BalanceStore, 'readUsage' | 'recordEvent'>;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface MarginWatch {
  /** Looks now, at the day of an hour ago. Resolves when the events are written. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** Looks every hour. */
export function startMarginWatch({ store, log, now }: WatchParts): MarginWatch {
  /** The ids of the events that this process has written. */
  const written = new Set<string>();
  let running = Promise.resolve();

  async function look(): Promise<void> {
    const start = Math.floor((now() - HOUR_MS) / DAY_MS) * DAY_MS;
    const range = { from: new Date(start), until: new Date(start + DAY_MS) };
    const day = range.from.toISOString().slice(0, 10);
    try {
      for (const sum of await store.readUsage({ by: ['model', 'account'], ...range })) {
        // Without the costs of all requests it is not known.
        if (sum.costed < sum.requests || sum.listPrice >= sum.cost) continue;
        const { model = '', accountId = '' } = sum;
        const id = `evt_model.sold_below_cost:${day}:${model}:${accountId}`;
        if (written.has(id)) continue;
        const data = {
          day,
          model,
          account_id: accountId,
          charged_usd: formatUsd(sum.listPrice),
          cost_usd: formatUsd(sum.cost),
        };
        log.warn(data, 'a model was sold below its cost');
        const event = { type: 'model.sold_below_cost', accountId: '', keyId: undefined } as const;
        await store.recordEvent({ id, ...event, data });
        written.add(id);
      }
    } catch (error) {
      // The next look tries again.
      log.warn({ reason: reasonOf(error) }, 'the event model.sold_below_cost cannot be written');
    }
  }

  const lookNext = (): Promise<void> => (running = running.then(look));
  const timer = setInterval(() => void lookNext(), HOUR_MS).unref();
  return {
    look: lookNext,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
