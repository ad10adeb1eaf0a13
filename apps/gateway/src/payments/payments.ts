/** Payments as the gateway's routes and operations use them. */

import type { Logger } from 'pino';
import type { Actor } from '@gateway/balance-store';
import type { PaymentFact, PaymentProvider, RefundOutcome, TaxMode } from '@gateway/payments';
import type { PaymentLedger } from '../ledger/open-store.js';
import { AutoTopUp } from './auto-top-up.js';
import { bookAtRate } from './book-at-rate.js';
import type { RateBooking } from './book-at-rate.js';
import { bookFact } from './book-facts.js';
import { bookFees } from './book-fees.js';
import { endPages } from './end-payments.js';
import { claimRefund, dropClaim } from './claim-refund.js';
import { compareCash } from './compare-cash.js';
import type { CashComparison } from './compare-cash.js';
import type { FactOutcome } from './fact-books.js';
import type { NotificationOutcome } from './notification-outcome.js';
import { findDocument, knownAs } from './payment-ledger.js';
import type { Known } from './payment-ledger.js';
import type { PaymentMetrics } from './payment-metrics.js';
import { reconcile } from './reconcile.js';
import type { Reconciliation } from './reconcile.js';
import { readPaymentMoney, recordRefund } from './refunds.js';
import type { PaymentMoney } from './refunds.js';
import { startPayment } from './start-payment.js';
import type { NewPayment, StartOutcome } from './start-payment.js';
import { listUnbooked } from './unbooked-payments.js';

export interface PaymentLimits {
  readonly minCents: number;
  readonly maxCents: number;
}

export interface PaymentParts {
  readonly ledger: PaymentLedger;
  readonly provider: PaymentProvider;
  readonly limits: PaymentLimits;
  readonly tax: TaxMode;
  /** Address of the gateway for browsers, without a slash at its end. */
  readonly publicUrl: string | undefined;
  readonly log: Logger;
  readonly metrics: PaymentMetrics;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Range {
  readonly from: Date;
  readonly until: Date;
}

export type Payments = ReturnType<typeof createPayments>;

export function createPayments(parts: PaymentParts) {
  const { ledger, provider, limits, tax, publicUrl, log, metrics, now } = parts;
  const autoTopUp = new AutoTopUp({ ledger, provider, book, limits, tax, log, now });

  function book(fact: PaymentFact): Promise<FactOutcome> {
    if (fact.kind === 'method_saved') return autoTopUp.saveMethod(fact);
    return bookFact({ ledger, provider, log }, fact);
  }

  /**
   * Reads and books one notification.
   *
   * @throws {StoreUnavailableError | PaymentProviderError} The provider has to send the
   * notification again.
   */
  async function notify(body: Uint8Array, signature: string | undefined) {
    const reading = provider.readNotification(body, signature);
    const outcome = await outcomeOf(reading);
    metrics.notifications.inc({ outcome });
    return outcome;
  }

  async function outcomeOf(
    reading: ReturnType<PaymentProvider['readNotification']>,
  ): Promise<NotificationOutcome> {
    switch (reading.outcome) {
      case 'unsigned':
        return 'unsigned';
      case 'other_mode':
        log.error(
          { mode: reading.mode },
          'notification of another mode than that of the secret key',
        );
        return 'other_mode';
      case 'unreadable':
        log.error({ type: reading.type, member: reading.member }, 'notification cannot be read');
        return 'unreadable';
      case 'read': {
        let outcome: NotificationOutcome = 'ignored';
        try {
          for (const fact of reading.facts) outcome = await book(fact);
        } catch (error) {
          metrics.notifications.inc({ outcome: 'unavailable' });
          throw error;
        }
        return outcome;
      }
    }
  }

  return {
    limits,
    publicUrl,
    provider,
    autoTopUp,
    notify,
    book,
    start: (payment: NewPayment): Promise<StartOutcome> =>
      startPayment({ ledger, provider, tax }, payment),
    endPages: (accountId: string): Promise<void> => endPages({ ledger, provider }, accountId),
    find: (paymentId: string): Promise<Known<'payment'> | undefined> =>
      findDocument(ledger, 'payment', paymentId),
    async list(filter: {
      readonly accountId?: string | undefined;
      readonly before: bigint | undefined;
      readonly limit: number;
    }): Promise<readonly Known<'payment'>[]> {
      const documents = await ledger.listDocuments({ kind: 'payment', ...filter });
      return documents.map((document) => knownAs('payment', document));
    },
    /** Without those that were booked or paid back since: see `unbooked-payments.ts`. */
    listUnbooked: (page: {
      readonly before: bigint | undefined;
      readonly limit: number;
    }): Promise<readonly Known<'unbooked_payment'>[]> => listUnbooked(ledger, page),
    /**
     * Refunds a payment and books the refund. The same `refundId` refunds once. `refused`: by the
     * provider, or before it is asked, because less is refundable. `undone`: the refund with this
     * id failed, so that the customer did not get the money.
     */
    async refund(refund: {
      readonly refundId: string;
      readonly payment: Known<'payment'>;
      readonly providerPaymentId: string;
      readonly amountCents: number;
      readonly by: Actor;
    }): Promise<RefundOutcome | { readonly outcome: 'undone' }> {
      const { refundId, payment, providerPaymentId, amountCents, by } = refund;
      const claim = await claimRefund({ ledger, provider, now }, refund);
      if (claim.outcome === 'refused') return claim;
      const made = await provider.refund({ refundId, providerPaymentId, amountCents });
      if (made.outcome === 'made') {
        await recordRefund(ledger, { refundId, payment, fact: made.fact, by });
        await book(made.fact);
      }
      await dropClaim(ledger, refund);
      if (made.outcome === 'refused') return made;
      return made.fact.state === 'undone' ? { outcome: 'undone' } : made;
    },
    /** `undefined` while the ledger has no credit for the payment. */
    async moneyOf({ data }: Known<'payment'>): Promise<PaymentMoney | undefined> {
      const id = data.provider_payment_id;
      return id === null ? undefined : readPaymentMoney(ledger, provider.name, id);
    },
    async reconcile(range: Range, mode: 'apply' | 'compare'): Promise<Reconciliation> {
      const booking = mode === 'apply' ? book : undefined;
      const result = await reconcile({ ledger, provider, now }, range, booking);
      for (const { outcome } of result.missing) metrics.reconciled.inc({ outcome });
      if (mode === 'apply') await bookFees({ ledger, provider, log }, range);
      return result;
    },
    compareCash: (range: Range): Promise<CashComparison> =>
      compareCash({ ledger, provider }, range),
    /**
     * Books a payment in another currency at a rate that an operator states. `unknown`: no such
     * payment waits for a rate. `conflict`: another rate was stated before.
     */
    bookAtRate: (booking: RateBooking) => bookAtRate({ ledger, provider, book }, booking),
  };
}
