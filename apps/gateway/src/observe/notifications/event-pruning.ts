/** Deletes old events, once an hour while the gateway serves. */

import type { Logger } from 'pino';
import type { BalanceStore, EventChannel } from '@gateway/balance-store';
import { reasonOf } from '../../base/error-code.js';
import { DAY_MS, MINUTE_MS } from '../../base/times.js';

const PERIOD_MS = 60 * MINUTE_MS;
/**
 * Delivered and given-up events can be listed for this long. Afterwards the id of one no longer
 * prevents a second one: where its cause can still be seen then, the writer has to prevent it.
 */
export const EVENTS_KEPT_MS = 30 * DAY_MS;
/**
 * Events that were never sent by a channel that is not configured are given up after this time. One
 * that is configured later then gets the events of the last day, not those of the last month.
 */
const WAITING_MS = DAY_MS;

export function startEventPruning(
  store: Pick<BalanceStore, 'pruneEvents'>,
  log: Logger,
  { idle }: { readonly idle: readonly EventChannel[] },
): { stop(): Promise<void> } {
  let isStopping = false;

  async function prune(): Promise<void> {
    const now = Date.now();
    const options = {
      finishedBefore: new Date(now - EVENTS_KEPT_MS),
      giveUp: { before: new Date(now - WAITING_MS), channels: idle },
    };
    try {
      while (!isStopping && (await store.pruneEvents(options)) > 0);
    } catch (error) {
      const reason = reasonOf(error);
      log.warn({ reason }, 'old events cannot be deleted');
    }
  }

  let running = prune();
  const timer = setInterval(() => {
    running = running.then(prune);
  }, PERIOD_MS).unref();

  return {
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await running;
    },
  };
}
