/** Payments, auto top-up and promo codes as JSON. */

import { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import { unitsFromCents } from '../config/cents.js';
import type { Known } from '../payments/payment-ledger.js';
import type { Reconciliation } from '../payments/reconcile.js';
import { refundableOf } from '../payments/refunds.js';
import type { PaymentMoney } from '../payments/refunds.js';

export const promoCodeField = z
  .string()
  .trim()
  .toUpperCase()
  .regex(/^[A-Z0-9-]{8,40}$/, 'must be 8 to 40 characters of A-Z 0-9 -');

const usdOf = (cents: number): string => formatUsd(unitsFromCents(cents));

const usdOrNull = (cents: number | null | undefined): string | null =>
  cents === null || cents === undefined ? null : usdOf(cents);

/** A payment as the customer sees it. */
export function paymentView({ id, accountId, data, createdAt, updatedAt }: Known<'payment'>) {
  return {
    object: 'payment' as const,
    id,
    account_id: accountId,
    amount_usd: usdOf(data.amount_cents),
    /** `paid` once the provider has the money. The credit is booked right after that. */
    state: data.state,
    by: data.by,
    /** Where to pay, while that is possible. */
    url: data.url,
    url_expires_at: data.url === null ? null : data.expires_at,
    reference: data.provider_payment_id,
    failure_code: data.code,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

/** A payment with its refundable and its unspent part, as the operator sees it. */
export function paymentMoneyView(payment: Known<'payment'>, money: PaymentMoney | undefined) {
  return {
    ...paymentView(payment),
    started_by: payment.data.started_by,
    credited_usd: formatUsd(money?.credited ?? 0n),
    taken_back_usd: formatUsd(money?.takenBack ?? 0n),
    /** The most that can be paid back. */
    refundable_usd: formatUsd(refundableOf(money)),
    /** The part of the payment that the account has not spent. */
    unspent_usd: formatUsd(money?.unspent ?? 0n),
  };
}

export function unbookedView({ id, accountId, data, createdAt }: Known<'unbooked_payment'>) {
  return {
    object: 'unbooked_payment' as const,
    id,
    account_id: accountId === '' ? null : accountId,
    fact: data.fact,
    reason: data.reason,
    payment_id: data.payment_id,
    reference: data.provider_payment_id,
    amount_cents: data.amount_cents,
    currency: data.currency,
    created_at: createdAt.toISOString(),
  };
}

export function reconciliationView({ compared, missing }: Reconciliation) {
  return {
    object: 'reconciliation' as const,
    compared,
    missing: missing.map((entry) => ({
      fact: entry.fact,
      id: entry.id,
      reference: entry.providerPaymentId,
      account_id: entry.accountId ?? null,
      amount_cents: entry.amountCents,
      currency: entry.currency,
      outcome: entry.outcome,
    })),
  };
}

export function autoTopUpView(order: Known<'auto_top_up'> | undefined) {
  const data = order?.data;
  return {
    object: 'auto_top_up' as const,
    state: data === undefined || data.setup_id === '' ? ('off' as const) : data.state,
    threshold_usd: data?.threshold_usd ?? null,
    amount_usd: usdOrNull(data?.amount_cents),
    target_usd: usdOrNull(data?.target_cents),
    max_per_day: data?.max_per_day ?? null,
    max_per_month_usd: usdOrNull(data?.max_per_month_cents),
    stopped_code: data?.stopped_code ?? null,
  };
}

export function promoCodeView({ id, data, createdAt }: Known<'promo_code'>) {
  return {
    object: 'promo_code' as const,
    code: id,
    amount_usd: data.amount_usd,
    expires_at: data.expires_at,
    credit_expires_at: data.credit_expires_at,
    max_redemptions: data.max_redemptions,
    redemptions: data.accounts.length,
    created_at: createdAt.toISOString(),
  };
}
