/** A gateway with payments and the simulated Stripe, on both ledgers, and what customers do. */

import './no-payment-upkeep.js';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { startStripeSimulator } from '@gateway/payments/testing';
import type { SimulatedEvent, StripeSimulator } from '@gateway/payments/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { postMessages, startTestGateway, userMessage } from './gateway.js';
import type { TestGateway } from './gateway.js';

const SECRET_KEY = 'sk_test_canary_of_the_secret_key';
const WEBHOOK_SECRET = 'whsec_canary_of_the_webhook';
export const CENT = 10n ** 12n;

export type PaymentBench = ReturnType<typeof createBench>;

/** Runs the same tests on the embedded ledger and on PostgreSQL. */
export function describePayments(
  tests: (bench: PaymentBench) => void,
  settings: Readonly<Record<string, string>> = {},
): void {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await usePostgresServer();
  });
  afterAll(() => postgres.stop());

  const ledgers = {
    embedded: () => Promise.resolve({}),
    PostgreSQL: async () => ({
      DATABASE_URL: await postgres.createDatabase(),
      KEY_PEPPER: 'pepper of the tests',
    }),
  };

  describe.each(Object.entries(ledgers))('payments on %s', (_name, ledgerEnv) => {
    let opened: OpenBench;
    beforeAll(async () => {
      opened = await openBench({ ...(await ledgerEnv()), ...settings });
    });
    afterAll(async () => {
      await opened.gateway.stop();
      await opened.stripe.close();
    });
    tests(createBench(() => opened));
  });
}

interface OpenBench {
  readonly stripe: StripeSimulator;
  readonly gateway: TestGateway;
  readonly env: Readonly<Record<string, string>>;
}

async function openBench(ledgerEnv: Readonly<Record<string, string>>): Promise<OpenBench> {
  const stripe = await startStripeSimulator({
    secretKey: SECRET_KEY,
    webhookSecret: WEBHOOK_SECRET,
  });
  const env = {
    ...ledgerEnv,
    ADMIN_TOKEN: 'token-of-the-operator-0123',
    STRIPE_SECRET_KEY: SECRET_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_API_URL: stripe.url,
    PUBLIC_URL: 'https://gateway.example',
    // Limits are per address, and each request of a customer has a new address.
    TRUST_PROXY: '1',
    TOP_UP_MIN_USD: '5',
    TOP_UP_MAX_USD: '500',
  };
  return { stripe, gateway: await startTestGateway({ env }), env };
}

/** @param opened - To be called only while tests run. */
function createBench(opened: () => OpenBench) {
  let addresses = 0;
  let requests = 0;

  function payments() {
    const { payments: found } = opened().gateway.running.appParts;
    if (found === undefined) throw new Error('payments are not open');
    return found;
  }

  async function newCustomer(balance?: string) {
    const { gateway } = opened();
    const { id, apiKey } = await gateway.createKey({ balance_usd: balance });
    const { account_id: accountId } = await gateway.call('showKey', { key_id: id });
    return { id, apiKey, accountId };
  }

  async function dashboard(apiKey: string, path: string, init: RequestInit = {}) {
    const response = await fetch(`${opened().gateway.url}/v1/dashboard/${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-forwarded-for': `10.${String(addresses >> 8)}.${String((addresses += 1) & 255)}.1`,
        ...(init.headers as Record<string, string> | undefined),
      },
    });
    return { status: response.status, json: await response.json() };
  }

  const startWith = (apiKey: string, body: unknown, key = `request-${String((requests += 1))}`) =>
    dashboard(apiKey, 'top-ups', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'idempotency-key': key },
    });

  /** Starts a payment. @returns its id and that of its page */
  async function start(apiKey: string, amount = '20') {
    const { status, json } = await startWith(apiKey, { amount_usd: amount });
    expect([status, json.state]).toEqual([200, 'open']);
    return { paymentId: json.id, checkoutId: new URL(json.url).pathname.split('/').at(-1) ?? '' };
  }

  async function deliver(event: SimulatedEvent) {
    const { stripe, gateway } = opened();
    const { body, headers } = stripe.sign(event);
    const url = `${gateway.url}/webhooks/stripe`;
    return (await fetch(url, { method: 'POST', body, headers })).status;
  }

  /** The events that `work` causes. */
  function eventsOf(work: () => void): readonly SimulatedEvent[] {
    const { stripe } = opened();
    const before = stripe.events.length;
    work();
    return stripe.events.slice(before);
  }

  async function deliverAll(events: readonly SimulatedEvent[]) {
    for (const event of events)
      expect([event.type, await deliver(event)]).toEqual([event.type, 200]);
  }

  /** Makes a customer who has paid. The notifications are returned, but not delivered. */
  async function newPayer(amount = '20') {
    const customer = await newCustomer();
    const { paymentId, checkoutId } = await start(customer.apiKey, amount);
    let reference = '';
    const events = eventsOf(() => (reference = opened().stripe.pay(checkoutId)));
    return { ...customer, paymentId, checkoutId, reference, events };
  }

  const balanceOf = async (accountId: string) =>
    (await opened().gateway.call('showAccount', { account_id: accountId })).balance_usd;
  const notifiedOf = async (accountId: string) =>
    (await opened().gateway.call('listEvents', { account_id: accountId })).data
      .map(({ type }) => type)
      .filter((type) => !type.startsWith('credit.') && !type.startsWith('balance.'));
  const ask = async (apiKey: string) =>
    (await postMessages(opened().gateway, apiKey, userMessage('Hello'))).status;

  return {
    get stripe() {
      return opened().stripe;
    },
    get gateway() {
      return opened().gateway;
    },
    get env() {
      return opened().env;
    },
    startReplica: () => startTestGateway({ env: opened().env }),
    payments,
    newCustomer,
    dashboard,
    startWith,
    start,
    deliver,
    eventsOf,
    deliverAll,
    newPayer,
    balanceOf,
    notifiedOf,
    ask,
  };
}
