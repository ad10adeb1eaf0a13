/** Payments, their codes, and auto top-up. */

import { z } from 'zod';
import { formatUsd, parseUsd } from '@gateway/billing';
import { decimalOf } from '@gateway/payments';
import { usdFromCents } from '../../config/cents.js';
import type { Known } from '../../payments/payment-ledger.js';
import { refundableOf } from '../../payments/refunds.js';
import type { PaymentMoney } from '../../payments/refunds.js';
import { cellsOf, linesOf, membersFrom, pageColumnsOf, viewFor } from '../resource.js';
import { count, listOf, orNull, text, time, usd } from './basics.js';

type Payment = Known<'payment'>;
const ofPayment = membersFrom<Payment>();
/** With what the ledger has of its money, which is read for one payment at a time. */
const ofMoney = membersFrom<Payment & { readonly money: PaymentMoney | undefined }>();

export const paymentMembers = {
  object: ofPayment.everyone(z.literal('payment'), () => 'payment' as const),
  id: ofPayment.everyone(text, ({ id }) => id, 'id'),
  account_id: ofPayment.everyone(text, ({ accountId }) => accountId, 'account'),
  amount_usd: ofPayment.everyone(
    usd.meta({ description: 'what was asked for' }),
    ({ data }) => usdFromCents(data.amount_cents),
    'amount',
  ),
  paid_amount: ofPayment.everyone(
    orNull(text).meta({ description: 'decimal text, in paid_currency, with tax, once it is paid' }),
    ({ data: { paid } }) =>
      paid && decimalOf({ amountCents: paid.amount_cents, currency: paid.currency }),
    'paid',
  ),
  paid_currency: ofPayment.everyone(orNull(text), ({ data }) => data.paid?.currency ?? null),
  net_usd: ofPayment.everyone(
    orNull(usd).meta({ description: 'what is credited' }),
    ({ data }) => data.paid?.credited_usd ?? null,
    'net',
  ),
  tax_usd: ofPayment.everyone(orNull(usd), ({ data }) => data.paid?.tax_usd ?? null, 'tax'),
  tax_percent: ofPayment.everyone(
    orNull(text).meta({ description: 'decimal text, if the provider states one rate' }),
    ({ data }) => data.paid?.tax_percent ?? null,
    'tax (%)',
  ),
  tax_country: ofPayment.everyone(
    orNull(text),
    ({ data }) => data.paid?.tax_country ?? null,
    'taxed in',
  ),
  exchange_rate: ofPayment.everyone(
    orNull(text).meta({ description: 'from paid_currency to USD' }),
    ({ data }) => data.paid?.rate ?? null,
    'exchange rate',
  ),
  /** `paid` once the provider has the money. The credit is booked right after that. */
  state: ofPayment.everyone(
    z.enum(['open', 'pending', 'paid', 'failed', 'expired']),
    ({ data }) => data.state,
    'state',
  ),
  by: ofPayment.everyone(z.enum(['key', 'operator', 'auto_top_up']), ({ data }) => data.by, 'by'),
  url: ofPayment.everyone(
    orNull(text).meta({ description: 'where to pay, while that is possible' }),
    ({ data }) => data.url,
    'to pay',
  ),
  url_expires_at: ofPayment.everyone(
    orNull(time),
    ({ data }) => (data.url === null ? null : data.expires_at),
    'page expires',
  ),
  reference: ofPayment.everyone(
    orNull(text).meta({ description: "the provider's id, once it is paid" }),
    ({ data }) => data.provider_payment_id,
    'reference',
  ),
  failure_code: ofPayment.everyone(orNull(text), ({ data }) => data.code, 'failure'),
  created_at: ofPayment.everyone(time, ({ createdAt }) => createdAt.toISOString(), 'time'),
  updated_at: ofPayment.everyone(time, ({ updatedAt }) => updatedAt.toISOString()),
};

export const moneyMembers = {
  ...paymentMembers,
  exchange_rate_by: ofMoney.operators(
    orNull(z.enum(['provider', 'operator'])),
    ({ data }) => data.paid?.rate_by ?? null,
    'rate stated by',
  ),
  fees_usd: ofMoney.operators(
    usd.meta({ description: "the provider's fees, of refunds and disputes too, as far as known" }),
    ({ data: { fees } }) => formatUsd(fees.reduce((sum, fee) => sum + parseUsd(fee.fee_usd), 0n)),
    'fees',
  ),
  started_by: ofMoney.operators(text, ({ data }) => data.started_by, 'started by'),
  credited_usd: ofMoney.operators(usd, ({ money }) => formatUsd(money?.credited ?? 0n), 'credited'),
  taken_back_usd: ofMoney.operators(
    usd,
    ({ money }) => formatUsd(money?.takenBack ?? 0n),
    'taken back',
  ),
  tax_taken_back_usd: ofMoney.operators(
    usd,
    ({ money }) => formatUsd(money?.taxTakenBack ?? 0n),
    'tax taken back',
  ),
  /** The most that can be paid back, with its tax. */
  refundable_usd: ofMoney.operators(
    usd,
    ({ money }) => formatUsd(refundableOf(money)),
    'refundable',
  ),
  /** The part of the payment that the account has not spent. */
  unspent_usd: ofMoney.operators(usd, ({ money }) => formatUsd(money?.unspent ?? 0n), 'unspent'),
};

