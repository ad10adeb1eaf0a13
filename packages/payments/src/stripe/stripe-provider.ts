/** Stripe as a {@link PaymentProvider}, by its official SDK and hosted Checkout. */

import Stripe from 'stripe';
import { PaymentProviderError } from '../provider.js';
import type {
  CardCharge,
  ChargeOutcome,
  NotificationReading,
  PaymentFact,
  PaymentMode,
  PaymentOrigin,
  PaymentProvider,
  StartedCheckout,
} from '../provider.js';
import { NOTIFIED_EVENTS, factsOfEvent, parseEvent } from './facts-of-event.js';
import {
  METADATA,
  UnreadableObjectError,
  disputeFactOf,
  factsOfIntent,
  factsOfSession,
  paidFactOfIntent,
  refundFactOf,
} from './facts.js';

export interface StripeOptions {
  /**
   * `sk_test_…`, `sk_live_…`, or a restricted key, `rk_…`. It determines the mode of the provider.
   */
  readonly secretKey: string;
  /** `whsec_…`. Several are allowed while one replaces the other. */
  readonly webhookSecrets: readonly string[];
  /** Origin of the API, for tests and proxies; Stripe's own when absent. */
  readonly apiUrl?: string | undefined;
  /** With `on`, Stripe computes and reports the tax that the amounts include. */
  readonly automaticTax: 'on' | 'off';
  /** How old a notification's signature may be, in seconds. */
  readonly toleranceSeconds?: number | undefined;
}

const SECRET_KEY = /^(?:sk|rk)_(test|live)_\w+$/;
/** Stripe's own default. */
const TOLERANCE_SECONDS = 300;
const REQUEST_TIMEOUT_MS = 20_000;
const RETRIES = 2;
const PAGE = 100;
/** A search for a charge begins this much earlier, because clocks differ. */
const CLOCK_SKEW_SECONDS = 300;
const PRODUCT = 'Prepaid credit';

