/** Metrics of payments. All counters start at 0. */

import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { FACT_OUTCOMES } from './fact-books.js';
import { NOTIFICATION_OUTCOMES } from './notification-outcome.js';

export interface PaymentMetrics {
  /** Notifications by their outcome. */
  readonly notifications: Pick<Counter<'outcome'>, 'inc'>;
  /** Facts that a comparison with the provider found missing. */
  readonly reconciled: Pick<Counter<'outcome'>, 'inc'>;
}

export function addPaymentMetrics(registry: Registry): PaymentMetrics {
  const counterOf = (name: string, help: string, outcomes: readonly string[]) => {
    const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [registry] });
    for (const outcome of outcomes) counter.inc({ outcome }, 0);
    return counter;
  };
  return {
    notifications: counterOf(
      'gateway_payment_notifications_total',
      'Notifications of the payment provider; unbooked: money that the ledger cannot take',
      NOTIFICATION_OUTCOMES,
    ),
    reconciled: counterOf(
      'gateway_payments_reconciled_total',
      'Facts that the provider had and the ledger lacked, found by comparing them; booked: now in the ledger',
      [...FACT_OUTCOMES, 'missing'],
    ),
  };
}