/** A payment as the customer sees it, and operators in a list. */
export const { schema: payment, view: paymentView } = viewFor('holders', paymentMembers, {
  id: 'Payment',
});
const withMoney = viewFor('operators', moneyMembers, { id: 'PaymentMoney' });
export const paymentMoney = withMoney.schema;

/** A payment with its refundable and its unspent part, as the operator sees it. */
export function paymentMoneyView(of: Payment, money: PaymentMoney | undefined) {
  return withMoney.view({ ...of, money });
}

/** A payment in the command line. */
export const paymentLines = linesOf(paymentMembers, [
  'id',
  'account_id',
  'amount_usd',
  'state',
  [
    'paid',
    ({ paid_amount: amount, paid_currency: of }) =>
      of === null ? undefined : `${amount ?? ''} ${of.toUpperCase()}`,
  ],
  'net_usd',
  'tax_usd',
  'tax_percent',
  'tax_country',
  'exchange_rate',
  'url',
  'url_expires_at',
  'reference',
  'failure_code',
  ['started', ({ created_at }) => created_at],
]);

/** What the ledger has of a payment, in the command line. */
export const moneyLines = linesOf(moneyMembers, [
  'started_by',
  'exchange_rate_by',
  'fees_usd',
  'credited_usd',
  'taken_back_usd',
  'tax_taken_back_usd',
  'refundable_usd',
  'unspent_usd',
]);

/** A list of payments in the command line. */
export const paymentCells = cellsOf(
  paymentMembers,
  [
    'created_at',
    ['payment', ({ id }) => id],
    'account_id',
    'state',
    'by',
    'amount_usd',
    'reference',
  ],
  ['reference', 'by', 'created_at', 'account_id'],
);

/** A list of payments on the pages. */
export const paymentColumns = pageColumnsOf(paymentMembers, [
  'by',
  'created_at',
  'amount_usd',
  'tax_usd',
  'state',
  'account_id',
]);

export const payments = listOf(payment).extend({ min_usd: usd, max_usd: usd });

export const unbookedPayment = z
  .strictObject({
    object: z.literal('unbooked_payment'),
    id: text,
    account_id: orNull(text),
    fact: text,
    reason: text,
    payment_id: orNull(text),
    reference: text,
    amount_cents: z.int(),
    currency: text,
    created_at: time,
  })
  .meta({ id: 'UnbookedPayment' });

export const refund = z
  .strictObject({ object: z.literal('refund'), id: text, amount_usd: usd, payment: paymentMoney })
  .meta({ id: 'Refund' });

export const receipt = z
  .strictObject({
    object: z.literal('receipt'),
    payment_id: text,
    url: text,
    net_usd: orNull(usd),
    tax_usd: orNull(usd),
  })
  .meta({ id: 'Receipt' });

const autoTopUpMembers = {
  object: z.literal('auto_top_up'),
  state: z.enum(['off', 'needs_method', 'on', 'stopped']),
  threshold_usd: orNull(usd),
  amount_usd: orNull(usd),
  target_usd: orNull(usd).meta({ description: 'the balance up to which each charge pays' }),
  max_per_day: orNull(count),
  max_per_month_usd: orNull(usd),
  stopped_code: orNull(text),
};

export const autoTopUp = z.strictObject(autoTopUpMembers).meta({ id: 'AutoTopUp' });

export const orderedAutoTopUp = z.strictObject({
  ...autoTopUpMembers,
  setup_url: orNull(text).meta({ description: 'where to save a payment method' }),
});

export const promoCode = z
  .strictObject({
    object: z.literal('promo_code'),
    code: text,
    amount_usd: usd,
    expires_at: orNull(time),
    credit_expires_at: orNull(time),
    max_redemptions: count,
    redemptions: count,
    created_at: time,
  })
  .meta({ id: 'PromoCode' });

export const redemption = z
  .strictObject({
    object: z.literal('redemption'),
    amount_usd: usd,
    balance_usd: usd,
    credit_expires_at: orNull(time),
    replayed: z.boolean(),
  })
  .meta({ id: 'Redemption' });
