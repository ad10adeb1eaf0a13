/**
 * The tax of a payment and what Stripe settled it as.
 *
 * The page of a payment states its tax and the rates; the payment intent of a charge without a page
 * states only the amount, if any. Stripe sends the rates only if they are asked for.
 *
 * https://docs.stripe.com/api/checkout/sessions/object#checkout_session_object-total_details
 * https://docs.stripe.com/api/balance_transactions/object
 */

import * as z from 'zod';
import type Stripe from 'stripe';
import type { PaymentDetails, PaymentTax, Settled } from '../provider.js';
import { cents, currency, readAs } from './facts.js';
import { existing } from './requests.js';

const taxedSession = z.object({
  total_details: z.object({
    amount_tax: cents,
    breakdown: z
      .object({
        taxes: z.array(
          z.object({
            amount: cents,
            taxable_amount: cents.nullable(),
            rate: z.object({
              percentage: z.number().min(0),
              effective_percentage: z.number().min(0).nullish(),
              country: z.string().length(2).nullable(),
            }),
          }),
        ),
      })
      .optional(),
  }),
});

const settledIntent = z.object({
  amount_received: cents,
  currency,
  amount_details: z
    .object({ tax: z.object({ total_tax_amount: cents.nullish() }).nullish() })
    .nullish(),
  latest_charge: z.object({
    balance_transaction: z
      .object({ amount: cents, currency, exchange_rate: z.number().positive().nullable() })
      .nullable(),
  }),
});

export function readDetails(
  stripe: Stripe,
  providerPaymentId: string,
): Promise<PaymentDetails | undefined> {
  return existing(async () => {
    const intent = await stripe.paymentIntents.retrieve(providerPaymentId, {
      expand: ['latest_charge.balance_transaction'],
    });
    const sessions = await stripe.checkout.sessions.list({
      payment_intent: providerPaymentId,
      limit: 1,
      expand: ['data.total_details.breakdown'],
    });
    return detailsOf(intent, sessions.data[0]);
  });
}

function detailsOf(intent: unknown, session: unknown): PaymentDetails {
  const { amount_details, latest_charge, ...paid } = readAs(settledIntent, intent);
  const ofIntent = amount_details?.tax?.total_tax_amount ?? 0;
  return {
    paid: { amountCents: paid.amount_received, currency: paid.currency },
    tax:
      session === undefined
        ? { amountCents: ofIntent, percent: undefined, country: undefined }
        : taxOf(readAs(taxedSession, session)),
    settled: settledOf(latest_charge.balance_transaction),
  };
}

function settledOf(
  settled: z.output<typeof settledIntent>['latest_charge']['balance_transaction'],
): Settled | undefined {
  if (settled === null) return undefined;
  const rate = settled.exchange_rate;
  return {
    amountCents: settled.amount,
    currency: settled.currency,
    exchangeRate: rate === null ? undefined : decimalText(rate),
  };
}

function taxOf({ total_details }: z.output<typeof taxedSession>): PaymentTax {
  // A line without an amount is one that does not apply, such as a reverse charge.
  const lines = (total_details.breakdown?.taxes ?? []).filter(({ amount }) => amount > 0);
  const [first] = lines;
  const isOfAll = lines.every(({ taxable_amount }) => taxable_amount === first?.taxable_amount);
  const countries = new Set(lines.map(({ rate }) => rate.country));
  const [country] = countries;
  return {
    amountCents: total_details.amount_tax,
    percent: first === undefined || !isOfAll ? undefined : percentOf(lines),
    country: countries.size === 1 ? (country ?? undefined) : undefined,
  };
}

type TaxLine = NonNullable<
  z.output<typeof taxedSession>['total_details']['breakdown']
>['taxes'][number];

/** Taxes of a state and a city on one amount are added, exactly. */
function percentOf(lines: readonly TaxLine[]): string {
  const texts = lines.map(({ rate }) => decimalText(rate.effective_percentage ?? rate.percentage));
  const digits = Math.max(...texts.map((text) => (text.split('.')[1] ?? '').length));
  const sum = texts.reduce((total, text) => {
    const [whole = '0', part = ''] = text.split('.');
    return total + BigInt(whole + part.padEnd(digits, '0'));
  }, 0n);
  const all = sum.toString().padStart(digits + 1, '0');
  const part = all.slice(all.length - digits).replace(/0+$/, '');
  const whole = all.slice(0, all.length - digits);
  return digits === 0 ? all : part === '' ? whole : `${whole}.${part}`;
}

/** A number of Stripe's JSON as it was written there, without an exponent. */
function decimalText(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(20).replace(/0+$/, '') : text;
}
