/** Books a payment in another currency at the rate to USD that an operator states. */

import type { Actor } from '@gateway/balance-store';
import type { PaymentFact, PaymentProvider } from '@gateway/payments';
import type { PaymentLedger } from '../ledger/open-store.js';
import type { FactOutcome } from './fact-books.js';
import { changeDocument, findDocument } from './payment-ledger.js';
import type { Known } from './payment-ledger.js';

export interface RateBooking {
  readonly providerPaymentId: string;
  /** What one unit of the payment's currency is worth in USD, as decimal text. */
  readonly rate: string;
  readonly by: Actor;
}

export type RateOutcome =
  | { readonly outcome: 'booked'; readonly payment: Known<'payment'> }
  | { readonly outcome: 'unknown' | 'conflict' | 'unbooked' };

export async function bookAtRate(
  parts: {
    readonly ledger: PaymentLedger;
    readonly provider: Pick<PaymentProvider, 'findPaid'>;
    readonly book: (fact: PaymentFact) => Promise<FactOutcome>;
  },
  { providerPaymentId, rate, by }: RateBooking,
): Promise<RateOutcome> {
  const { ledger, provider, book } = parts;
  const unbooked = await findDocument(ledger, 'unbooked_payment', providerPaymentId);
  const id = unbooked?.data.payment_id ?? null;
  if (id === null || unbooked?.data.reason !== 'other_currency') return { outcome: 'unknown' };
  const details = {
    rate,
    currency: unbooked.data.currency,
    provider_payment_id: providerPaymentId,
  };
  const stated = await changeDocument(ledger, { kind: 'payment', id }, ({ data }) =>
    data.stated_rate === null && data.provider_payment_id === null
      ? {
          data: { ...data, stated_rate: rate },
          trail: { action: 'payment.rate', by, details },
        }
      : undefined,
  );
  if (stated?.data.stated_rate !== rate) return { outcome: 'conflict' };
  const fact = await provider.findPaid(providerPaymentId);
  if (fact === undefined) return { outcome: 'unknown' };
  const outcome = await book(fact);
  const payment = await findDocument(ledger, 'payment', id);
  const isBooked = outcome === 'booked' || outcome === 'known';
  return isBooked && payment !== undefined
    ? { outcome: 'booked', payment }
    : { outcome: 'unbooked' };
}
