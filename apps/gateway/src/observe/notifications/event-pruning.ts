/** Deletes old events, once an hour while the gateway serves. */

import type { Logger } from 'pino';
import type { BalanceStore } from '@gateway/balance-store';
import { reasonOf } from '../../base/error-code.js';
import { DAY_MS, MINUTE_MS } from '../../base/times.js';

const PERIOD_MS = 60 * MINUTE_MS;
/** Delivered and given-up events can be listed for this long. */
const KEPT_MS = 30 * DAY_MS;
/**
 * If no receiver is configured, events that were never sent are given up after this time. A
 * receiver that is configured later then gets the events of the last day, not those of the last
 * month.
 */
const WAITING_MS = DAY_MS;

export function startEventPruning(
  store: Pick<BalanceStore, 'pruneEvents'>,
  log: Logger,
  { isDelivering }: { readonly isDelivering: boolean },
): { stop(): Promise<void> } {
  let isStopping = false;

  async function prune(): Promise<void> {
    const now = Date.now();
    const options = {
      finishedBefore: new Date(now - KEPT_MS),
      giveUpBefore: isDelivering ? undefined : new Date(now - WAITING_MS),
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
