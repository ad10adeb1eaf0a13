/** Payments on both pages, in a browser, with the simulated Stripe and its page. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { startStripeSimulator } from '@gateway/payments/testing';
import type { StripeSimulator } from '@gateway/payments/testing';
import type { Browser, Page } from 'playwright-core';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { postMessages, userMessage } from '../../../gateway/test/support/gateway.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { eventually } from '../../../gateway/test/support/until.js';
import {
  LOOKS,
  consoleCookie,
  openBrowser,
  openConsole,
  openPage,
  openPart,
  signIn,
  stopRefreshing,
  valuesOf,
} from '../support/browser.js';
import type { Look } from '../support/browser.js';
import { checkScreen } from '../support/screens.js';
import { ADMIN_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

const SECRET_KEY = 'sk_test_of_the_browser_tests';
const WEBHOOK_SECRET = 'whsec_of_the_browser_tests';

let browser: Browser;
let postgres: PostgresServer;
beforeAll(async () => {
  [browser, postgres] = await Promise.all([openBrowser(), usePostgresServer()]);
});
afterAll(async () => {
  await browser.close();
  await postgres.stop();
});

/**
 * Starts the simulated Stripe and a gateway. The simulator does not send its notifications by
 * itself: each test delivers them when it needs them.
 */
async function startPaying(env: Readonly<Record<string, string>>) {
  const stripe = await startStripeSimulator({
    secretKey: SECRET_KEY,
    webhookSecret: WEBHOOK_SECRET,
  });
  const gateway = await startPages({
    STRIPE_SECRET_KEY: SECRET_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_API_URL: stripe.url,
    TOP_UP_MIN_USD: '5',
    TOP_UP_MAX_USD: '500',
    ...env,
  });
  return { stripe, gateway };
}

/** Delivers the provider's notifications since the last delivery. */
function deliveryOf(stripe: StripeSimulator, gateway: TestGateway) {
  let delivered = 0;
  return async () => {
    for (; delivered < stripe.events.length; delivered += 1) {
      const { body, headers } = stripe.sign(stripe.events[delivered]!);
      const url = `${gateway.url}/webhooks/stripe`;
      expect((await fetch(url, { method: 'POST', body, headers })).status).toBe(200);
    }
  };
}

