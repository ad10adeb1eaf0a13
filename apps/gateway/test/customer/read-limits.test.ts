/** The limits of endpoints that do not call the upstream, and the work that one key can cause. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ITEMS_PER_TURN, inTurns } from '../../src/customer/in-turns.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { TRUST_PROXY: '1' } });
});
afterAll(() => gateway.stop());

/** Reads as often as all `addresses` together may, and returns how many were answered. */
async function readFromEach(
  apiKey: string,
  path: string,
  { addresses, each }: { readonly addresses: readonly string[]; readonly each: number },
): Promise<number> {
  let answered = 0;
  for (const address of addresses) {
    const responses = await Promise.all(
      Array.from({ length: each }, () => read(apiKey, path, address)),
    );
    answered += responses.filter(({ status }) => status === 200).length;
    await Promise.all(responses.map((response) => response.arrayBuffer()));
  }
  return answered;
}

function read(apiKey: string, path: string, address: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/dashboard/${path}`, {
    headers: { authorization: `Bearer ${apiKey}`, 'x-forwarded-for': address },
  });
}

const addressesOf = (network: number, count: number): string[] =>
  Array.from({ length: count }, (_, host) => `10.0.${String(network)}.${String(host)}`);

describe('one key from many addresses', () => {
  // F156: one key, or all keys of an account, read from many addresses: 429 with `Retry-After` at 4
  // and 20 times the limit of an address.
  it.each([
    ['balance', 30],
    ['keys', 60],
    ['statement?month=2026-11', 30],
  ])('gets four times as many answers of %s as one address', async (path, limit) => {
    const { apiKey } = await gateway.createKey({ scope: 'manage' });
    const addresses = addressesOf(limit, 6);
    const answered = await readFromEach(apiKey, path, { addresses, each: limit });
    expect(answered).toBe(4 * limit);

    const refused = await read(apiKey, path, '10.9.9.9');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('content-type')).toBe('application/json');
    const seconds = refused.headers.get('retry-after');
    expect(Number(seconds)).toBeGreaterThanOrEqual(1);
    expect(await refused.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: expect.stringMatching(
          new RegExp(`${String(4 * limit)} requests per minute from one key.*wait ${seconds!}`),
        ),
      },
    });
    const { apiKey: other } = await gateway.createKey({ scope: 'manage' });
    expect((await read(other, path, '10.9.9.9')).status).toBe(200);
  });
});

// F156
it('the keys of one account get twenty times as many answers as one address', async () => {
  const { id, apiKey } = await gateway.createKey({ scope: 'manage' });
  const { account_id } = await gateway.call('showKey', { key_id: id });
  const others = await Promise.all(
    Array.from({ length: 5 }, () => gateway.createKey({ account_id, balance_usd: undefined })),
  );
  const keys = [apiKey, ...others.map((key) => key.apiKey)];
  let answered = 0;
  for (const [index, key] of keys.entries()) {
    const addresses = addressesOf(100 + index, 4);
    answered += await readFromEach(key, 'balance', { addresses, each: 30 });
  }
  expect(answered).toBe(20 * 30);
});

// F156
it('work on a long list lets other work run after each part', async () => {
  let others = 0;
  let isDone = false;
  const other = () => {
    others += 1;
    if (!isDone) setImmediate(other);
  };
  setImmediate(other);
  const items = Array.from({ length: 10 * ITEMS_PER_TURN - 1 }, (_, index) => index);
  const parts = await inTurns(items, (part) => part);
  isDone = true;
  expect(parts.flat()).toEqual(items);
  expect(parts).toHaveLength(10);
  expect(others).toBeGreaterThanOrEqual(9);
});
