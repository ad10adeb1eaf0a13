/**
 * Accounts with several keys, caps, corrections, statements and rights, as a running gateway serves
 * them to clients and operators.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { settlement } from '@gateway/balance-store/testing';
import { formatUsd, parseUsd } from '@gateway/billing';
import {
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
  MODEL,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { connectTo } from '../support/raw-client.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { untilSteady } from '../support/steady-time.js';

const TOKENS = {
  shop: 'token-of-the-shop-0123456789',
  reader: 'token-of-the-reader-0123456789',
};

let gateway: TestGateway;
beforeEach(() => untilSteady('day'));
beforeAll(async () => {
  gateway = await startTestGateway({
    env: {
      ADMIN_TOKENS: `shop:credit:${TOKENS.shop},reader:read:${TOKENS.reader}`,
      OPERATOR: 'Example Ltd <help@example.com>',
      OPERATOR_ADDRESS: '1 <b>Example</b> Street; ;VAT X1',
      STATEMENT_NOTE: 'Taxes are included.',
    },
  });
});
afterAll(() => gateway.stop());

async function newAccount(balance?: string) {
  const account = await gateway.call('createAccount', { name: 'team', balance_usd: balance });
  return account.id;
}

async function newKey(accountId: string, rules: object = {}) {
  const key = await gateway.call('createKey', { name: 'member', account_id: accountId, ...rules });
  return { id: key.id, apiKey: key.api_key ?? '' };
}

const ask = (apiKey: string) => postMessages(gateway, apiKey, userMessage('Hello'));

async function dashboard(apiKey: string, path: string, init: RequestInit = {}) {
  const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, {
    ...init,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(init.headers as Record<string, string> | undefined),
    },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    contentType: response.headers.get('content-type'),
    policy: response.headers.get('content-security-policy'),
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

const mediaTypeOf = (header: string | null) => header?.split(';')[0];

interface Amount {
  readonly amount_usd: string;
}

interface StatementJson {
  readonly bookings: readonly (Amount & { readonly kind: string })[];
  readonly charges: readonly { readonly lines: readonly Amount[] }[];
  readonly lines: readonly (Amount & { readonly date: string })[];
  readonly by_model: readonly Amount[];
  readonly by_key: readonly Amount[];
  readonly booked_usd: string;
  readonly charged_usd: string;
}

function totalOf(amounts: readonly Amount[]): bigint {
  return amounts.reduce((total, { amount_usd }) => total + parseUsd(amount_usd), 0n);
}

describe('an account', () => {
  it('has one balance for all of its keys: the charge that uses it up disables every key', async () => {
    const accountId = await newAccount('0.00000000000001');
    const [first, second] = [await newKey(accountId), await newKey(accountId)];
    expect((await dashboard(second.apiKey, 'balance')).json).toMatchObject({ is_active: true });
    expect((await ask(first.apiKey)).status).toBe(200);
    for (const { apiKey } of [first, second]) {
      expect((await ask(apiKey)).status).toBe(401);
      expect((await dashboard(apiKey, 'balance')).json).toMatchObject({ is_active: false });
    }
    const topUp = { account_id: accountId, top_up_id: accountId, amount_usd: '1' };
    expect(await gateway.call('topUpAccount', topUp)).toMatchObject({ active_keys: 2 });
    for (const { apiKey } of [first, second]) expect((await ask(apiKey)).status).toBe(200);
    const keys = await gateway.call('listKeys', { account_id: accountId });
    expect(keys.data.map(({ id }) => id).sort()).toEqual([first.id, second.id].sort());
  });

  // F193: an operator stops an account with many keys while a holder creates more: none of them
  // works until the account is resumed; each is then what it was.
  it('that is suspended refuses all its keys, and cannot make another that works', async () => {
    const accountId = await newAccount('1');
    const [member, manager] = [
      await newKey(accountId),
      await newKey(accountId, { scope: 'manage' }),
    ];
    expect((await ask(member.apiKey)).status).toBe(200);
    const suspended = await gateway.call('suspendAccount', { account_id: accountId });
    expect(suspended).toMatchObject({ state: 'suspended', usable_keys: 0 });
    const late = await newKey(accountId);
    for (const { apiKey } of [member, manager, late]) {
      const refused = await ask(apiKey);
      expect([refused.status, await refused.json()]).toMatchObject([
        401,
        { error: { message: 'this API key or its account is suspended' } },
      ]);
      expect((await dashboard(apiKey, 'balance')).json).toMatchObject({ is_active: false });
    }
    const made = await fetch(`${gateway.url}/v1/dashboard/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${manager.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'another' }),
    });
    expect(made.status).toBe(403);
    const key = await gateway.call('showKey', { key_id: member.id });
    expect([key.state, key.standing, key.is_active]).toEqual(['active', 'suspended', false]);
    expect(await gateway.call('resumeAccount', { account_id: accountId })).toMatchObject({
      state: 'active',
      usable_keys: 3,
    });
    for (const { apiKey } of [member, manager, late]) expect((await ask(apiKey)).status).toBe(200);
  });

  it('whose keys are all revoked reports, when it is credited, that no key can spend the money', async () => {
    const { id } = await gateway.createKey();
    await gateway.call('revokeKey', { key_id: id });
    const topUp = { key_id: id, top_up_id: id, amount_usd: '1', anyway: true };
    expect(await gateway.call('topUp', topUp)).toMatchObject({ is_active: false, active_keys: 0 });
  });
});

describe('a cap', () => {
  // F339: a key whose cap is used up, so that each of its requests is refused: its page does not
  // say that it works, but which cap it is and when it begins anew.
  it('that is used up refuses requests with 402, naming the amount used and when the cap renews', async () => {
    const accountId = await newAccount('100');
    const capped = await newKey(accountId, { cap_day_usd: '0.00000000000001' });
    const other = await newKey(accountId);
    const capInOverview = async () =>
      (await dashboard(capped.apiKey, 'account')).json.key.used_up_cap;
    expect(await capInOverview()).toBeNull();
    expect((await ask(capped.apiKey)).status).toBe(200);
    const cap = await capInOverview();
    expect(cap).toMatchObject({ period: 'day', cap_usd: '0.00000000000001' });
    expect(Date.parse(cap.renews_at)).toBe(new Date().setUTCHours(24, 0, 0, 0));
    for (const post of [postMessages, postChat]) {
      const refused = await post(gateway, capped.apiKey, userMessage('Hello'));
      expect(refused.status).toBe(402);
      expect(refused.headers.get('x-should-retry')).toBe('false');
      const { error } = await refused.json();
      expect(error.message).toMatch(
        /cap of 0\.00000000000001 USD per day \([\d.]+ USD used\) is used up; it renews at \d{4}-\d\d-\d\dT00:00:00\.000Z/,
      );
    }
    expect((await ask(other.apiKey)).status).toBe(200);
    const { caps } = await gateway.call('showKey', { key_id: capped.id });
    expect(parseUsd(caps.day.used_usd)).toBeGreaterThan(1n);
    await gateway.call('updateKey', { key_id: capped.id, cap_day_usd: null });
    expect(await capInOverview()).toBeNull();
    expect((await ask(capped.apiKey)).status).toBe(200);
  });
});

describe('a key with a list of allowed models', () => {
  // F361: a key asks for a model that it may not use: the API's refusal of a model without access,
  // which no client takes for a refused credential.
  it('gets 404 for any other model, and GET /v1/models lists only the allowed ones', async () => {
    const key = await newKey(await newAccount('100'), { models: ['claude-haiku-4-5'] });
    const refused = await ask(key.apiKey);
    expect(refused.status).toBe(404);
    expect((await refused.json()).error).toMatchObject({
      type: 'not_found_error',
      message: `model: this key may not use ${MODEL}, only claude-haiku-4-5`,
    });
    const models = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${key.apiKey}` },
    });
    expect(await models.json()).toMatchObject({ data: [{ id: 'claude-haiku-4-5' }] });
  });
});

describe('the creation of a key', () => {
  it('makes one key and one credit, however often it is sent under one Idempotency-Key', async () => {
    const input = { name: 'order-77', balance_usd: '5', idempotency_key: 'order-77' };
    const outcomes = await Promise.all([1, 2, 3].map(() => gateway.call('createKey', input)));
    expect(new Set(outcomes.map(({ id }) => id)).size).toBe(1);
    expect(outcomes.filter(({ api_key }) => api_key !== null)).toHaveLength(1);
    expect(outcomes.filter(({ replayed }) => replayed)).toHaveLength(2);
    expect(outcomes.map(({ account }) => account.balance_usd)).toEqual(['5', '5', '5']);
    await expect(gateway.call('createKey', { ...input, balance_usd: '6' })).rejects.toThrow(
      /^idempotency_key: /,
    );
  });
});

describe('a field for a new account', () => {
  it.each([
    ['account_name', 'another team'],
    ['account_external_id', 'crm-2'],
    ['account_metadata', { plan: 'gold' }],
    ['low_balance_usd', '5'],
  ])('is refused beside account_id, which names an existing one: %s', async (field, value) => {
    const { id } = await gateway.call('createAccount', { name: 'team' });
    await expect(
      gateway.call('createKey', { name: 'member', account_id: id, [field]: value }),
    ).rejects.toThrow(`${field}: is only for a new account`);
  });
});

describe('an id of your own that another account has', () => {
  it('is refused, naming the field that contains it', async () => {
    const message = 'already belongs to another account';
    await gateway.call('createAccount', { name: 'team', external_id: 'crm-1' });
    await expect(
      gateway.call('createAccount', { name: 'team', external_id: 'crm-1' }),
    ).rejects.toThrow(new Error(`external_id: ${message}`));
    await expect(
      gateway.call('createKey', { name: 'member', account_external_id: 'crm-1' }),
    ).rejects.toThrow(new Error(`account_external_id: ${message}`));
  });
});

describe('a rotated key', () => {
  it('keeps its id; its old credential works during the grace period, until a rotation without one', async () => {
    const { id, apiKey } = await gateway.createKey();
    const graced = await gateway.call('rotateKey', { key_id: id, grace_seconds: 3_600 });
    for (const credential of [apiKey, graced.api_key ?? '']) {
      expect((await ask(credential)).status).toBe(200);
    }
    const last = await gateway.call('rotateKey', { key_id: id });
    for (const credential of [apiKey, graced.api_key ?? '']) {
      expect((await ask(credential)).status).toBe(401);
    }
    expect((await ask(last.api_key ?? '')).status).toBe(200);
    expect(await gateway.call('findKey', { api_key: last.api_key ?? '' })).toMatchObject({ id });
    await expect(gateway.call('findKey', { api_key: apiKey })).rejects.toThrow(/^api_key: /);
  });
});

describe('a statement', () => {
  // F181
  // F439: a customer reads a transfer: nothing names the other account, in no format.
  it('adds up to the last digit, has no private notes, and escapes texts in CSV and HTML', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '10' });
    const { account_id: accountId } = await gateway.call('showKey', { key_id: id });
    await ask(apiKey);
    await postChat(gateway, apiKey, userMessage('Hello again'));
    const adjust = { account_id: accountId, reason: 'refund' } as const;
    await gateway.call('adjustBalance', {
      ...adjust,
      adjustment_id: `${id}-refund`,
      amount_usd: '-3.00000000000001',
      reference: 'card <b>1</b>, "x"',
      note: 'a private note',
    });
    const to = await newAccount();
    await gateway.call('transfer', {
      account_id: accountId,
      to_account_id: to,
      transfer_id: id,
      amount_usd: '2',
    });
    const month = new Date().toISOString().slice(0, 7);
    for (const path of [
      'usage?kind=all',
      'usage?kind=all&format=csv',
      'account',
      `statement?month=${month}`,
      `statement?month=${month}&format=csv`,
      `statement?month=${month}&format=html`,
    ]) {
      const seen = await dashboard(apiKey, path);
      expect({ path, status: seen.status }).toEqual({ path, status: 200 });
      expect({ path, text: seen.text }).not.toMatchObject({ text: expect.stringContaining(to) });
      if (!path.startsWith('account')) expect(seen.text).toContain('another account');
    }
    const { json } = await dashboard(apiKey, `statement?month=${month}`);
    const { balance_usd: balance } = await gateway.call('showAccount', { account_id: accountId });
    expect(json).toMatchObject({ opening_balance_usd: '0', closing_balance_usd: balance });
    const statement = json as StatementJson;
    const lines = statement.charges.flatMap((charge) => charge.lines);
    const sum = totalOf(statement.bookings) - totalOf(lines);
    expect(formatUsd(sum)).toBe(balance);
    expect(statement.bookings.map(({ kind }) => kind)).toEqual([
      'top_up',
      'adjustment',
      'adjustment',
    ]);
    expect(JSON.stringify(json)).not.toContain('a private note');
    // The lines are in the order of time, and each total is that of the lines.
    const { lines: all, by_model, by_key, booked_usd, charged_usd, ...named } = statement;
    const days = all.slice(0, -1).map(({ date }) => date.slice(0, 10));
    expect(days).toEqual(days.toSorted());
    expect(formatUsd(totalOf(all.slice(0, -1)))).toBe(balance);
    expect(totalOf(by_model)).toBe(-parseUsd(charged_usd));
    expect(totalOf(by_key)).toBe(-parseUsd(charged_usd));
    expect(by_key).toMatchObject([{ key_id: id, name: 'test', requests: 2 }]);
    expect(parseUsd(booked_usd)).toBe(totalOf(statement.bookings));
    expect(named).toMatchObject({
      state: 'draft',
      number: null,
      issuer: {
        name: 'Example Ltd',
        contact: 'help@example.com',
        address: ['1 <b>Example</b> Street', 'VAT X1'],
        note: 'Taxes are included.',
      },
    });

    const csv = await dashboard(apiKey, `statement?month=${month}&format=csv`);
    expect(csv.text).toContain('"refund card <b>1</b>, ""x"""');
    const page = await dashboard(apiKey, `statement?month=${month}&format=html`);
    expect(page.text).toContain('refund, card &lt;b&gt;1&lt;/b&gt;');
    expect(page.text).not.toContain('<b>');
    expect(page.text).toContain('Example Ltd<br>1 &lt;b&gt;Example&lt;/b&gt; Street<br>VAT X1<br>');
    expect(page.text).toContain('Taxes are included.');
    const bad = await dashboard(apiKey, 'statement?month=2026-13');
    expect(bad.status).toBe(400);
    expect(bad.json.error.message).toMatch(/^month: /);
  });

  it('is the same for the operator, over the admin API and on the command line', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '10' });
    await ask(apiKey);
    const { account_id } = await gateway.call('showKey', { key_id: id });
    await gateway.call('adjustBalance', {
      account_id,
      adjustment_id: `${id}-goodwill`,
      amount_usd: '0.00000000000001',
      reason: 'goodwill',
      reference: 'ticket 7',
    });
    const month = new Date().toISOString().slice(0, 7);
    const admin = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: TOKENS.reader };
    const command = ['accounts', 'statement', account_id, month];
    for (const format of ['json', 'csv', 'html']) {
      const seen = await dashboard(apiKey, `statement?month=${month}&format=${format}`);
      const response = await fetch(
        `${gateway.adminUrl}/admin/accounts/${account_id}/statement?month=${month}&format=${format}`,
        { headers: { authorization: `Bearer ${TOKENS.reader}` } },
      );
      expect(mediaTypeOf(response.headers.get('content-type'))).toBe(mediaTypeOf(seen.contentType));
      expect(response.headers.get('content-security-policy')).toBe(seen.policy);
      expect(response.headers.get('cache-control')).toBe('no-store');
      const text = await response.text();
      expect(text).toBe(seen.text);
      const { out } = await gatewayCommand([...command, `--${format}`], admin);
      if (format === 'json') expect(JSON.parse(out)).toEqual(seen.json);
      else expect(out.trimEnd()).toBe(text.trimEnd());
    }
    const { out } = await gatewayCommand(command, admin);
    expect(out).toMatch(/Correction: goodwill, ticket 7 .* 0\.00000000000001\b/);
    expect(out).toMatch(/Credit: paid .* 10\b/);
    const { balance_usd: balance } = await gateway.call('showAccount', { account_id });
    expect(out).toMatch(new RegExp(`Closing balance .* ${balance.replace('.', '\\.')}\\b`));
    const bad = await gatewayCommand(['accounts', 'statement', account_id, '2026-13'], admin);
    expect(bad).toMatchObject({ code: 2, out: '', err: expect.stringContaining('month') });
  });

  it('of a shared account is shown only to a key that may manage it', async () => {
    const accountId = await newAccount('10');
    const [member, manager] = [
      await newKey(accountId),
      await newKey(accountId, { scope: 'manage' }),
    ];
    const month = new Date().toISOString().slice(0, 7);
    expect((await dashboard(member.apiKey, `statement?month=${month}`)).status).toBe(403);
    expect((await dashboard(manager.apiKey, `statement?month=${month}`)).status).toBe(200);
    expect((await dashboard(member.apiKey, 'usage/summary?of=account')).status).toBe(403);
    expect((await dashboard(manager.apiKey, 'usage/summary?of=account')).status).toBe(200);
    await ask(member.apiKey);
    const ofMember = `usage/summary?by=key&key_id=${member.id}`;
    expect((await dashboard(manager.apiKey, ofMember)).json.data).toMatchObject([
      { key_id: member.id, requests: 1 },
    ]);
    expect((await dashboard(member.apiKey, ofMember)).status).toBe(200);
    const ofManager = await dashboard(member.apiKey, `usage/summary?key_id=${manager.id}`);
    expect(ofManager.status).toBe(403);
  });
});

describe('the overview of an account', () => {
  const HOUR_MS = 3_600_000;

  // F179
  it('foresees the end of a shared balance from the ledger of all keys, without credit that expires before', async () => {
    const accountId = await newAccount();
    const [member, manager] = [
      await newKey(accountId),
      await newKey(accountId, { scope: 'manage' }),
    ];
    const credit = (top_up_id: string, more: object) =>
      gateway.call('topUpAccount', {
        account_id: accountId,
        top_up_id: `${accountId}-${top_up_id}`,
        amount_usd: '0.3',
        ...more,
      });
    const expiresAt = new Date(Date.now() + 2 * HOUR_MS);
    await credit('paid', {});
    await credit('gift', { source: 'promotional', expires_at: expiresAt.toISOString() });
    for (const { apiKey } of [member, manager, manager]) await ask(apiKey);
    const link = await dashboard(member.apiKey, 'links', { method: 'POST', body: '{}' });
    const before = Date.now();
    const seen = await Promise.all(
      [member.apiKey, manager.apiKey, link.json.link].map((credential) =>
        dashboard(credential, 'account'),
      ),
    );
    const after = Date.now();

    // Computed from the entries alone: what was spent comes out of the credit that expires.
    const { data } = await gateway.call('listLedger', { account_id: accountId });
    const spent = -totalOf(data.filter(({ kind }) => kind === 'charge'));
    const byMember = -totalOf(
      data.filter((entry) => entry.kind === 'charge' && entry.key_id === member.id),
    );
    expect([spent > byMember, byMember > 0n]).toEqual([true, true]);
    const left = parseUsd('0.3') - spent;
    // An account that is younger than a day has the pace of a day.
    const perMs = (amount: bigint) => Number(amount) / (Number(spent) / (24 * HOUR_MS));
    const endFrom = (now: number) => {
      const gone = Math.min(now + perMs(left), expiresAt.getTime());
      return gone + perMs(parseUsd('0.3'));
    };
    // The gift is not used up before it expires, so the test would see it counted.
    expect(endFrom(before)).toBe(expiresAt.getTime() + perMs(parseUsd('0.3')));
    for (const { status, json } of seen) {
      expect(status).toBe(200);
      expect(json).toMatchObject({
        object: 'account_overview',
        operator: { name: 'Example Ltd', contact: 'help@example.com' },
        account_name: 'team',
        balance_usd: formatUsd(totalOf(data)),
        is_shared: true,
        expiring: [{ remaining_usd: formatUsd(left), expires_at: expiresAt.toISOString() }],
        pace: { days: 7, spent_usd: formatUsd(spent) },
      });
      const end = Date.parse(json.lasts_until);
      expect(end).toBeGreaterThanOrEqual(endFrom(before) - 5);
      expect(end).toBeLessThanOrEqual(endFrom(after) + 5);
    }
    expect(seen[0]?.json).toMatchObject({
      may_see_account: false,
      pace: { spent_by_key_usd: formatUsd(byMember) },
      key: { id: member.id, name: 'member', scope: 'use', is_active: true },
    });
    expect(seen[1]?.json).toMatchObject({ may_see_account: true });
  });

  it('has nothing to foresee without use, and says when a balance is not shared', async () => {
    const key = await newKey(await newAccount('1'));
    expect((await dashboard(key.apiKey, 'account')).json).toMatchObject({
      is_shared: false,
      may_see_account: true,
      lasts_until: null,
      expiring: [],
    });
  });
});

describe('the charges of all keys', () => {
  // F180: charges of one key beside the balance of the account: a balance is shown only in lists
  // that leave nothing out.
  it('are shown to a key that may see the account, so that neighbouring balances add up', async () => {
    const accountId = await newAccount('5');
    const [member, manager] = [
      await newKey(accountId),
      await newKey(accountId, { scope: 'manage' }),
    ];
    for (const { apiKey } of [member, manager, member]) await ask(apiKey);
    const path = 'usage?kind=all&of=account';
    expect((await dashboard(member.apiKey, path)).status).toBe(403);
    const { json } = await dashboard(manager.apiKey, path);
    const entries = json.data as readonly {
      readonly key_id?: string;
      readonly charge_usd?: string;
      readonly amount_usd?: string;
      readonly balance_after_usd: string;
    }[];
    expect(entries.map(({ key_id }) => key_id)).toEqual([
      member.id,
      manager.id,
      member.id,
      undefined,
    ]);
    entries.forEach(({ charge_usd, amount_usd, balance_after_usd }, index) => {
      const change = charge_usd === undefined ? parseUsd(amount_usd!) : -parseUsd(charge_usd);
      const before = parseUsd(entries[index + 1]?.balance_after_usd ?? '0');
      expect(formatUsd(before + change)).toBe(balance_after_usd);
    });
    const csv = await dashboard(manager.apiKey, `${path}&format=csv`);
    expect(csv.text.split('\r\n')[0]).toMatch(/,key_id,terms,fees_usd,member_id,groups,tag,run$/);
    expect(csv.text).toContain(`,${manager.id},,,,,,\r\n`);
  });
});

describe('sums of usage', () => {
  it('equal the charges, whichever dimensions they are grouped by', async () => {
    const { id, apiKey } = await gateway.createKey();
    await ask(apiKey);
    await ask(apiKey);
    await postChat(gateway, apiKey, userMessage('Hello'));
    const { spent_usd: spent } = await gateway.call('showKey', { key_id: id });
    const now = Date.now();
    const range = {
      key_id: id,
      from: new Date(now - (now % 3_600_000) - 86_400_000).toISOString(),
      until: new Date(now - (now % 3_600_000) + 86_400_000).toISOString(),
    };
    for (const by of ['day', 'hour', 'model', 'account', 'key', 'endpoint', 'day,model,endpoint']) {
      const { data } = await gateway.call('listUsage', { ...range, by });
      const charged = data.reduce((total, sum) => total + parseUsd(sum.charged_usd), 0n);
      expect([by, formatUsd(charged)]).toEqual([by, spent]);
      expect(data.reduce((total, { requests }) => total + requests, 0)).toBe(3);
    }
    const [top] = (
      await gateway.call('listUsage', { ...range, by: 'endpoint', sort: 'requests', top: 1 })
    ).data;
    expect(top).toMatchObject({ endpoint: 'messages', requests: 2 });
    const summary = await dashboard(apiKey, 'usage/summary?by=model');
    expect(summary.json.data).toMatchObject([{ model: MODEL, requests: 3, charged_usd: spent }]);
    for (const query of ['by=day,hour', 'by=account', 'by=x', 'from=2026-02-02&until=2026-02-01']) {
      expect((await dashboard(apiKey, `usage/summary?${query}`)).status).toBe(400);
    }
  });
});

describe('sums of usage', () => {
  it('are refused if there are too many for one response', async () => {
    const { id: keyId, apiKey } = await gateway.createKey();
    const charges = Array.from({ length: 10_001 }, (_, index) =>
      settlement(keyId, { model: `model-${String(index)}`, usage: {} }),
    );
    const { store } = gateway.running;
    await Promise.all(charges.map((charge) => store.settle(charge, { deadlineMs: 60_000 })));
    const summary = await dashboard(apiKey, 'usage/summary?by=model');
    expect(summary.status).toBe(400);
    expect(summary.json.error).toMatchObject({ param: 'from' });
    expect((await dashboard(apiKey, 'usage/summary?by=day')).status).toBe(200);

    const range = { from: '2000-01-01T00:00:00Z', until: '2200-01-01T00:00:00Z', key_id: keyId };
    await expect(gateway.call('listUsage', { ...range, by: 'model' })).rejects.toThrow(
      'from: covers more than 10000 sums',
    );
    const top = await gateway.call('listUsage', { ...range, by: 'model', sort: 'tokens', top: 3 });
    expect(top.data).toHaveLength(3);
  });
});

describe('a key that may manage its account', () => {
  it('manages the keys of that account, and of no other', async () => {
    const accountId = await newAccount('10');
    const manager = await newKey(accountId, { scope: 'manage', concurrency: 3 });
    const stranger = await gateway.createKey();
    const send = (method: string, path: string, body?: unknown) =>
      dashboard(manager.apiKey, path, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const created = await send('POST', 'keys', {
      name: 'junior',
      concurrency: 50,
      cap_month_usd: '1',
    });
    expect(created.status).toBe(200);
    expect(created.json).toMatchObject({
      account_id: accountId,
      scope: 'use',
      limits: { concurrency: 3 },
      caps: { month: { cap_usd: '1' } },
    });
    const { id, api_key: apiKey } = created.json;
    expect((await ask(apiKey)).status).toBe(200);
    expect((await send('POST', `keys/${id}/suspend`)).json.state).toBe('suspended');
    expect((await ask(apiKey)).status).toBe(401);
    expect((await send('POST', `keys/${id}/resume`)).json.state).toBe('active');
    expect((await send('PATCH', `keys/${id}`, { cap_day_usd: '0' })).status).toBe(200);
    expect((await ask(apiKey)).status).toBe(402);
    const rotated = await send('POST', `keys/${id}/rotate`, {});
    expect((await ask(apiKey)).status).toBe(401);
    expect(rotated.json.api_key).not.toBe(apiKey);
    expect(rotated.json).not.toHaveProperty('external_id');
    expect((await send('GET', 'keys')).json.data).toHaveLength(2);

    for (const [method, path, body] of [
      ['GET', `keys/${stranger.id}`, undefined],
      ['POST', `keys/${stranger.id}/revoke`, undefined],
      ['PATCH', `keys/${stranger.id}`, { name: 'mine' }],
      ['POST', `keys/${stranger.id}/rotate`, {}],
    ] as const) {
      expect((await send(method, path, body)).status).toBe(404);
    }
    for (const body of [
      { name: 'x', scope: 'manage' },
      { name: 'x', balance_usd: '1' },
      { name: 'x', account_id: accountId },
      { name: 'x', cap_day_usd: '-1' },
      { name: 'x', cap_day_usd: '-0' },
    ]) {
      expect((await send('POST', 'keys', body)).status).toBe(400);
    }
    expect((await send('PATCH', `keys/${manager.id}`, { cap_day_usd: null })).status).toBe(400);
    expect((await dashboard(stranger.apiKey, 'keys')).status).toBe(403);
    const { data: trail } = await gateway.call('listTrail', { account_id: accountId, limit: 1 });
    expect(trail).toMatchObject([{ actor: manager.id, action: 'key.rotate', key_id: id }]);
  });

  it('names only models that it may use itself, and does not resume a revoked key', async () => {
    const accountId = await newAccount('10');
    const manager = await newKey(accountId, { scope: 'manage', models: ['claude-haiku-4-5'] });
    const post = (path: string, body: object) =>
      dashboard(manager.apiKey, path, { method: 'POST', body: JSON.stringify(body) });
    for (const models of [['claude-opus-5'], ['claude-haiku-4-5', 'claude-opus-5']]) {
      const refused = await post('keys', { name: 'x', models });
      expect([refused.status, refused.json.error.param]).toEqual([400, 'models']);
    }
    const { json } = await post('keys', { name: 'x', models: ['claude-haiku-4-5'] });
    expect((await post(`keys/${json.id}/revoke`, {})).json.state).toBe('revoked');
    expect((await post(`keys/${json.id}/resume`, {})).status).toBe(409);
  });

  it('rotates no key with more models, a higher limit or a later expiry than its own', async () => {
    const accountId = await newAccount('10');
    const own = {
      models: ['claude-haiku-4-5'],
      allowed_networks: ['127.0.0.0/8', '::1'],
      concurrency: 3,
      expires_at: new Date(Date.now() + 3_600_000),
    };
    const manager = await newKey(accountId, { ...own, scope: 'manage' });
    const rotate = (id: string) =>
      dashboard(manager.apiKey, `keys/${id}/rotate`, { method: 'POST', body: '{}' });
    for (const [right, more] of [
      ['models', { models: null }],
      ['models', { models: ['claude-haiku-4-5', 'claude-opus-5'] }],
      ['allowed_networks', { allowed_networks: undefined }],
      ['allowed_networks', { allowed_networks: ['127.0.0.0/8', '10.0.0.0/8'] }],
      ['limits', { concurrency: 4 }],
      ['expires_at', { expires_at: undefined }],
      ['expires_at', { expires_at: new Date(Date.now() + 7_200_000) }],
    ] as const) {
      const stronger = await newKey(accountId, { ...own, ...more });
      const { status, json } = await rotate(stronger.id);
      expect([status, json.error.param]).toEqual([403, 'key_id']);
      expect(json.error.message).toContain(`(${right})`);
      expect((await dashboard(stronger.apiKey, 'balance')).status).toBe(200);
    }
    const equal = await newKey(accountId, own);
    expect((await rotate(equal.id)).status).toBe(200);
    expect((await rotate(manager.id)).status).toBe(200);
  });

  it('creates a key while fewer than 100 are not revoked', async () => {
    const accountId = await newAccount('10');
    const manager = await newKey(accountId, { scope: 'manage' });
    const [first] = await Promise.all(Array.from({ length: 99 }, () => newKey(accountId)));
    const create = () =>
      dashboard(manager.apiKey, 'keys', { method: 'POST', body: '{"name":"one more"}' });
    expect((await create()).json.error.param).toBe('keys');
    await gateway.call('revokeKey', { key_id: first?.id ?? '' });
    expect((await create()).status).toBe(200);
  });

  it('is not the only kind that reads the statement: so does the only unrevoked key of an account', async () => {
    const accountId = await newAccount('10');
    const [key, other] = [await newKey(accountId), await newKey(accountId)];
    const read = async () => (await dashboard(key.apiKey, 'statement?month=2026-01')).status;
    expect(await read()).toBe(403);
    await gateway.call('revokeKey', { key_id: other.id });
    expect(await read()).toBe(200);
  });

  it('is refused a body whose type is not JSON', async () => {
    const manager = await newKey(await newAccount('10'), { scope: 'manage' });
    const { id } = await newKey(await newAccount('10'));
    for (const path of ['keys', `keys/${id}/rotate`, 'links', 'promo-codes']) {
      const sent = await dashboard(manager.apiKey, path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: '{"grace_seconds":3600}',
      });
      expect([path, sent.status]).toEqual([path, 415]);
    }
  });

  // F352: a holder's request has no body, or a list: the missing member is named, or the body.
  it('is told what is wrong with a body that is missing or a list', async () => {
    const { apiKey } = await newKey(await newAccount('10'), { scope: 'manage' });
    const { status, json } = await dashboard(apiKey, 'keys', { method: 'POST', body: '[]' });
    expect([status, json.error.param]).toEqual([400, null]);
    expect(json.error.message).toBe('body: must be a JSON object of at most 64 KB');
    // Without a length there is no body, not an empty one.
    const client = connectTo(gateway);
    client.send(
      'POST /v1/dashboard/keys HTTP/1.1\r\nhost: gateway\r\n' +
        `authorization: Bearer ${apiKey}\r\nconnection: close\r\n\r\n`,
    );
    await client.receive(/^HTTP\/1.1 400 [^]*"message":"name: [^]*"param":"name"/);
    client.socket.destroy();
  });
});

describe('a token of an operator', () => {
  it('may do only what its right allows, and the trail names the token', async () => {
    const { id } = await gateway.createKey();
    const send = (token: string, method: string, path: string, body?: unknown) =>
      fetch(`${gateway.adminUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const topUp = { top_up_id: `shop-${id}`, amount_usd: '1' };
    for (const [token, method, path, body, status] of [
      [TOKENS.reader, 'GET', `/admin/keys/${id}`, undefined, 200],
      [TOKENS.reader, 'POST', `/admin/keys/${id}/top-ups`, topUp, 403],
      [TOKENS.reader, 'POST', `/admin/keys/${id}/suspend`, {}, 403],
      [TOKENS.shop, 'POST', `/admin/keys/${id}/suspend`, {}, 403],
      [TOKENS.shop, 'POST', '/admin/keys', { name: 'x' }, 403],
      [TOKENS.shop, 'POST', `/admin/keys/${id}/top-ups`, topUp, 200],
      ['token-of-nobody-0123456789', 'GET', `/admin/keys/${id}`, undefined, 401],
    ] as const) {
      expect([path, (await send(token, method, path, body)).status]).toEqual([path, status]);
    }
    const { data } = await gateway.call('listTrail', { limit: 1 });
    expect(data).toMatchObject([{ actor: 'shop', action: 'credit.add' }]);
  });
});

describe('erasing an account', () => {
  it('removes its names and notes, and the ledger stays sound', async () => {
    const created = await gateway.call('createKey', {
      name: 'Alice Example',
      balance_usd: '5',
      account_external_id: 'alice@example.com',
      metadata: { mail: 'alice@example.com' },
    });
    const accountId = created.account.id;
    await gateway.call('adjustBalance', {
      account_id: accountId,
      adjustment_id: 'kindness',
      amount_usd: '1',
      reason: 'goodwill',
      note: 'Alice Example was kind',
    });
    await gateway.call('closeAccount', {
      account_id: accountId,
      closing_id: 'goodbye',
      reason: 'Alice Example asked for it',
      rest: 'refund',
      paid_through: 'bank',
    });
    await gateway.call('eraseAccount', { account_id: accountId });
    const everything = JSON.stringify([
      await gateway.call('showAccount', { account_id: accountId }),
      await gateway.call('listKeys', { account_id: accountId }),
      await gateway.call('listLedger', { account_id: accountId }),
      await gateway.call('listTrail', { account_id: accountId }),
    ]);
    expect(everything).not.toMatch(/alice/i);
    expect(await gateway.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
  });
});