/** @throws {RangeError} The secret key has no mode. */
export function createStripeProvider(options: StripeOptions): PaymentProvider {
  const { secretKey, webhookSecrets, automaticTax, toleranceSeconds = TOLERANCE_SECONDS } = options;
  const mode = modeOf(secretKey);
  const stripe = new Stripe(secretKey, {
    ...addressOf(options.apiUrl),
    maxNetworkRetries: RETRIES,
    timeout: REQUEST_TIMEOUT_MS,
    telemetry: false,
  });

  function isSigned(body: Uint8Array, signature: string, secret: string): boolean {
    const { signature: verifier } = stripe.webhooks;
    if (verifier === null) throw new Error('the SDK cannot verify signatures');
    try {
      return verifier.verifyHeader(body, signature, secret, toleranceSeconds);
    } catch {
      // Not only a StripeSignatureVerificationError means a wrong signature: an empty `v1=` causes
      // another error.
      return false;
    }
  }

  async function startPage(
    params: Stripe.Checkout.SessionCreateParams,
    { paymentId, accountId }: PaymentOrigin,
  ): Promise<StartedCheckout> {
    const session = await reachingStripe(() =>
      stripe.checkout.sessions.create(
        {
          ...params,
          client_reference_id: accountId,
          customer_creation: 'always',
          metadata: metadataOf({ paymentId, accountId }, 'checkout'),
        },
        { idempotencyKey: `${paymentId}:page` },
      ),
    );
    if (session.url === null) {
      throw new PaymentProviderError('refused', 'Stripe made a page without an address');
    }
    return {
      checkoutId: session.id,
      url: session.url,
      expiresAt: new Date(session.expires_at * 1_000),
    };
  }

  return {
    name: 'stripe',
    mode,

    startCheckout: ({ origin, amountCents, successUrl, cancelUrl }) =>
      startPage(
        {
          mode: 'payment',
          success_url: successUrl,
          cancel_url: cancelUrl,
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: 'usd',
                unit_amount: amountCents,
                // The total then also equals the amount if tax is computed.
                tax_behavior: 'inclusive',
                product_data: { name: PRODUCT },
              },
            },
          ],
          // Otherwise Stripe could charge in the customer's own currency.
          adaptive_pricing: { enabled: false },
          automatic_tax: { enabled: automaticTax === 'on' },
          invoice_creation: { enabled: true },
          payment_intent_data: { metadata: metadataOf(origin, 'checkout') },
        },
        origin,
      ),

    startMethodSetup: ({ origin, successUrl, cancelUrl }) =>
      startPage(
        { mode: 'setup', currency: 'usd', success_url: successUrl, cancel_url: cancelUrl },
        origin,
      ),

    async readSavedMethod(setupId) {
      const setup = await reachingStripe(() => stripe.setupIntents.retrieve(setupId));
      const [customerId, methodId] = [idOf(setup.customer), idOf(setup.payment_method)];
      if (setup.status !== 'succeeded' || customerId === undefined || methodId === undefined) {
        return undefined;
      }
      return { customerId, methodId };
    },

    async chargeSavedMethod({ origin, amountCents, customerId, methodId }) {
      try {
        const intent = await stripe.paymentIntents.create(
          {
            amount: amountCents,
            currency: 'usd',
            customer: customerId,
            payment_method: methodId,
            off_session: true,
            confirm: true,
            description: PRODUCT,
            metadata: metadataOf(origin, 'saved_method'),
          },
          { idempotencyKey: `${origin.paymentId}:charge` },
        );
        return chargeOutcomeOf(intent);
      } catch (error) {
        const isFinal =
          error instanceof Stripe.errors.StripeCardError ||
          error instanceof Stripe.errors.StripeInvalidRequestError;
        if (isFinal) return { outcome: 'declined', code: error.code ?? error.type };
        throw faultOf(error);
      }
    },

    findCharge: (charge, since) => reachingStripe(() => findCharge(stripe, charge, since)),

    async refund({ refundId, providerPaymentId, amountCents }) {
      try {
        const made =
          (await findRefund(stripe, refundId, providerPaymentId)) ??
          (await stripe.refunds.create(
            {
              payment_intent: providerPaymentId,
              amount: amountCents,
              metadata: { [METADATA.refund]: refundId },
            },
            { idempotencyKey: `${refundId}:refund` },
          ));
        if (made.amount !== amountCents) {
          throw new PaymentProviderError('reused', 'this id refunded another amount before');
        }
        const fact = refundFactOf(made);
        if (fact === undefined) throw new UnreadableObjectError('payment_intent');
        return { outcome: 'made', fact };
      } catch (error) {
        if (error instanceof Stripe.errors.StripeInvalidRequestError) {
          return { outcome: 'refused', message: error.message };
        }
        throw faultOf(error);
      }
    },

    async findPaid(providerPaymentId) {
      const intent = await existing(() => stripe.paymentIntents.retrieve(providerPaymentId));
      return intent === undefined ? undefined : paidFactOfIntent(intent);
    },

    async findReceipt(providerPaymentId) {
      const intent = await existing(() =>
        stripe.paymentIntents.retrieve(providerPaymentId, { expand: ['latest_charge'] }),
      );
      const charge = intent?.latest_charge;
      if (charge === null || charge === undefined || typeof charge === 'string') return undefined;
      return charge.receipt_url ?? undefined;
    },

    readNotification(body, signature): NotificationReading {
      const isFromStripe =
        signature !== undefined &&
        webhookSecrets.some((secret) => isSigned(body, signature, secret));
      if (!isFromStripe) return { outcome: 'unsigned' };
      let type = 'unknown';
      try {
        const event = parseEvent(body);
        ({ type } = event);
        const eventMode = event.livemode ? 'live' : 'test';
        if (eventMode !== mode) return { outcome: 'other_mode', mode: eventMode };
        return { outcome: 'read', type, facts: factsOfEvent(event) };
      } catch (error) {
        if (!(error instanceof UnreadableObjectError)) throw error;
        return { outcome: 'unreadable', type, member: error.member };
      }
    },

    listFacts: (range) => listFacts(stripe, range),
  };
}

function modeOf(secretKey: string): PaymentMode {
  const mode = SECRET_KEY.exec(secretKey)?.[1];
  if (mode === 'test' || mode === 'live') return mode;
  throw new RangeError('secretKey: must be sk_test_…, sk_live_…, rk_test_… or rk_live_…');
}

