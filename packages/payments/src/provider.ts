/**
 * The interface that a gateway needs from a payment provider: start a payment, read a signed
 * notification, refund, and list the provider's payments, refunds and disputes.
 *
 * A provider reports facts. The same fact may be reported any number of times, by a notification or
 * by a list, and in any order. A fact about money names ids of the provider. The id of its ledger
 * entry is derived from them, so that every such fact is booked once.
 */

/** Payments of one mode are never reported to a gateway of the other. */
export type PaymentMode = 'test' | 'live';

/** The metadata that the gateway wrote into the provider's object when it started the payment. */
export interface PaymentOrigin {
  readonly paymentId: string;
  readonly accountId: string;
}

/** An amount in a currency. */
export interface Money {
  /** In the smallest unit of the currency; for USD, whole cents. */
  readonly amountCents: number;
  /** Three letters in lower case, such as `usd`. */
  readonly currency: string;
}

/**
 * How the tax of a payment is computed by the provider. `included`: the amount contains it.
 * `added`: the customer pays it beyond the amount.
 */
export type TaxMode = 'off' | 'included' | 'added';

/** The tax of a payment, as the provider states it. */
export interface PaymentTax {
  /** A part of what was paid, in the smallest unit of its currency. */
  readonly amountCents: number;
  /** Decimal text, such as `19`; `undefined` if the payment has not one rate, or none is stated. */
  readonly percent: string | undefined;
  /** Two letters; `undefined` if no country, or more than one, is stated. */
  readonly country: string | undefined;
}

/** What the operator received for a payment, before fees. */
export interface Settled extends Money {
  /** From the currency of the payment to this one, as decimal text. */
  readonly exchangeRate: string | undefined;
}

/** What a fact does not state about a payment. */
export interface PaymentDetails {
  readonly paid: Money;
  readonly tax: PaymentTax;
  /** `undefined`: the provider has not settled the payment yet. */
  readonly settled: Settled | undefined;
}

/**
 * A movement of the operator's money at the provider. The amounts are negative if money was taken.
 */
export type ProviderTransaction =
  | {
      readonly kind:
        'payment' | 'refund' | 'refund_undone' | 'dispute_withdrawn' | 'dispute_reinstated';
      readonly transactionId: string;
      readonly at: Date;
      readonly providerPaymentId: string;
      /** The provider's id of the payment, the refund or the dispute. */
      readonly sourceId: string;
      /** In the currency in which the customer paid. */
      readonly paid: Money;
      /** What was added to the operator's balance, before the fee. */
      readonly settled: Money;
      /** In the currency of `settled`; negative if a fee was returned. */
      readonly feeCents: number;
    }
  /** A payout, for example, or a fee of no payment. */
  | { readonly kind: 'other'; readonly transactionId: string };

export type PaymentTransaction = Exclude<ProviderTransaction, { readonly kind: 'other' }>;

interface OfPayment {
  /** The provider's id of the payment. Not a secret. */
  readonly providerPaymentId: string;
}

/** The money has arrived. Only this fact counts as paid. */
export interface PaidFact extends OfPayment, Money {
  readonly kind: 'paid';
  readonly mode: PaymentMode;
  /** `undefined`: something other than a gateway started this payment. */
  readonly origin: PaymentOrigin | undefined;
}

/** Accepted, but the money may still fail to arrive: a delayed method of payment. */
export interface PendingFact {
  readonly kind: 'pending';
  readonly origin: PaymentOrigin;
}

export interface FailedFact {
  readonly kind: 'failed';
  readonly origin: PaymentOrigin;
  /** The provider's code, such as `card_declined`. */
  readonly code: string;
}

/** The customer did not use the page in time, and can no longer use it. */
export interface ExpiredFact {
  readonly kind: 'expired';
  readonly origin: PaymentOrigin;
}

/**
 * The customer agreed to later charges. {@link PaymentProvider.readSavedMethod} finds the method by
 * `setupId`.
 */
export interface MethodSavedFact {
  readonly kind: 'method_saved';
  readonly origin: PaymentOrigin;
  readonly setupId: string;
}

export interface RefundFact extends OfPayment, Money {
  readonly kind: 'refund';
  readonly refundId: string;
  /**
   * `undone`: the refund was made, but then failed or was canceled, so that the operator has the
   * money again.
   */
  readonly state: 'made' | 'undone';
}

export interface DisputeFact extends OfPayment, Money {
  readonly kind: 'dispute';
  readonly disputeId: string;
  /**
   * `inquiry`: no money has moved. `withdrawn`: the provider took the money back, for now or
   * permanently. `reinstated`: the provider took the money back and then returned it.
   */
  readonly state: 'inquiry' | 'withdrawn' | 'reinstated';
  /** The provider's own word, such as `needs_response` or `lost`. */
  readonly status: string;
}

export type PaymentFact =
  PaidFact | PendingFact | FailedFact | ExpiredFact | MethodSavedFact | RefundFact | DisputeFact;

