/**
 * The ledger entries that a fact about money implies. Booking writes them, reconciliation looks for
 * them, and an unbooked fact is settled once the ledger has them.
 */

import type { LedgerEntry } from '@gateway/balance-store';
import type { DisputeFact, PaidFact, PaymentFact, RefundFact } from '@gateway/payments';

export type MoneyFact = PaidFact | RefundFact | DisputeFact;

export interface ImpliedEntry {
  /** Its id in the ledger. */
  readonly entryId: string;
  /** The id with which it is booked; the ledger puts the kind of the entry before it. */
  readonly bookingId: string;
  /**
   * In the smallest unit of the fact's currency, tax included. Negative if it takes money from the
   * account.
   */
  readonly cents: number;
  /** The id of the entry whose effect it undoes. */
  readonly reverses?: string;
}

export function isAboutMoney(fact: PaymentFact): fact is MoneyFact {
  return fact.kind === 'paid' || fact.kind === 'refund' || fact.kind === 'dispute';
}

/** The provider's id of the payment, the refund or the dispute. */
export function idOf(fact: MoneyFact): string {
  switch (fact.kind) {
    case 'paid':
      return fact.providerPaymentId;
    case 'refund':
      return fact.refundId;
    case 'dispute':
      return fact.disputeId;
  }
}

/** The tax of an entry, which is beyond the change of the balance. */
export function taxOf(entry: LedgerEntry): bigint {
  return entry.kind === 'charge' ? 0n : entry.tax;
}

/** What an entry moved of the operator's money, in units of 10^-14 USD. */
export function grossOf(entry: LedgerEntry): bigint {
  return entry.delta + taxOf(entry);
}

/** The id of the ledger entry that credits a payment. */
export function creditId(provider: string, providerPaymentId: string): string {
  return `topup:${provider}:${providerPaymentId}`;
}

/** The payment that an entry credits; `undefined` for an entry with another id. */
export function paymentCreditedBy(provider: string, entryId: string): string | undefined {
  const prefix = creditId(provider, '');
  return entryId.startsWith(prefix) ? entryId.slice(prefix.length) : undefined;
}

export function impliedEntries(provider: string, fact: MoneyFact): readonly ImpliedEntry[] {
  const { amountCents } = fact;
  if (amountCents === 0) return [];
  const taken = { ...adjustment(idOf(fact)), cents: -amountCents };
  const returned = (end: string) => ({
    ...adjustment(`${idOf(fact)}:${end}`),
    cents: amountCents,
    reverses: taken.entryId,
  });
  switch (fact.kind) {
    case 'paid': {
      const { providerPaymentId } = fact;
      const entryId = creditId(provider, providerPaymentId);
      return [{ entryId, bookingId: `${provider}:${providerPaymentId}`, cents: amountCents }];
    }
    case 'refund':
      return fact.state === 'made' ? [taken] : [taken, returned('undone')];
    case 'dispute':
      switch (fact.state) {
        case 'inquiry':
          return [];
        case 'withdrawn':
          return [taken];
        case 'reinstated':
          return [taken, returned('won')];
      }
  }

  function adjustment(id: string) {
    return { entryId: `adjustment:${provider}:${id}`, bookingId: `${provider}:${id}` };
  }
}
