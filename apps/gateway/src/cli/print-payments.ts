/** Payments and codes as text for a terminal. */

import type { OperationOutput } from '../operator/operations/operations.js';
import { more, pairs, table } from './print.js';

export function printPayment(payment: OperationOutput<'startPayment'>): string {
  return pairs({
    id: payment.id,
    account: payment.account_id,
    'amount (USD)': payment.amount_usd,
    state: payment.state,
    ...(payment.url === null ? {} : { 'to pay': payment.url }),
    ...(payment.url_expires_at === null ? {} : { 'page expires': payment.url_expires_at }),
    ...(payment.reference === null ? {} : { reference: payment.reference }),
    ...(payment.failure_code === null ? {} : { failure: payment.failure_code }),
    started: payment.created_at,
  });
}

export function printPaymentMoney(payment: OperationOutput<'showPayment'>): string {
  return `${printPayment(payment)}\n${pairs({
    'started by': payment.started_by,
    'credited (USD)': payment.credited_usd,
    'taken back (USD)': payment.taken_back_usd,
    'refundable (USD)': payment.refundable_usd,
    'unspent (USD)': payment.unspent_usd,
  })}`;
}

export function printPayments({ data, next_cursor }: OperationOutput<'listPayments'>): string {
  if (data.length === 0) return 'No payments.';
  const rows = data.map((payment) => [
    payment.created_at,
    payment.id,
    payment.account_id,
    payment.state,
    payment.by,
    payment.amount_usd,
    payment.reference ?? '',
  ]);
  const headings = ['time', 'payment', 'account', 'state', 'by', '>amount (USD)', 'reference'];
  return table(headings, rows) + more(next_cursor);
}

export function printUnbooked({
  data,
  next_cursor,
}: OperationOutput<'listUnbookedPayments'>): string {
  if (data.length === 0) return 'Nothing is unbooked.';
  const rows = data.map((entry) => [
    entry.created_at,
    entry.fact,
    entry.id,
    entry.reason,
    entry.account_id ?? '',
    `${String(entry.amount_cents)} ${entry.currency}`,
  ]);
  const headings = ['time', 'what', 'id', 'reason', 'account', '>smallest units'];
  return table(headings, rows) + more(next_cursor);
}

export function printReconciliation({
  compared,
  missing,
}: OperationOutput<'reconcilePayments'>): string {
  const summary = `${String(compared)} compared, ${String(missing.length)} missing in the ledger.`;
  if (missing.length === 0) return summary;
  const rows = missing.map((entry) => [
    entry.fact,
    entry.id,
    entry.account_id ?? '',
    `${String(entry.amount_cents)} ${entry.currency}`,
    entry.outcome,
  ]);
  return `${table(['what', 'id', 'account', '>smallest units', 'now'], rows)}\n${summary}`;
}

export function printRefund(refund: OperationOutput<'refundPayment'>): string {
  return `Refunded ${refund.amount_usd} USD: ${refund.id}\n${printPaymentMoney(refund.payment)}`;
}

export function printAutoTopUp(order: OperationOutput<'showAutoTopUp'>): string {
  return pairs({
    state: order.state,
    'below (USD)': order.threshold_usd ?? '',
    ...(order.target_usd === null
      ? { 'amount (USD)': order.amount_usd ?? '' }
      : { 'up to (USD)': order.target_usd }),
    'per day': order.max_per_day === null ? '' : `at most ${String(order.max_per_day)}`,
    'per month (USD)': order.max_per_month_usd ?? '',
    ...(order.stopped_code === null ? {} : { 'stopped by': order.stopped_code }),
  });
}

export function printPromoCode(code: OperationOutput<'createPromoCode'>): string {
  return pairs({
    code: code.code,
    'amount (USD)': code.amount_usd,
    redeemed: `${String(code.redemptions)} of ${String(code.max_redemptions)} times`,
    expires: code.expires_at ?? 'never',
    'credit expires': code.credit_expires_at ?? 'never',
  });
}

export function printPromoCodes({ data, next_cursor }: OperationOutput<'listPromoCodes'>): string {
  if (data.length === 0) return 'No codes.';
  const rows = data.map((code) => [
    code.code,
    code.amount_usd,
    `${String(code.redemptions)} of ${String(code.max_redemptions)}`,
    code.expires_at ?? 'never',
  ]);
  return table(['code', '>amount (USD)', '>redeemed', 'expires'], rows) + more(next_cursor);
}
