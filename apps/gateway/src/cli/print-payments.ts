/** Payments and codes as text for a terminal. */

import { moneyLines, paymentCells, paymentLines } from '../endpoints/schemas/payments.js';
import type { OperationOutput } from '../operator/operations/operations.js';
import type { Screen } from './screen.js';
import { page, pairs, table } from './table.js';
import type { Columns } from './table.js';

export function printPayment(payment: OperationOutput<'startPayment'>): string {
  return pairs(paymentLines(payment));
}

export function printPaymentMoney(payment: OperationOutput<'showPayment'>): string {
  return `${printPayment(payment)}\n${pairs(moneyLines(payment))}`;
}

export function printPayments(payments: OperationOutput<'listPayments'>, screen: Screen): string {
  return page(payments, 'No payments.', paymentCells, screen);
}

export function printUnbooked(
  unbooked: OperationOutput<'listUnbookedPayments'>,
  screen: Screen,
): string {
  const columns: Columns<(typeof unbooked.data)[number]> = {
    time: 'created_at',
    what: 'fact',
    id: 'id',
    reason: 'reason',
    account: 'account_id',
    '>smallest units': smallestUnits,
  };
  const leave = ['account', 'what', 'time'];
  return page(unbooked, 'Nothing is unbooked.', { columns, leave }, screen);
}

function smallestUnits(of: { readonly amount_cents: number; readonly currency: string }): string {
  return `${String(of.amount_cents)} ${of.currency}`;
}

export function printReconciliation(
  { compared, missing, cash }: OperationOutput<'reconcilePayments'>,
  screen: Screen,
): string {
  const parts = [`${String(compared)} compared, ${String(missing.length)} missing in the ledger.`];
  if (missing.length > 0) {
    const cells = {
      what: 'fact',
      id: 'id',
      account: 'account_id',
      '>smallest units': smallestUnits,
      now: 'outcome',
    } as const;
    parts.unshift(table(missing, cells, { screen, leave: ['account', 'what'] }));
  }
  if (cash.differences.length > 0) {
    const cells = {
      cash: 'verdict',
      entry: 'entry_id',
      transaction: ({ transaction }: CashDifference) => transaction ?? '',
      '>provider (USD)': (each: CashDifference) => each.provider_usd ?? '',
      '>ledger (USD)': (each: CashDifference) => each.ledger_usd ?? '',
    } as const;
    parts.push(table(cash.differences, cells, { screen, leave: ['transaction'] }));
  }
  const { provider_usd: provider, ledger_usd: ledger } = cash;
  parts.push(
    `${String(cash.compared)} transactions: ${provider} USD at the provider, ${ledger} USD in the ledger.`,
  );
  return parts.join('\n');
}

type CashDifference = OperationOutput<'reconcilePayments'>['cash']['differences'][number];

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

export function printPromoCodes(codes: OperationOutput<'listPromoCodes'>, screen: Screen): string {
  const columns: Columns<(typeof codes.data)[number]> = {
    code: 'code',
    '>amount (USD)': 'amount_usd',
    '>redeemed': (code) => `${String(code.redemptions)} of ${String(code.max_redemptions)}`,
    expires: ({ expires_at }) => expires_at ?? 'never',
  };
  return page(codes, 'No codes.', { columns, leave: ['expires', 'redeemed'] }, screen);
}
