/** Metrics of the delivery of events. Each counter starts at 0. */

import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { addGauge } from '../registry.js';

export interface WebhookMetrics {
  /** `failed`: an attempt failed; `givenUp`: an event was given up after its last attempt. */
  count(what: 'delivered' | 'failed' | 'givenUp'): void;
}

/**
 * @param oldestPendingAt - When the oldest event was written that is neither delivered nor given
 * up. It comes from the ledger's summary, which is read once a minute.
 */
export function addWebhookMetrics(
  registry: Registry,
  oldestPendingAt: () => Date | undefined,
): WebhookMetrics {
  const counter = (name: string, help: string): Counter =>
    new Counter({ name, help, registers: [registry] });
  const counters = {
    delivered: counter('gateway_webhooks_delivered_total', 'Events that the receiver accepted'),
    failed: counter('gateway_webhook_attempts_failed_total', 'Attempts that failed'),
    givenUp: counter(
      'gateway_webhooks_given_up_total',
      'Events that were not delivered within a day and will not be sent again',
    ),
  };
  addGauge(
    registry,
    'gateway_webhook_oldest_pending_seconds',
    'Age of the oldest event that waits for its delivery; 0 if none waits',
    () => {
      const at = oldestPendingAt();
      return at === undefined ? 0 : Math.max(0, Date.now() - at.getTime()) / 1000;
    },
  );
  return {
    count(what) {
      counters[what].inc();
    },
  };
}
