/**
 * The tax of a payment and what Stripe settled it as.
 *
 * The page of a payment states its tax and the rates; Stripe sends the rates only if they are asked
 * for. A charge without a page names the calculation that states both.
 *
 * https://docs.stripe.com/api/checkout/sessions/object#checkout_session_object-total_details
 * https://docs.stripe.com/api/tax/calculations/object
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

const calculated = z.object({
  tax_amount_exclusive: cents,
  tax_amount_inclusive: cents,
  tax_breakdown: z.array(
    z.object({
      amount: cents,
      taxable_amount: cents,
      tax_rate_details: z.object({
        percentage_decimal: z.string().regex(/^\d+(\.\d+)?$/),
        country: z.string().length(2).nullable(),
      }),
    }),
  ),
});

const settledIntent = z.object({
  amount_received: cents,
  currency,
  hooks: z
    .object({
      inputs: z.object({ tax: z.object({ calculation: z.string() }).nullish() }).nullish(),
    })
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
    const {
      amount_received,
      currency: paidIn,
      hooks,
      latest_charge,
    } = readAs(settledIntent, intent);
    const calculation = hooks?.inputs?.tax?.calculation;
    return {
      paid: { amountCents: amount_received, currency: paidIn },
      tax:
        calculation === undefined
          ? await taxOfPage(stripe, providerPaymentId)
          : calculatedTax(await stripe.tax.calculations.retrieve(calculation)),
      settled: settledOf(latest_charge.balance_transaction),
    };
  });
}

async function taxOfPage(stripe: Stripe, providerPaymentId: string): Promise<PaymentTax> {
  const { data } = await stripe.checkout.sessions.list({
    payment_intent: providerPaymentId,
    limit: 1,
    expand: ['data.total_details.breakdown'],
  });
  if (data[0] === undefined) return taxOf(0, []);
  const { amount_tax, breakdown } = readAs(taxedSession, data[0]).total_details;
  const lines = (breakdown?.taxes ?? []).map(({ amount, taxable_amount: taxable, rate }) => ({
    amount,
    taxable,
    percent: decimalText(rate.effective_percentage ?? rate.percentage),
    country: rate.country,
  }));
  return taxOf(amount_tax, lines);
}

function calculatedTax(calculation: unknown): PaymentTax {
  const of = readAs(calculated, calculation);
  const lines = of.tax_breakdown.map(({ amount, taxable_amount: taxable, tax_rate_details }) => ({
    amount,
    taxable,
    percent: tax_rate_details.percentage_decimal,
    country: tax_rate_details.country,
  }));
  return taxOf(of.tax_amount_exclusive + of.tax_amount_inclusive, lines);
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

interface TaxLine {
  readonly amount: number;
  readonly taxable: number | null;
  /** Decimal text. */
  readonly percent: string;
  readonly country: string | null;
}

function taxOf(amountCents: number, all: readonly TaxLine[]): PaymentTax {
  // A line without an amount is one that does not apply, such as a reverse charge.
  const lines = all.filter(({ amount }) => amount > 0);
  const [first] = lines;
  const isOfAll = lines.every(({ taxable }) => taxable === first?.taxable);
  const countries = new Set(lines.map(({ country }) => country));
  const [country] = countries;
  return {
    amountCents,
    percent: first === undefined || !isOfAll ? undefined : percentOf(lines),
    country: countries.size === 1 ? (country ?? undefined) : undefined,
  };
}

/** Taxes of a state and a city on one amount are added, exactly. */
function percentOf(lines: readonly TaxLine[]): string {
  const texts = lines.map(({ percent }) => percent);
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
