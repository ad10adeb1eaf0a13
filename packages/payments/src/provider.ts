/**
 * What a gateway needs of a payment provider: to start a payment, to read a signed notification, to
 * list what the provider has, and to refund.
 *
 * A provider reports facts. The same fact may come any number of times, from a notification or from
 * a list, and in any order. Each names ids of the provider from which a ledger entry's id is
 * derived, so that every fact is booked once.
 */

/** Payments of one mode are never facts of the other. */
export type PaymentMode = 'test' | 'live';

/** What the gateway wrote into the provider's object when it started the payment. */
export interface PaymentOrigin {
  readonly paymentId: string;
  readonly accountId: string;
}

interface Money {
  /** In the smallest unit of the currency; of USD, whole cents. */
  readonly amountCents: number;
  /** Three letters in lower case, such as `usd`. */
  readonly currency: string;
}

interface OfPayment {
  /** The provider's id of the payment. Not a secret. */
  readonly providerPaymentId: string;
}

/** The money has arrived. Nothing else counts as paid. */
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

/** The page was not used in time, and can no longer be. */
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
  /** `undone`: made, and then failed or canceled, so that the operator has the money again. */
  readonly state: 'made' | 'undone';
}

export interface DisputeFact extends OfPayment, Money {
  readonly kind: 'dispute';
  readonly disputeId: string;
  /**
   * `inquiry`: no money has moved. `withdrawn`: the provider took it back, for now or for good.
   * `reinstated`: it took it back, and returned it.
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
  /** Not signed with one of the secrets, or too long ago. */
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

/** A charge without the customer, of a method that the customer saved for that. */
export interface CardCharge extends SavedMethod {
  readonly origin: PaymentOrigin;
  readonly amountCents: number;
}

export type ChargeOutcome =
  | { readonly outcome: 'paid'; readonly fact: PaidFact }
  /** A notification will follow. */
  | { readonly outcome: 'pending' }
  | { readonly outcome: 'declined'; readonly code: string };

export type RefundOutcome =
  | { readonly outcome: 'made'; readonly fact: RefundFact }
  /** The provider refuses it: already refunded, disputed, or too much. */
  | { readonly outcome: 'refused'; readonly message: string };

/**
 * Every method that sends a request throws {@link PaymentProviderError} when the outcome is unknown
 * or the provider cannot be used. Repeating a call with the same ids does nothing twice.
 */
export interface PaymentProvider {
  /** The prefix of ledger ids: `stripe`. */
  readonly name: string;
  readonly mode: PaymentMode;
  /** Makes a page for one payment in USD. */
  startCheckout(checkout: {
    readonly origin: PaymentOrigin;
    readonly amountCents: number;
    /** Where the customer comes back to. */
    readonly successUrl: string;
    readonly cancelUrl: string;
  }): Promise<StartedCheckout>;
  /** Makes a page on which the customer agrees to later charges. Nothing is charged. */
  startMethodSetup(setup: {
    readonly origin: PaymentOrigin;
    readonly successUrl: string;
    readonly cancelUrl: string;
  }): Promise<StartedCheckout>;
  readSavedMethod(setupId: string): Promise<SavedMethod | undefined>;
  chargeSavedMethod(charge: CardCharge): Promise<ChargeOutcome>;
  /**
   * How a charge of a saved method ended, asked by its origin instead of repeating it; `undefined`
   * if the provider never got it.
   */
  findCharge(charge: CardCharge, since: Date): Promise<ChargeOutcome | undefined>;
  /** @param refund.refundId - The caller's id. The same id refunds once. */
  refund(refund: {
    readonly refundId: string;
    readonly providerPaymentId: string;
    readonly amountCents: number;
  }): Promise<RefundOutcome>;
  /** The payment if it is paid: refunds and disputes do not name their origin. */
  findPaid(providerPaymentId: string): Promise<PaidFact | undefined>;
  /** The page with the provider's own receipt, if there is one. */
  findReceipt(providerPaymentId: string): Promise<string | undefined>;
  /**
   * Reads a notification. The signature is verified first, over the bytes as they were received.
   * Sends nothing and never throws.
   */
  readNotification(body: Uint8Array, signature: string | undefined): NotificationReading;
  /** Facts about everything that was created or changed from `from`, inclusive, until `until`. */
  listFacts(range: { readonly from: Date; readonly until: Date }): AsyncIterable<PaymentFact>;
}

/** The provider did not answer, or not with anything that can be used. */
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
