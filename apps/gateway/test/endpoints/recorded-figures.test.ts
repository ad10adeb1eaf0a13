/**
 * Figures that must not be mistaken: what the record of requests does not have is absent, not zero;
 * names stand beside ids; a key with caps sees what is left of them.
 */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { gatewayCommand } from '../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;
const ADMIN_TOKEN = 'admin-token-of-the-figures';

let gateway: TestGateway;
let accountId: string;
let key: { readonly id: string; readonly apiKey: string };
let from: string;
let end: string;
beforeAll(async () => {
  await untilSteady('day');
  gateway = await startTestGateway({ env: { ADMIN_TOKEN } });
  const account = await gateway.call('createAccount', { name: 'Blue team', balance_usd: '50' });
  accountId = account.id;
  key = await gateway.createKey({
    name: 'laptop',
    account_id: accountId,
    balance_usd: undefined,
    cap_month_usd: '20',
    cap_total_usd: '30',
  });
  for (let count = 0; count < 3; count += 1) {
    await (await postMessages(gateway, key.apiKey, userMessage('Hello'))).text();
  }
  await until(async () => (await gateway.call('listRequests', {})).data.length === 3);
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  from = new Date(today - 29 * DAY_MS).toISOString();
  end = new Date(today + DAY_MS).toISOString();
});
afterAll(() => gateway.stop());

const read = async (path: string) =>
  (await (
    await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key.apiKey}` } })
  ).json()) as Record<string, unknown>;

// F421: a key with a cap sees the money of its whole account, and not what is left of its cap until
// its requests are refused.
it('a key reads what is used and left of each of its caps, and when they renew', async () => {
  const { spent_usd: spent } = await gateway.call('showKey', { key_id: key.id });
  const left = (cap: string) => formatUsd(parseUsd(cap) - parseUsd(spent));
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
  const caps = [
    { period: 'month', cap_usd: '20', used_usd: spent, left_usd: left('20'), renews_at: month },
    { period: 'total', cap_usd: '30', used_usd: spent, left_usd: left('30'), renews_at: null },
  ];
  expect((await read('/v1/dashboard/account'))['key']).toMatchObject({ caps });
  const balance = await read('/v1/dashboard/balance');
  expect(Object.keys(balance)).toEqual([
    'object',
    'balance_usd',
    'expires_at',
    'is_active',
    'last_synced_at',
    'caps',
    'budgets',
  ]);
  expect(balance['caps']).toEqual(caps);
});

it('the answer says where the record begins, and has the sums of the ledger where it lacks requests', async () => {
  const { store } = gateway.running;
  const charged = await gateway.call('listUsage', { by: 'account', from });
  // As if the record were lost.
  await store.pruneRequests({ before: new Date(Date.now() + DAY_MS), maxKept: 0 });
  const breakdown = await gateway.call('breakDown', { by: 'session', from, until: end });
  expect(breakdown.recorded_from).toBe(null);
  expect(breakdown.groups).toEqual([]);
  expect(breakdown.total).toMatchObject({
    charged_usd: charged.data[0]?.charged_usd,
    charges: 3,
    requests: 0,
  });
  const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
  const range = ['--from', from, '--until', end];
  const { out } = await gatewayCommand(['breakdown', '--by', 'account', ...range], env);
  expect(out).toContain('The record of requests is empty.');
  expect(out).toMatch(/Blue team \(acct_\w+\) *│ *3 │ *not recorded/);
  await (await postMessages(gateway, key.apiKey, userMessage('Hello'))).text();
  await until(async () => (await gateway.call('listRequests', {})).data.length === 1);
  const sums = await gateway.call('sumRequests', { from, until: end });
  expect(Date.parse(sums.recorded_from ?? '')).toBeGreaterThan(Date.now() - DAY_MS);
  const part = await gatewayCommand(['breakdown', '--by', 'account', ...range], env);
  expect(part.out).toMatch(/│ *4 │ *0 of 1 recorded/);
});

// F422: lists of the terminal and their CSV have ids, and nobody knows whose they are.
it('lists have names beside ids, as text and as CSV', async () => {
  const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
  const commands: readonly (readonly [name: string, ...args: string[]])[] = [
    ['Blue team', 'usage', '--from', from, '--by', 'account'],
    ['laptop', 'usage', '--from', from, '--by', 'key'],
    ['laptop', 'requests'],
    ['laptop', 'requests-summary', '--by', 'key'],
    ['Blue team', 'trail', '--account', accountId],
  ];
  for (const [name, ...args] of commands) {
    const text = await gatewayCommand(args, env);
    expect([args, text.out]).toEqual([args, expect.stringContaining(`${name} (`)]);
    const csv = await gatewayCommand([...args, '--csv'], env);
    expect([args, csv.out]).toEqual([args, expect.stringContaining(`,${name},`)]);
  }
  const range = ['--from', from, '--until', end];
  const { out } = await gatewayCommand(['breakdown', '--by', 'key', ...range], env);
  expect(out).toContain(`laptop (${key.id})`);
});