/** The outcome of reading a notification. */
export type NotificationReading =
  /** Signed by the provider. `facts` is empty if it is about something else. */
  | { readonly outcome: 'read'; readonly type: string; readonly facts: readonly PaymentFact[] }
  /** Not signed with one of the secrets, or signed too long ago. */
  | { readonly outcome: 'unsigned' }
  /** Signed, but of the other mode than the provider's key. */
  | { readonly outcome: 'other_mode'; readonly mode: PaymentMode }
  /** Signed, but a member that money depends on is missing or has another type. */
  | { readonly outcome: 'unreadable'; readonly type: string; readonly member: string };

export interface StartedCheckout {
  /** The provider's id of the page. */
  readonly checkoutId: string;
  /** Where the customer pays. No card data ever reaches the gateway. */
  readonly url: string;
  readonly expiresAt: Date;
}

export interface SavedMethod {
  readonly customerId: string;
  readonly methodId: string;
}

/**
 * A charge of a saved method while the customer is absent, of an amount and, with `added`, its tax.
 */
export interface CardCharge extends SavedMethod {
  readonly origin: PaymentOrigin;
  readonly amountCents: number;
  /** Unless `off`, the provider computes the tax by the address that was saved with the method. */
  readonly tax: TaxMode;
}

export type ChargeOutcome =
  | { readonly outcome: 'paid'; readonly fact: PaidFact }
  /** A notification will follow. */
  | { readonly outcome: 'pending' }
  | { readonly outcome: 'declined'; readonly code: string };

export type RefundOutcome =
  | { readonly outcome: 'made'; readonly fact: RefundFact }
  /** The provider refuses the refund: already refunded or disputed, or the amount is too large. */
  | { readonly outcome: 'refused'; readonly message: string };

/**
 * Every method that sends a request throws {@link PaymentProviderError} when the outcome is
 * unknown, the provider cannot be used, or the ids were used before for something else. A call that
 * is repeated with the same ids has no further effect.
 */
export interface PaymentProvider {
  /** The prefix of ledger ids: `stripe`. */
  readonly name: string;
  readonly mode: PaymentMode;
  /** Makes a page for one payment in USD, of the amount and, with `added`, its tax. */
  startCheckout(checkout: {
    readonly origin: PaymentOrigin;
    readonly amountCents: number;
    readonly tax: TaxMode;
    /** The address to which the customer returns. */
    readonly successUrl: string;
    readonly cancelUrl: string;
  }): Promise<StartedCheckout>;
  /**
   * Makes a page on which the customer agrees to later charges. Nothing is charged. It asks for
   * the whole address if the charges are taxed.
   */
  startMethodSetup(setup: {
    readonly origin: PaymentOrigin;
    readonly tax: TaxMode;
    readonly successUrl: string;
    readonly cancelUrl: string;
  }): Promise<StartedCheckout>;
  /**
   * Ends a page for a payment, so that nobody can pay on it any more.
   *
   * @returns `closed`: the page was used or had ended already
   */
  endCheckout(checkoutId: string): Promise<'ended' | 'closed'>;
  readSavedMethod(setupId: string): Promise<SavedMethod | undefined>;
  chargeSavedMethod(charge: CardCharge): Promise<ChargeOutcome>;
  /**
   * The outcome of a charge of a saved method, found by its origin without repeating the charge;
   * `undefined` if the provider never received it.
   */
  findCharge(charge: CardCharge, since: Date): Promise<ChargeOutcome | undefined>;
  /** @param refund.refundId - The caller's id. The same id refunds once. */
  refund(refund: {
    readonly refundId: string;
    readonly providerPaymentId: string;
    readonly amountCents: number;
  }): Promise<RefundOutcome>;
  /** The payment if it is paid. Refunds and disputes do not name their origin; the payment does. */
  findPaid(providerPaymentId: string): Promise<PaidFact | undefined>;
  /** Of a payment that is paid; `undefined` for one that the provider does not have. */
  readDetails(providerPaymentId: string): Promise<PaymentDetails | undefined>;
  /** The page with the provider's own receipt, if there is one. */
  findReceipt(providerPaymentId: string): Promise<string | undefined>;
  /**
   * Reads a notification. The signature is verified first, over the bytes as they were received.
   * Sends nothing and never throws.
   */
  readNotification(body: Uint8Array, signature: string | undefined): NotificationReading;
  /** Facts about everything that was created or changed from `from`, inclusive, until `until`. */
  listFacts(range: { readonly from: Date; readonly until: Date }): AsyncIterable<PaymentFact>;
  /** The movements of the operator's money from `from`, inclusive, until `until`, newest first. */
  listTransactions(range: {
    readonly from: Date;
    readonly until: Date;
  }): AsyncIterable<ProviderTransaction>;
  /** One transaction, or those of one payment, refund or dispute, whenever they were. */
  findTransactions(source: {
    readonly kind: 'transaction' | 'payment' | 'refund' | 'dispute';
    readonly id: string;
  }): Promise<readonly ProviderTransaction[]>;
}

/** The provider did not answer, refused the request, or sent an answer that cannot be used. */
export class PaymentProviderError extends Error {
  override readonly name = 'PaymentProviderError';
  /**
   * `unavailable`: unknown whether the work was done; repeat the call with the same ids.
   * `refused`: the provider does not accept the request or its credential. `reused`: the ids were
   * used before with other contents.
   */
  readonly reason: 'unavailable' | 'refused' | 'reused';
  constructor(reason: PaymentProviderError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
