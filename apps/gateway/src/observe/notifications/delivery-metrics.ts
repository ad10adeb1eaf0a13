/** Metrics of the delivery of events. Each counter starts at 0. */

import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { EventChannel } from '@gateway/balance-store';
import { addGauge } from '../registry.js';

export interface DeliveryMetrics {
  /** `failed`: an attempt failed; `givenUp`: an event was given up after its last attempt. */
  count(what: 'delivered' | 'failed' | 'givenUp'): void;
}

const NAMES = {
  webhook: {
    delivered: ['gateway_webhooks_delivered_total', 'Events that the receiver accepted'],
    failed: ['gateway_webhook_attempts_failed_total', 'Attempts that failed'],
    givenUp: [
      'gateway_webhooks_given_up_total',
      'Events that were not delivered within a day and will not be sent again',
    ],
  },
  mail: {
    delivered: ['gateway_mails_delivered_total', 'Notices that the mail server accepted'],
    failed: ['gateway_mail_attempts_failed_total', 'Attempts to send a notice that failed'],
    givenUp: [
      'gateway_mails_given_up_total',
      'Notices whose recipient was refused, or that could not be sent within a day',
    ],
  },
} as const;

export function addDeliveryMetrics(registry: Registry, channel: EventChannel): DeliveryMetrics {
  const counter = ([name, help]: readonly [name: string, help: string]) =>
    new Counter({ name, help, registers: [registry] });
  const { delivered, failed, givenUp } = NAMES[channel];
  const counters = {
    delivered: counter(delivered),
    failed: counter(failed),
    givenUp: counter(givenUp),
  };
  return {
    count(what) {
      counters[what].inc();
    },
  };
}

/**
 * @param oldestPendingAt - When the oldest event was written whose webhook is neither delivered nor
 * given up. It comes from the ledger's summary, which is read once a minute.
 */
export function addPendingWebhooks(
  registry: Registry,
  oldestPendingAt: () => Date | undefined,
): void {
  addGauge(
    registry,
    'gateway_webhook_oldest_pending_seconds',
    'Age of the oldest event that waits for its delivery; 0 if none waits',
    () => {
      const at = oldestPendingAt();
      return at === undefined ? 0 : Math.max(0, Date.now() - at.getTime()) / 1000;
    },
  );
}
