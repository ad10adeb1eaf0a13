/** Payments, their codes, and auto top-up. */

import { z } from 'zod';
import { count, listOf, orNull, text, time, usd } from './basics.js';

const paymentMembers = {
  object: z.literal('payment'),
  id: text,
  account_id: text,
  amount_usd: usd,
  state: z.enum(['open', 'pending', 'paid', 'failed', 'expired']),
  by: z.enum(['key', 'operator', 'auto_top_up']),
  url: orNull(text).meta({ description: 'where to pay, while that is possible' }),
  url_expires_at: orNull(time),
  reference: orNull(text).meta({ description: "the provider's id, once it is paid" }),
  failure_code: orNull(text),
  created_at: time,
  updated_at: time,
};

export const payment = z.strictObject(paymentMembers).meta({ id: 'Payment' });

export const payments = listOf(payment).extend({ min_usd: usd, max_usd: usd });

export const paymentMoney = z
  .strictObject({
    ...paymentMembers,
    started_by: text,
    credited_usd: usd,
    taken_back_usd: usd,
    refundable_usd: usd,
    unspent_usd: usd,
  })
  .meta({ id: 'PaymentMoney' });

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
  .strictObject({ object: z.literal('receipt'), payment_id: text, url: text })
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
