/** A key that may be used from some networks only. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  ENDPOINTS,
  PATHS,
  POSTS,
  bodyFor,
  postMessages,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { TRUST_PROXY: '1' } });
});
afterAll(() => gateway.stop());

const from = (address: string) => ({ 'x-forwarded-for': address });

const NETWORKS = ['192.0.2.0/24', '2001:db8::/32'];
const INSIDE = ['192.0.2.255', '::ffff:192.0.2.1', '::ffff:c000:201', '2001:db8:ffff::1'];
const OUTSIDE = ['192.0.3.0', '127.0.0.1', '::ffff:192.0.3.1', '2001:db9::', '::', 'nonsense'];

async function newKey(more: object = {}) {
  return gateway.createKey({ allowed_networks: NETWORKS, ...more });
}

async function askMessages(apiKey: string, address: string): Promise<number> {
  const response = await postMessages(gateway, apiKey, userMessage('Hello'), from(address));
  await response.text();
  return response.status;
}

it.each(ENDPOINTS)('is refused elsewhere by %s, and charged nothing', async (endpoint) => {
  const { id: key_id, apiKey } = await newKey();
  const send = (address: string) =>
    POSTS[endpoint](gateway, apiKey, bodyFor(PATHS[endpoint], userMessage('Hi')), from(address));
  for (const address of OUTSIDE) {
    const response = await send(address);
    const { error } = (await response.json()) as { readonly error: Record<string, unknown> };
    expect([address, response.status, error['type']]).toEqual([address, 403, 'permission_error']);
    const shown = { '::ffff:192.0.3.1': '192.0.3.1', nonsense: 'an unknown address' }[address];
    expect(error['message']).toContain(`may not be used from ${shown ?? address}`);
    if (endpoint !== 'messages') expect(error['code']).toBe('network_not_allowed');
    expect(response.headers.get('x-should-retry')).toBe('false');
  }
  expect(await gateway.call('showKey', { key_id })).toMatchObject({
    allowed_networks: NETWORKS,
    balance_usd: '100',
    spent_usd: '0',
  });
  for (const address of INSIDE) {
    const response = await send(address);
    await response.text();
    expect([address, response.status]).toEqual([address, 200]);
  }
});

it('holds for all that is done with the key, its links and its sessions', async () => {
  const { id: key_id, apiKey } = await newKey({ scope: 'manage' });
  const { link } = await gateway.call('createLink', { key_id });
  const ask = (credential: string, path: string, address: string, more: object = {}) =>
    fetch(`${gateway.url}${path}`, {
      headers: { authorization: `Bearer ${credential}`, ...from(address), ...more },
    });
  const begun = await fetch(`${gateway.url}/v1/dashboard/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, ...from('192.0.2.1') },
  });
  const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  expect([begun.status, cookie]).toEqual([200, expect.stringContaining('=')]);
  for (const [address, status] of [
    ['192.0.2.1', 200],
    ['198.51.100.1', 403],
  ] as const) {
    for (const path of ['balance', 'account', 'usage', 'keys'].map(
      (name) => `/v1/dashboard/${name}`,
    )) {
      const page = `${path}, from ${address}`;
      for (const credential of [apiKey, link]) {
        const response = await ask(credential, path, address);
        expect([page, response.status]).toEqual([page, status]);
      }
      const bySession = await fetch(`${gateway.url}${path}`, {
        headers: { cookie, 'x-gateway-session': 'any', ...from(address) },
      });
      expect([page, bySession.status]).toEqual([page, status]);
    }
    expect((await ask(apiKey, '/v1/models', address)).status).toBe(status);
  }
});

it('uses up no limit of the key when it is refused', async () => {
  const { apiKey } = await newKey({ concurrency: 1, burst: 3, requests_per_minute: 1 });
  expect(await askMessages(apiKey, '192.0.2.1')).toBe(200);
  for (let n = 0; n < 9; n += 1) expect(await askMessages(apiKey, '192.0.3.1')).toBe(403);
  expect(await askMessages(apiKey, '192.0.2.1')).toBe(200);
});

it('an operator changes the networks, and removes them', async () => {
  const { id: key_id, apiKey } = await gateway.createKey();
  expect(await askMessages(apiKey, '203.0.113.9')).toBe(200);
  await gateway.call('updateKey', { key_id, allowed_networks: ['203.0.113.8', '2001:db8::1'] });
  const { allowed_networks } = await gateway.call('showKey', { key_id });
  expect(allowed_networks).toEqual(['203.0.113.8/32', '2001:db8::1/128']);
  expect(await askMessages(apiKey, '203.0.113.9')).toBe(403);
  expect(await askMessages(apiKey, '203.0.113.8')).toBe(200);
  await gateway.call('updateKey', { key_id, allowed_networks: null });
  expect(await askMessages(apiKey, '203.0.113.9')).toBe(200);
  const { data } = await gateway.call('listTrail', { key_id });
  expect(data.map(({ details }) => details['allowed_networks'])).toContainEqual({
    before: ['203.0.113.8/32', '2001:db8::1/128'],
    after: null,
  });
});

const NO_NETWORK = 'must be a network such as 192.0.2.0/24 or 2001:db8::/32, or an address';
const WRONG: readonly (readonly [text: string, rule: string])[] = [
  ['office', NO_NETWORK],
  ['10.1', NO_NETWORK],
  ['010.0.0.1', NO_NETWORK],
  ['0x7f000001', NO_NETWORK],
  ['10.0.0.0/33', NO_NETWORK],
  ['10.0.0.0/', NO_NETWORK],
  ['10.0.0.0/8/8', NO_NETWORK],
  ['fe80::1%eth0', NO_NETWORK],
  ['2001:db8::/129', NO_NETWORK],
  ['::ffff:10.0.0.0/104', NO_NETWORK],
  ['10.1.2.3/8', 'must begin with the first address of its network, as 10.0.0.0/8 does'],
  ['2001:db8::1/64', 'must begin with the first address of its network, as 2001:db8::/64 does'],
];

it.each(WRONG)('%s is no network: the error names the element', async (text, rule) => {
  const allowed_networks = ['192.0.2.0/24', text];
  await expect(gateway.createKey({ allowed_networks })).rejects.toThrow(
    `allowed_networks.1: ${rule}`,
  );
  const { id: key_id } = await gateway.createKey();
  await expect(gateway.call('updateKey', { key_id, allowed_networks })).rejects.toThrow(
    `allowed_networks.1: ${rule}`,
  );
});

it('a list of networks has 1 to 100', async () => {
  const many = Array.from({ length: 101 }, (_, n) => `10.0.${String(n)}.0/24`);
  for (const allowed_networks of [[], many]) {
    await expect(gateway.createKey({ allowed_networks })).rejects.toThrow(/^allowed_networks: /);
  }
  const { id: key_id } = await gateway.createKey({ allowed_networks: many.slice(1) });
  expect((await gateway.call('showKey', { key_id })).allowed_networks).toHaveLength(100);
});

it('a key that manages others gives them its own networks, or narrower ones', async () => {
  const { apiKey } = await newKey({ scope: 'manage' });
  const create = async (more: object) => {
    const response = await fetch(`${gateway.url}/v1/dashboard/keys`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        ...from('192.0.2.1'),
      },
      body: JSON.stringify({ name: 'own', ...more }),
    });
    return {
      status: response.status,
      json: (await response.json()) as {
        readonly allowed_networks?: unknown;
        readonly error?: { readonly message: string };
      },
    };
  };
  expect((await create({})).json.allowed_networks).toEqual(NETWORKS);
  expect((await create({ allowed_networks: null })).json.allowed_networks).toEqual(NETWORKS);
  const narrower = ['192.0.2.128/25'];
  expect((await create({ allowed_networks: narrower })).json.allowed_networks).toEqual(narrower);
  const wider = await create({ allowed_networks: ['192.0.2.0/24', '192.0.0.0/16'] });
  expect([wider.status, wider.json.error?.message]).toEqual([
    400,
    'allowed_networks: this key may not be used from 192.0.0.0/16 itself',
  ]);
});
