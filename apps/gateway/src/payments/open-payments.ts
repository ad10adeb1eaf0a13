/**
 * Opens payments if the configuration names a provider. Otherwise neither Stripe's client nor the
 * code of payments is loaded.
 */

import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import type { Payments } from './payments.js';

export async function openPayments(
  config: Pick<Config, 'stripe' | 'topUpCents' | 'topUpTax' | 'publicUrl'>,
  {
    ledger,
    registry,
    log,
  }: {
    readonly ledger: PaymentLedger;
    readonly registry: Registry;
    readonly log: Logger;
  },
): Promise<Payments | undefined> {
  const { stripe, topUpCents, topUpTax, publicUrl } = config;
  if (stripe === undefined) return undefined;
  const [{ createStripeProvider }, { createPayments }, { addPaymentMetrics }] = await Promise.all([
    import('@gateway/payments/stripe'),
    import('./payments.js'),
    import('./payment-metrics.js'),
  ]);
  return createPayments({
    ledger,
    provider: createStripeProvider(stripe),
    limits: topUpCents,
    tax: topUpTax,
    publicUrl,
    log,
    metrics: addPaymentMetrics(registry),
    now: Date.now,
  });
}
