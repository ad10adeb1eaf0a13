/** Payments, auto top-up and promo codes as JSON. */

import { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import { usdFromCents } from '../config/cents.js';
import type { CashComparison } from '../payments/compare-cash.js';
import type { Known } from '../payments/payment-ledger.js';
import type { Reconciliation } from '../payments/reconcile.js';

export const promoCodeField = z
  .string()
  .trim()
  .toUpperCase()
  .regex(/^[A-Z0-9-]{8,40}$/, 'must be 8 to 40 characters of A-Z 0-9 -');

const unitsOrNull = (units: bigint | undefined): string | null =>
  units === undefined ? null : formatUsd(units);

const usdOrNull = (cents: number | null | undefined): string | null =>
  cents === null || cents === undefined ? null : usdFromCents(cents);

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

export function reconciliationView({ compared, missing }: Reconciliation, cash: CashComparison) {
  const isDone = missing.every(({ outcome }) => outcome === 'booked');
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
    is_equal: isDone && cash.differences.every(({ verdict }) => verdict === 'exchange'),
    cash: {
      compared: cash.compared,
      others: cash.others,
      provider_usd: formatUsd(cash.provider),
      ledger_usd: formatUsd(cash.ledger),
      differences: cash.differences.map((difference) => ({
        verdict: difference.verdict,
        entry_id: difference.entryId,
        transaction: difference.transactionId ?? null,
        account_id: difference.accountId ?? null,
        provider_usd: unitsOrNull(difference.provider),
        ledger_usd: unitsOrNull(difference.ledger),
      })),
    },
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
