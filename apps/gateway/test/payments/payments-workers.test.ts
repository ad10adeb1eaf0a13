/** Payments with several workers, whose embedded ledger is in another process; and a kill -9. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { startStripeSimulator } from '@gateway/payments/testing';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { startOfRange } from '../../src/payments/payment-upkeep.js';
import { spawnGateway } from '../support/gateway-process.js';
import { until } from '../support/until.js';

const SECRETS = {
  STRIPE_SECRET_KEY: 'sk_test_canary_of_the_secret_key',
  STRIPE_WEBHOOK_SECRET: 'whsec_canary_of_the_webhook',
};

// F105
it('workers take payments, and the next start books a payment that a killed gateway missed', async () => {
  const stripe = await startStripeSimulator({
    secretKey: SECRETS.STRIPE_SECRET_KEY,
    webhookSecret: SECRETS.STRIPE_WEBHOOK_SECRET,
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-payments-'));
  const env = { ...SECRETS, STRIPE_API_URL: stripe.url, DATA_DIR: dataDir, WORKERS: '2' };
  const first = await spawnGateway(env);
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const call = createRemoteCaller({ url: first.adminUrl, token });
  const key = await call('createKey', { name: 'customer' });
  const { account_id: accountId } = key;

  const start = async (requestKey: string) => {
    const response = await fetch(`${first.url}/v1/dashboard/top-ups`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key.api_key ?? ''}`,
        'content-type': 'application/json',
        'idempotency-key': requestKey,
      },
      body: '{"amount_usd":"20"}',
    });
    const { url } = (await response.json()) as { readonly url: string };
    expect([response.status, url]).toEqual([200, expect.stringContaining('/c/pay/')]);
    return url.split('/').at(-1) ?? '';
  };
  const balanceAt = async (adminUrl: string) => {
    const caller = createRemoteCaller({ url: adminUrl, token });
    return (await caller('showAccount', { account_id: accountId })).balance_usd;
  };

  stripe.notify(`${first.url}/webhooks/stripe`);
  stripe.pay(await start('first'));
  await until(async () => (await balanceAt(first.adminUrl)) === '20');

  // The notifications of the second payment are not delivered.
  stripe.notify(undefined);
  const lost = await start('second');
  first.send('SIGKILL');
  await first.exited;
  stripe.pay(lost);
  const next = await spawnGateway(env);
  await until(async () => (await balanceAt(next.adminUrl)) === '40');
  const audit = await createRemoteCaller({ url: next.adminUrl, token })('auditLedger', {});
  expect(audit.is_sound).toBe(true);
  next.send('SIGTERM');
  expect(await next.exited).toBe(0);
  expect(first.output() + next.output()).not.toContain('canary');
  await stripe.close();
  rmSync(dataDir, { recursive: true, force: true });
});

it('the range of a comparison with the provider starts four days before the last successful one, at most 30 days ago', () => {
  const at = (day: string) => new Date(`2026-${day}T00:00:00Z`);
  expect(startOfRange(undefined, at('03-31'))).toEqual(at('03-01'));
  expect(startOfRange(at('03-31'), at('03-31'))).toEqual(at('03-27'));
  expect(startOfRange(at('03-20'), at('03-31'))).toEqual(at('03-16'));
  expect(startOfRange(at('01-01'), at('03-31'))).toEqual(at('03-01'));
});