function addressOf(apiUrl: string | undefined) {
  if (apiUrl === undefined) return {};
  const { protocol, hostname, port } = new URL(apiUrl);
  const isHttp = protocol === 'http:';
  const usual = isHttp ? '80' : '443';
  return {
    protocol: isHttp ? ('http' as const) : ('https' as const),
    host: hostname,
    port: port === '' ? usual : port,
  };
}

function metadataOf({ paymentId, accountId }: PaymentOrigin, by: 'checkout' | 'saved_method') {
  return {
    [METADATA.payment]: paymentId,
    [METADATA.account]: accountId,
    [METADATA.by]: by,
  };
}

function idOf(value: string | { readonly id: string } | null): string | undefined {
  if (value === null) return undefined;
  return typeof value === 'string' ? value : value.id;
}

function chargeOutcomeOf(intent: Stripe.PaymentIntent): ChargeOutcome {
  const fact = paidFactOfIntent(intent);
  if (fact !== undefined) return { outcome: 'paid', fact };
  if (intent.status === 'processing') return { outcome: 'pending' };
  return { outcome: 'declined', code: intent.last_payment_error?.code ?? intent.status };
}

/** Stripe forgets idempotency keys after a day, but keeps its refunds. */
async function findRefund(
  stripe: Stripe,
  refundId: string,
  providerPaymentId: string,
): Promise<Stripe.Refund | undefined> {
  const refunds = stripe.refunds.list({ payment_intent: providerPaymentId, limit: PAGE });
  for await (const refund of refunds) {
    if (refund.metadata?.[METADATA.refund] === refundId) return refund;
  }
  return undefined;
}

async function findCharge(
  stripe: Stripe,
  { origin, customerId }: CardCharge,
  since: Date,
): Promise<ChargeOutcome | undefined> {
  const created = { gte: Math.floor(since.getTime() / 1_000) - CLOCK_SKEW_SECONDS };
  const intents = stripe.paymentIntents.list({ customer: customerId, created, limit: PAGE });
  for await (const intent of intents) {
    if (intent.metadata[METADATA.payment] === origin.paymentId) return chargeOutcomeOf(intent);
  }
  return undefined;
}

/**
 * Reads objects that were created in the range, and events of the range. Events contain the changes
 * of older objects, but Stripe keeps events for 30 days only.
 */
async function* listFacts(
  stripe: Stripe,
  { from, until }: { readonly from: Date; readonly until: Date },
): AsyncGenerator<PaymentFact> {
  const created = {
    gte: Math.floor(from.getTime() / 1_000),
    lt: Math.ceil(until.getTime() / 1_000),
  };
  const range = { created, limit: PAGE };
  try {
    for await (const intent of stripe.paymentIntents.list(range)) yield* factsOfIntent(intent);
    for await (const session of stripe.checkout.sessions.list(range)) {
      yield* factsOfSession(session);
    }
    for await (const refund of stripe.refunds.list(range)) {
      const fact = refundFactOf(refund);
      if (fact !== undefined) yield fact;
    }
    for await (const dispute of stripe.disputes.list(range)) {
      const fact = disputeFactOf(dispute);
      if (fact !== undefined) yield fact;
    }
    for await (const event of stripe.events.list({ ...range, types: [...NOTIFIED_EVENTS] })) {
      yield* factsOfEvent(event);
    }
  } catch (error) {
    throw faultOf(error);
  }
}

async function reachingStripe<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw faultOf(error);
  }
}

/** @returns `undefined` for an object that Stripe does not have */
async function existing<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    const isMissing =
      error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing';
    if (isMissing) return undefined;
    throw faultOf(error);
  }
}

/** Stripe's messages about a credential repeat part of it, so they are not passed on. */
function faultOf(error: unknown): unknown {
  if (error instanceof UnreadableObjectError) {
    return new PaymentProviderError('refused', `Stripe sent an object whose ${error.message}`);
  }
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  switch (error.type) {
    case 'StripeIdempotencyError':
      return new PaymentProviderError('reused', 'this id was used before for something else');
    case 'StripeAuthenticationError':
    case 'StripePermissionError':
      return new PaymentProviderError(
        'refused',
        'Stripe refuses the secret key, or the key lacks a permission',
      );
    case 'StripeInvalidRequestError':
      return new PaymentProviderError('refused', `Stripe refuses the request: ${error.message}`);
    default:
      return new PaymentProviderError('unavailable', `the request to Stripe failed: ${error.type}`);
  }
}