describe.each(['the embedded ledger', 'PostgreSQL'])('the customer’s page on %s', (ledger) => {
  let stripe: StripeSimulator;
  let gateway: TestGateway;
  let deliver: () => Promise<void>;
  beforeAll(async () => {
    const env =
      ledger === 'PostgreSQL' ? { DATABASE_URL: await postgres.createDatabase() } : undefined;
    ({ stripe, gateway } = await startPaying({ ...env }));
    deliver = deliveryOf(stripe, gateway);
  });
  afterAll(async () => {
    await gateway.stop();
    await stripe.close();
  });

  const dashboard = () => `${gateway.url}/dashboard/`;
  const open = (look: Look = { width: 1280, theme: 'light' }) =>
    openPage(browser, dashboard(), { ...look, leadsTo: stripe.url });
  const pagesMade = () => stripe.requests.get('POST /v1/checkout/sessions') ?? 0;
  const ask = async (apiKey: string) =>
    (await postMessages(gateway, apiKey, userMessage('Hello'))).status;
  const shownBalance = async (page: Page) => {
    await page.locator('#balance data').first().waitFor();
    return (await valuesOf(page, '#balance data'))[0];
  };

  /** Starts a payment by the "Top up" button, which leads to the provider's page. */
  async function leave(page: Page, amount: string) {
    await page.getByRole('button', { name: 'Top up' }).click();
    await page.getByLabel('Amount, USD').fill(amount);
    await page.getByRole('button', { name: 'Continue' }).dblclick();
    await page.getByRole('button', { name: `Pay ${amount} USD` }).dblclick();
    await page.waitForURL(`${stripe.url}/**`);
  }

  it('lets the holder of a used-up key pay, and shows without a reload that the key works again', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.00000000000001' });
    await sendTraffic(gateway, [apiKey], { count: 1, seed: 7 });
    expect(await ask(apiKey)).toBe(401);
    const { balance_usd: before } = await gateway.call('showKey', { key_id: id });
    const { page, context, problems } = await open();
    await signIn(page, apiKey);
    await page.getByText('Top up below').waitFor();
    expect(await shownBalance(page)).toBe(before);

    await page.getByRole('button', { name: 'Top up' }).click();
    await page.getByLabel('Amount, USD').fill('4.99');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain(
        'from 5 to 500 USD, in whole cents',
      );
    });
    await page.getByRole('button', { name: 'Cancel' }).click();
    const made = pagesMade();
    await leave(page, '12.34');
    expect(pagesMade()).toBe(made + 1);

    await page.getByRole('button', { name: 'Pay $12.34' }).click();
    await page.getByText('Waiting for the confirmation').waitFor();
    expect(page.url()).toBe(dashboard());
    expect(await shownBalance(page)).toBe(before);
    expect(await ask(apiKey)).toBe(401);
    await page.evaluate(() => {
      document.body.dataset['loaded'] = 'once';
    });
    await deliver();
    const after = formatUsd(parseUsd(before) + parseUsd('12.34'));
    await page.locator(`#balance data[value="${after}"]`).waitFor();
    await page.getByText('has arrived').waitFor();
    await page.getByText('This key works.').waitFor();
    expect(await page.evaluate(() => document.body.dataset['loaded'])).toBe('once');
    // The arrival of the payment is shown only once.
    await page.reload();
    await page.locator(`#balance data[value="${after}"]`).waitFor();
    expect(await page.getByText('has arrived').count()).toBe(0);
    expect(await ask(apiKey)).toBe(200);

    await openPart(page, 'payments');
    await eventually(async () => {
      expect(await valuesOf(page, 'tr[data-payment] data')).toEqual(['12.34']);
    });
    await page.getByRole('button', { name: 'Find the receipt' }).click();
    const receipt = page.getByRole('link', { name: 'Open the receipt' });
    await eventually(async () => {
      expect(await receipt.getAttribute('href')).toMatch(/\/receipts\/ch_/);
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('asks for the key again after the payment, if the session has ended meanwhile', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '1' });
    const { page, context, problems } = await open();
    await signIn(page, apiKey);
    await leave(page, '20');
    await context.clearCookies();
    await page.getByRole('button', { name: 'Pay $20.00' }).click();
    await page.getByText('You are back from the payment page').waitFor();
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }));
    expect(kept).not.toContain(apiKey);
    await deliver();
    await signIn(page, apiKey);
    await page.locator('#balance data[value="21"]').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('lets a key without access to the account pay, and leads back after canceling', async () => {
    const { id } = await gateway.call('createAccount', { name: 'team', balance_usd: '1' });
    const keys = ['a', 'b'].map((name) => gateway.call('createKey', { name, account_id: id }));
    const [first] = await Promise.all(keys);
    const { page, context, problems } = await open();
    await signIn(page, first?.api_key ?? '');
    await leave(page, '30');
    const paymentPage = page.url();
    await page.goto(`${dashboard()}?top_up=canceled`);
    await page.getByText('You have not paid').waitFor();
    expect(page.url()).toBe(dashboard());
    await openPart(page, 'prices');
    expect(await page.getByRole('link', { name: 'Payments' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Go back to the payment page' }).click();
    await page.waitForURL(paymentPage);
    await page.getByRole('button', { name: 'Pay $30.00' }).click();
    await page.getByText('Waiting for the confirmation').waitFor();
    await deliver();
    await page.locator('#balance data[value="31"]').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F345: a wrong target of auto top-up: the message names the field that has it.
  it('sets up auto top-up, saves a payment method for it, and cancels it', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '40' });
    const { page, context, problems } = await open();
    await signIn(page, apiKey);
    // A payment that was left before must not be mistaken for the saved method.
    await leave(page, '30');
    await page.goto(`${dashboard()}?top_up=canceled`);
    await page.getByText('You have not paid').waitFor();
    await openPart(page, 'payments');
    const card = page.getByRole('region', { name: 'Auto top-up' });
    await card.getByRole('button', { name: 'Set up' }).click();
    await page.getByLabel('Per month, at most, USD').fill('24.99');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('at least what one top-up');
    });
    await page.getByLabel('Per month, at most, USD').fill('75');
    await page.getByLabel('Amount, USD').fill('5');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toMatch(/^Amount: .*above the threshold/);
    });
    await page.getByLabel('Amount, USD').fill('');
    for (const [target, problem] of [
      ['4.99', /^Or up to a balance of: from 5 to 500 USD/],
      ['5', /^Or up to a balance of: .*above the threshold/],
    ] as const) {
      await page.getByLabel('Or up to a balance of, USD').fill(target);
      await page.getByRole('button', { name: 'Continue' }).click();
      await eventually(async () => {
        expect(await page.getByRole('alert').innerText()).toMatch(problem);
      });
    }
    await page.getByLabel('Or up to a balance of, USD').fill('25');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Save a method' }).dblclick();
    await page.waitForURL(`${stripe.url}/**`);
    await page.getByRole('button', { name: 'Save card' }).click();
    await page.locator('#balance').waitFor();
    expect(page.url()).toBe(dashboard());
    await openPart(page, 'payments');
    expect(await page.getByText(/You have not paid|your payment of/).count()).toBe(0);
    await card.getByText('Waiting for the confirmation of the saved method').waitFor();
    await deliver();
    await card.getByText('on', { exact: true }).waitFor();
    await eventually(async () => {
      expect(await valuesOf(page, '[aria-label="Auto top-up"] dd data')).toEqual(['5', '25', '75']);
    });
    await card.getByRole('button', { name: 'Cancel auto top-up' }).click();
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await card.getByText('off', { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('redeems a code once, and shows the balance that follows', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '1' });
    const code = `WELCOME-${ledger === 'PostgreSQL' ? 'P' : 'E'}`;
    await gateway.call('createPromoCode', { code, amount_usd: '2.5', max_redemptions: 9 });
    const { page, context, problems } = await open();
    await signIn(page, apiKey);
    for (const text of ['Credited', 'already received this credit']) {
      await page.getByRole('button', { name: 'Redeem a code' }).click();
      await page.getByLabel('Promo code').fill(code.toLowerCase());
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('button', { name: 'Redeem the code' }).dblclick();
      await page.getByText(text).waitFor();
      await page.getByRole('button', { name: 'Close', exact: true }).click();
      await page.locator('#balance data[value="3.5"]').waitFor();
    }
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('payments on the pages', () => {
  let stripe: StripeSimulator;
  let gateway: TestGateway;
  let deliver: () => Promise<void>;
  let consoleUrl: string;
  let cookie: string;
  beforeAll(async () => {
    ({ stripe, gateway } = await startPaying({ PUBLIC_URL: 'https://gateway.example' }));
    deliver = deliveryOf(stripe, gateway);
    consoleUrl = `${gateway.adminUrl}/console/`;
    cookie = await consoleCookie(consoleUrl, ADMIN_TOKEN);
  });
  afterAll(async () => {
    await gateway.stop();
    await stripe.close();
  });

  const open = (look?: Look) => openConsole(browser, consoleUrl, cookie, look);

  /** Starts a payment and pays it at the provider. */
  async function pay(accountId: string, amount: string) {
    const payment = await gateway.call('startPayment', {
      account_id: accountId,
      amount_usd: amount,
      request_id: `test-${accountId}-${amount}`,
    });
    stripe.pay(new URL(payment.url ?? '').pathname.split('/').at(-1) ?? '');
    return payment.id;
  }

  const balanceOf = async (id: string) =>
    (await gateway.call('showAccount', { account_id: id })).balance_usd;

  it('the console makes a payment link, and refunds once, showing the balance before and after', async () => {
    const { id } = await gateway.call('createAccount', { name: 'payer', balance_usd: '1' });
    const { page, context, problems } = await open();
    await openPart(page, `accounts/${id}`);
    await page.getByRole('button', { name: 'Send a payment link' }).click();
    await page.getByLabel('Amount, USD').fill('40');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await valuesOf(page, 'dialog data')).toEqual(['1', '41']);
    });
    await page.getByRole('button', { name: 'Make the link' }).dblclick();
    const link = await page.getByLabel('the payment link', { exact: true }).innerText();
    expect(link).toContain(`${stripe.url}/c/pay/`);
    const reference = stripe.pay(new URL(link).pathname.split('/').at(-1) ?? '');
    await deliver();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    expect(await balanceOf(id)).toBe('41');

    await page.getByRole('button', { name: 'Payments', exact: true }).click();
    await page.getByRole('button', { name: /^Open payment/ }).click();
    await page.getByText(reference).waitFor();
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await page.getByLabel('Amount, USD').fill('40.01');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('at most 40');
    });
    await page.getByLabel('Amount, USD').fill('12.5');
    await page.getByRole('button', { name: 'Continue' }).dblclick();
    await eventually(async () => {
      expect(await valuesOf(page, 'dialog data')).toEqual(['40', '27.5', '41', '28.5']);
    });
    await page.getByRole('button', { name: 'Refund 12.5 USD' }).dblclick();
    await page.getByText('Still refundable').waitFor();
    expect(await balanceOf(id)).toBe('28.5');
    expect(stripe.netCentsOf(id)).toBe(2_750);
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.locator('.balance data[value="28.5"]').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F338
  it('the console compares first, and books what is missing when asked', async () => {
    const { id } = await gateway.call('createAccount', { name: 'lost', balance_usd: '1' });
    await pay(id, '17');
    const { page, context, problems } = await open();
    await page.route(
      '**/admin/payments/reconcile',
      (route) => route.fulfill({ status: 502, headers: { 'retry-after': '1' }, json: {} }),
      { times: 1 },
    );
    await openPart(page, 'payments/compare');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByText('Trying again').count()).toBe(0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('1 were missing in the ledger').waitFor();
    expect(await balanceOf(id)).toBe('1');
    await page.getByRole('button', { name: 'Book what is missing' }).click();
    await page.getByRole('button', { name: 'Book it' }).dblclick();
    await page.getByText('1 booked, 0 cannot be booked').waitFor();
    expect(await balanceOf(id)).toBe('18');
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('0 were missing in the ledger').waitFor();
    // The notification arrives late and changes nothing.
    await deliver();
    expect(await balanceOf(id)).toBe('18');
    expect(problems).toEqual([]);
    await context.close();
  });

  // F130
  it('the console shows payments that the ledger could not book, and credits one once', async () => {
    const { id } = await gateway.call('createAccount', { name: 'twice', balance_usd: '1' });
    await pay(id, '19');
    await deliver();
    const paid = stripe.events.findLast(({ type }) => type === 'payment_intent.succeeded');
    const other = structuredClone(paid!);
    Object.assign(other, { id: 'evt_second' });
    Object.assign(other.data.object, { id: 'pi_second0123456789' });
    const { body, headers } = stripe.sign(other);
    await fetch(`${gateway.url}/webhooks/stripe`, { method: 'POST', body, headers });
    expect(await balanceOf(id)).toBe('20');
    // The second window still shows the payment after the first one has credited it.
    const windows = [await open(), await open()];
    for (const { page } of windows) {
      await stopRefreshing(page);
      await openPart(page, 'payments/unbooked');
      const row = page.getByRole('row', { name: /second payment/ });
      await eventually(async () => {
        expect(await row.innerText()).toContain('pi_second0123456789');
      });
      await eventually(async () => {
        expect(await row.locator('data').getAttribute('value')).toBe('19');
      });
    }
    for (const { page } of windows) {
      const row = page.getByRole('row', { name: /second payment/ });
      await row.getByRole('button', { name: 'Credit' }).click();
      await page.getByLabel('Account id').fill(id);
      await page.getByRole('button', { name: 'Continue' }).dblclick();
      await page.getByRole('button', { name: 'Credit 19 USD' }).dblclick();
      await page.getByText('The balance is now').waitFor();
      expect(await balanceOf(id)).toBe('39');
      await page.getByRole('button', { name: 'Close' }).click();
      await row.waitFor({ state: 'detached' });
    }
    const range = { from: '2020-01-01T00:00:00Z', until: '2099-01-01T00:00:00Z' };
    const { missing } = await gateway.call('reconcilePayments', range);
    expect(missing.map(({ reference }) => reference)).not.toContain('pi_second0123456789');
    for (const { context, problems } of windows) {
      expect(problems).toEqual([]);
      await context.close();
    }
  });

  it('the console creates a promo code, once', async () => {
    const { page, context, problems } = await open();
    await openPart(page, 'payments/codes');
    await page.getByRole('button', { name: 'Create a code' }).click();
    await page.getByLabel('Code', { exact: true }).fill('autumn-2026');
    await page.getByLabel('Amount, USD').fill('5');
    await page.getByLabel('Number of accounts that can redeem it').fill('3');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await valuesOf(page, 'dialog data')).toEqual(['15']);
    });
    await page.getByRole('button', { name: 'Create the code' }).dblclick();
    await page.getByText('can be redeemed now').waitFor();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.locator('tr[data-code="AUTUMN-2026"]').waitFor();
    const { data } = await gateway.call('listPromoCodes', {});
    expect(data).toMatchObject([
      { code: 'AUTUMN-2026', amount_usd: '5', max_redemptions: 3, redemptions: 0 },
    ]);
    expect(problems).toEqual([]);
    await context.close();
  });

  it.each(LOOKS)('pass axe and fit the window at $width px in $theme', async (look) => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '1' });
    const { account_id: accountId } = await gateway.call('showKey', { key_id: id });
    await pay(accountId, '50');
    await deliver();
    const customer = await openPage(browser, `${gateway.url}/dashboard/?top_up=paid`, look);
    await customer.page.getByText('You are back').waitFor();
    await checkScreen(customer, 'back from the payment page');
    await signIn(customer.page, apiKey);
    await openPart(customer.page, 'payments');
    await checkScreen(customer, 'payments');
    await customer.page.getByRole('button', { name: 'Top up' }).click();
    await checkScreen(customer, 'the amount');
    await customer.page.getByRole('button', { name: 'Continue' }).click();
    await checkScreen(customer, 'the question');
    await customer.page.keyboard.press('Escape');
    await customer.page.getByRole('button', { name: 'Set up' }).click();
    await checkScreen(customer, 'the order');
    const operator = await open(look);
    for (const part of ['list', 'unbooked', 'compare', 'codes']) {
      await openPart(operator.page, `payments/${part}`);
      await checkScreen(operator, part);
    }
    await openPart(operator.page, `payments/list?account_id=${accountId}`);
    await operator.page.getByRole('button', { name: /^Open payment/ }).click();
    await operator.page.getByRole('button', { name: 'Refund', exact: true }).click();
    await checkScreen(operator, 'a refund');
    expect([...customer.problems, ...operator.problems]).toEqual([]);
    await customer.context.close();
    await operator.context.close();
  });
});
