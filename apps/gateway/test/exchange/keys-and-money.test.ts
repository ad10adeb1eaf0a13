import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultPriceTableJson, formatUsd, parseUsd } from '@gateway/billing';
import {
  MODEL,
  TOOL_LOOP,
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

/** Reads the balance endpoint as text, because a float would lose digits. */
async function readBalance(
  apiKey: string,
): Promise<{ text: string; json: Record<string, unknown> }> {
  const response = await fetch(`${gateway.url}/v1/dashboard/balance`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  expect(response.status).toBe(200);
  const text = await response.text();
  return { text, json: JSON.parse(text) };
}

describe('a key', () => {
  it('is disabled by the charge that uses up its balance, and enabled at once by a top-up', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.00000000000001' });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);

    const refused = await postMessages(gateway, apiKey, userMessage('Hello'));
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
    });
    expect((await postChat(gateway, apiKey, userMessage('Hello'))).status).toBe(401);
    const spent = await readBalance(apiKey);
    expect(spent.json).toMatchObject({ object: 'balance', is_active: false, expires_at: null });
    expect(spent.json['balance_usd']).toBeLessThan(0);

    const topUp = { key_id: id, top_up_id: `again-${id}`, amount_usd: '1' };
    expect(await gateway.call('topUp', topUp)).toMatchObject({ replayed: false, is_active: true });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    expect(await gateway.call('topUp', topUp)).toMatchObject({ replayed: true });
    await expect(gateway.call('topUp', { ...topUp, amount_usd: '2' })).rejects.toThrow(/top_up_id/);
  });

  // F21: balance 0; balance 10^-14 USD: 401; served.
  it('with a balance of 0 is refused, and with 10^-14 USD it is served', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: undefined });
    for (const post of [postMessages, postChat]) {
      expect((await post(gateway, apiKey, userMessage('Hello'))).status).toBe(401);
    }
    expect((await readBalance(apiKey)).text).toContain('"balance_usd":0,');
    const least = { key_id: id, top_up_id: `least-${id}`, amount_usd: '0.00000000000001' };
    expect(await gateway.call('topUp', least)).toMatchObject({ is_active: true });
    expect((await readBalance(apiKey)).text).toContain('"balance_usd":0.00000000000001,');
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(401);
  });

  it('is refused while it is suspended, served once it is resumed, and refused forever once it is revoked', async () => {
    const { id, apiKey } = await gateway.createKey();
    await gateway.call('suspendKey', { key_id: id });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(401);
    expect((await readBalance(apiKey)).json).toMatchObject({ is_active: false });
    await gateway.call('resumeKey', { key_id: id });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    await gateway.call('revokeKey', { key_id: id });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(401);
    await expect(gateway.call('resumeKey', { key_id: id })).rejects.toThrow(/revoked/);
    const balance = await fetch(`${gateway.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(balance.status).toBe(401);
  });

  it('is refused once expired, and its balance can still be read', async () => {
    const { id, apiKey } = await gateway.createKey({ expires_at: '2020-01-01T00:00:00Z' });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(401);
    expect((await readBalance(apiKey)).json).toMatchObject({
      is_active: false,
      expires_at: '2020-01-01T00:00:00.000Z',
    });
    await gateway.call('updateKey', { key_id: id, expires_at: null });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
  });
});

describe('a charge', () => {
  // F66
  it('is the same to the last digit in the headers, the balance and the usage of the request', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '5' });
    const response = await postMessages(gateway, apiKey, userMessage('Hello'));
    const { usage } = await response.json();
    // 3 USD per million input tokens, 15 per million output tokens.
    const expected =
      BigInt(usage.input_tokens) * 300_000_000n + BigInt(usage.output_tokens) * 1_500_000_000n;
    const charge = response.headers.get('x-gateway-charge-usd')!;
    expect(parseUsd(charge)).toBe(expected);
    const left = formatUsd(parseUsd('5') - expected);
    expect(response.headers.get('x-gateway-balance-usd')).toBe(left);
    expect((await readBalance(apiKey)).text).toContain(`"balance_usd":${left},`);

    const requestId = response.headers.get('x-gateway-request-id')!;
    const one = await fetch(`${gateway.url}/v1/dashboard/usage/${requestId}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(await one.json()).toMatchObject({
      request_id: requestId,
      model: MODEL,
      charge_usd: charge,
      balance_after_usd: left,
      usage: { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens },
    });

    const stranger = await gateway.createKey();
    const other = await fetch(`${gateway.url}/v1/dashboard/usage/${requestId}`, {
      headers: { authorization: `Bearer ${stranger.apiKey}` },
    });
    expect(other.status).toBe(404);
    const shown = await gateway.call('showKey', { key_id: id });
    expect(shown).toMatchObject({ spent_usd: charge, balance_usd: left });
  });

  // F22: usage of zero tokens: an entry of 0, balance and state unchanged.
  it('of zero is an entry like any other, and does not change the balance', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.00000000000001' });
    for (const post of [postMessages, postChat]) {
      gateway.simulator.script({ usage: { input_tokens: 0, output_tokens: 0 } });
      const response = await post(gateway, apiKey, userMessage('Hello'));
      expect(response.headers.get('x-gateway-charge-usd')).toBe('0');
      expect(response.headers.get('x-gateway-balance-usd')).toBe('0.00000000000001');
      const { usage } = await response.json();
      expect(usage.output_tokens ?? usage.completion_tokens).toBe(0);
    }
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    const entry = { amount_usd: '0', balance_after_usd: '0.00000000000001' };
    expect(data).toMatchObject([entry, entry]);
    expect(data).toHaveLength(2);
  });

  it('is listed page by page, by day and model, as JSON and CSV', async () => {
    await untilSteady('day');
    const { apiKey } = await gateway.createKey();
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const response = await postChat(gateway, apiKey, userMessage(`Hello ${i}`));
      ids.push(response.headers.get('x-gateway-request-id')!);
    }
    const list = async (query: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/dashboard/usage?${query}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
    const first = await (await list('limit=2')).json();
    const second = await (await list(`limit=3&cursor=${first.next_cursor}`)).json();
    const seen = [...first.data, ...second.data].map((entry) => entry.request_id);
    expect(seen).toEqual([...ids].reverse());
    expect(second.has_more).toBe(false);

    const today = new Date().toISOString().slice(0, 10);
    expect((await (await list(`day=${today}&model=${MODEL}`)).json()).data).toHaveLength(5);
    expect((await (await list('day=2020-01-01')).json()).data).toHaveLength(0);
    expect((await (await list('model=other')).json()).data).toHaveLength(0);

    const csv = await list('format=csv');
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const lines = (await csv.text()).trimEnd().split('\r\n');
    expect(lines).toHaveLength(6);
    expect(lines[0]).toMatch(/^kind,id,created_at,model,/);

    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['day=yesterday', 'day'],
      [`day=${today}&from=${today}`, 'day'],
      ['colour=red', 'colour'],
      ['cursor=nonsense', 'cursor'],
    ] as const) {
      const refused = await list(query);
      expect(refused.status).toBe(400);
      expect((await refused.json()).error.param).toBe(field);
    }
  });
});

