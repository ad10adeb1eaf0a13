/**
 * The refunded or disputed part and the unspent part of a payment, and who made its refunds.
 */

import type { Actor, LedgerEntry } from '@gateway/balance-store';
import type { RefundFact } from '@gateway/payments';
import { readEntries } from '../ledger/ledger-entries.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import { creditId, paymentCreditedBy, taxOf } from './implied-entries.js';
import type { DocumentOf, Known } from './payment-ledger.js';

export interface PaymentMoney {
  /** In units of 10^-14 USD, like all amounts here. Without tax. */
  readonly credited: bigint;
  /** What was paid beyond the credit. */
  readonly tax: bigint;
  /** What refunds and disputes took of the credit, without those that were undone or won. */
  readonly takenBack: bigint;
  /** What they took of the tax. */
  readonly taxTakenBack: bigint;
  /** The part that the account has not spent. The oldest money is spent first. */
  readonly unspent: bigint;
}

/** The most that can be paid back, with its tax; 0 for a payment that the ledger does not have. */
export function refundableOf(money: PaymentMoney | undefined): bigint {
  if (money === undefined) return 0n;
  const rest = money.credited + money.tax - money.takenBack - money.taxTakenBack;
  return rest > 0n ? rest : 0n;
}

/** @returns `undefined` for a payment that the ledger does not have */
export async function readPaymentMoney(
  ledger: Pick<PaymentLedger, 'findEntries' | 'listEntries' | 'readUnspent'>,
  providerName: string,
  providerPaymentId: string,
): Promise<PaymentMoney | undefined> {
  const entryId = creditId(providerName, providerPaymentId);
  const [credit] = await ledger.findEntries([entryId]);
  if (credit === undefined) return undefined;
  const { accountId } = credit;
  const bookings = await readEntries(ledger, { accountId, withoutCharges: true });
  const takenBack = takenBackBy(bookings, ({ delta }) => delta);
  const taxTakenBack = takenBackBy(bookings, taxOf);
  const unspentCredit = await ledger.readUnspent(accountId);
  // Credit that expires or was given for free has its own lots. The other money, paid or adjusted,
  // pays for requests in the order in which it arrived.
  let left = unspentCredit?.other ?? 0n;
  let unspent = 0n;
  for (const entry of bookings) {
    const net = otherMoneyOf(entry, providerName, takenBack);
    const part = net < left ? net : left;
    if (part <= 0n) continue;
    left -= part;
    if (entry.id === entryId) unspent = part;
  }
  return {
    credited: credit.delta,
    tax: taxOf(credit),
    takenBack: takenBack.get(providerPaymentId) ?? 0n,
    taxTakenBack: taxTakenBack.get(providerPaymentId) ?? 0n,
    unspent,
  };
}

/** What an entry added to the money without lots, less what was taken back since. */
function otherMoneyOf(
  entry: LedgerEntry,
  providerName: string,
  takenBack: ReadonlyMap<string, bigint>,
): bigint {
  if (entry.kind === 'top_up' && entry.source === 'paid' && entry.expiresAt === undefined) {
    // A payment that an operator credited may have no reference, or one to something else.
    const payment = paymentCreditedBy(providerName, entry.id) ?? entry.reference ?? '';
    return entry.delta - (takenBack.get(payment) ?? 0n);
  }
  if (entry.kind !== 'adjustment' || isOfPayment(entry)) return 0n;
  return entry.delta - (entry.given ?? 0n);
}

function takenBackBy(
  bookings: readonly LedgerEntry[],
  amountOf: (entry: LedgerEntry) => bigint,
): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const entry of bookings) {
    if (!isOfPayment(entry)) continue;
    sums.set(entry.reference, (sums.get(entry.reference) ?? 0n) - amountOf(entry));
  }
  return sums;
}

/** Whether an entry takes a payment back, or returns what was taken back. */
function isOfPayment(entry: LedgerEntry): entry is LedgerEntry & { readonly reference: string } {
  return (
    entry.kind === 'adjustment' &&
    (entry.reason === 'refund' || entry.reason === 'chargeback') &&
    entry.reference !== undefined
  );
}

/**
 * Writes into the trail who made a refund, once for each `refundId`. The ledger entry names the
 * provider, because a notification may have booked it first.
 */
export async function recordRefund(
  ledger: Pick<PaymentLedger, 'writeDocument'>,
  refund: {
    readonly refundId: string;
    readonly payment: Known<'payment'>;
    readonly fact: RefundFact;
    readonly by: Actor;
  },
): Promise<void> {
  const { refundId, payment, fact, by } = refund;
  const data: DocumentOf<'refund'> = {
    payment_id: payment.id,
    provider_refund_id: fact.refundId,
    amount_cents: fact.amountCents,
  };
  const { accountId } = payment;
  const trail = { action: 'payment.refund', by, details: data };
  await ledger.writeDocument({ kind: 'refund', id: refundId, accountId, version: 0, data, trail });
}
