/** Stripe as a {@link PaymentProvider}, by its official SDK and hosted Checkout. */

import Stripe from 'stripe';
import type { PaymentMode, PaymentProvider } from '../provider.js';
import { chargeSavedMethod, findCharge, readSavedMethod } from './card-charges.js';
import { paidFactOfIntent } from './facts.js';
import { readDetails } from './details.js';
import { listFacts } from './list-facts.js';
import { endCheckout, startCheckout, startMethodSetup } from './pages.js';
import { isFromStripe, readSigned } from './read-notification.js';
import { refundOnce } from './refunds.js';
import { existing, reachingStripe } from './requests.js';
import { findTransactions, listTransactions } from './transactions.js';

export interface StripeOptions {
  /**
   * `sk_test_…`, `sk_live_…`, or a restricted key, `rk_…`. It determines the mode of the provider.
   */
  readonly secretKey: string;
  /** `whsec_…`. Several are allowed while one replaces the other. */
  readonly webhookSecrets: readonly string[];
  /** Origin of the API, for tests and proxies; Stripe's own when absent. */
  readonly apiUrl?: string | undefined;
  /** How old a notification's signature may be, in seconds. */
  readonly toleranceSeconds?: number | undefined;
}

const SECRET_KEY = /^(?:sk|rk)_(test|live)_\w+$/;
/** Stripe's own default. */
const TOLERANCE_SECONDS = 300;
const REQUEST_TIMEOUT_MS = 20_000;
const RETRIES = 2;

/** @throws {RangeError} The secret key has no mode. */
export function createStripeProvider(options: StripeOptions): PaymentProvider {
  const { secretKey, webhookSecrets, toleranceSeconds = TOLERANCE_SECONDS } = options;
  const mode = modeOf(secretKey);
  const stripe = new Stripe(secretKey, {
    ...addressOf(options.apiUrl),
    maxNetworkRetries: RETRIES,
    timeout: REQUEST_TIMEOUT_MS,
    telemetry: false,
  });
  const signatures = { secrets: webhookSecrets, toleranceSeconds };

  return {
    name: 'stripe',
    mode,
    startCheckout: (checkout) => startCheckout(stripe, checkout),
    startMethodSetup: (setup) => startMethodSetup(stripe, setup),
    endCheckout: (checkoutId) => endCheckout(stripe, checkoutId),
    readSavedMethod: (setupId) => readSavedMethod(stripe, setupId),
    chargeSavedMethod: (charge) => chargeSavedMethod(stripe, charge),
    findCharge: (charge, since) => reachingStripe(() => findCharge(stripe, charge, since)),
    refund: (refund) => refundOnce(stripe, refund),

    async findPaid(providerPaymentId) {
      const intent = await existing(() => stripe.paymentIntents.retrieve(providerPaymentId));
      return intent === undefined ? undefined : paidFactOfIntent(intent);
    },

    readDetails: (providerPaymentId) => readDetails(stripe, providerPaymentId),

    async findReceipt(providerPaymentId) {
      const intent = await existing(() =>
        stripe.paymentIntents.retrieve(providerPaymentId, { expand: ['latest_charge'] }),
      );
      const charge = intent?.latest_charge;
      if (charge === null || charge === undefined || typeof charge === 'string') return undefined;
      return charge.receipt_url ?? undefined;
    },

    readNotification: (body, signature) =>
      isFromStripe(stripe, { body, signature }, signatures)
        ? readSigned(body, mode)
        : { outcome: 'unsigned' },

    listFacts: (range) => listFacts(stripe, range),
    listTransactions: (range) => listTransactions(stripe, range),
    findTransactions: (source) => reachingStripe(() => findTransactions(stripe, source)),
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