// F24: 10^7 tokens at 1,000 USD/M; 10^9 USD: exactly 10,000 USD; every digit printed.
it('a balance of 10^9 USD and a charge of 10,000 are exact to the last digit', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-prices-'));
  const priceTable = join(directory, 'prices.json');
  const [model] = defaultPriceTableJson.models;
  const dear = { ...model, id: MODEL, aliases: [], rate_in: '1000', rate_out: '0.000001' };
  writeFileSync(priceTable, JSON.stringify({ models: [dear] }));
  const dearer = await startTestGateway({ env: { PRICES: priceTable } });
  const { apiKey } = await dearer.createKey({ balance_usd: '1000000000' });
  dearer.simulator.script({ usage: { input_tokens: 10_000_000, output_tokens: 1 } });
  const response = await postMessages(dearer, apiKey, userMessage('Hello', TOOL_LOOP));
  expect(response.headers.get('x-gateway-charge-usd')).toBe('10000.000000000001');
  expect(response.headers.get('x-gateway-balance-usd')).toBe('999989999.999999999999');
  const balance = await fetch(`${dearer.url}/v1/dashboard/balance`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  expect(await balance.text()).toContain('"balance_usd":999989999.999999999999,');
  expect((await dearer.call('auditLedger', {})).is_sound).toBe(true);
  await dearer.stop();
  rmSync(directory, { recursive: true });
});
