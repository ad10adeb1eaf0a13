import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { postMessages, startTestGateway, userMessage } from './support/gateway.js';
import type { TestGateway } from './support/gateway.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { ADMIN_TOKEN } });
});
afterAll(() => gateway.stop());

function admin(
  method: string,
  path: string,
  options: { readonly token?: string; readonly body?: unknown } = {},
): Promise<Response> {
  const { token = ADMIN_TOKEN, body } = options;
  return fetch(gateway.adminUrl + path, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

describe('the admin API', () => {
  it('opens to its token only: not to none, another, or an API key', async () => {
    const { apiKey } = await gateway.createKey();
    for (const token of ['', 'wrong', `${ADMIN_TOKEN}x`, apiKey]) {
      for (const [method, path] of [
        ['GET', '/admin/keys'],
        ['POST', '/admin/keys'],
        ['GET', '/admin/ledger'],
        ['GET', '/admin/ledger/audit'],
        ['POST', '/admin/keys/key_1/top-ups'],
        ['GET', '/admin/%6beys'],
        ['GET', '/admin//keys'],
        ['GET', '/ADMIN/keys'],
      ] as const) {
        const response = await admin(method, path, { token });
        expect([401, 404]).toContain(response.status);
        expect(await response.text()).not.toContain('"data"');
      }
    }
    const listed = await admin('GET', '/admin/keys');
    expect(listed.status).toBe(200);
  });

  it('does not open API endpoints, and its token is no API key', async () => {
    expect((await admin('POST', '/v1/messages', { body: {} })).status).toBe(404);
    expect((await postMessages(gateway, ADMIN_TOKEN, userMessage('Hello'))).status).toBe(401);
    const path = await fetch(`${gateway.url}/admin/keys`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(path.status).toBe(404);
  });

  it('creates, lists, changes and funds keys, and never shows a credential twice', async () => {
    const created = await (
      await admin('POST', '/admin/keys', {
        body: {
          name: 'bob',
          balance_usd: '2.5',
          concurrency: 7,
          expires_at: '2099-01-01T00:00:00Z',
        },
      })
    ).json();
    expect(created).toMatchObject({
      name: 'bob',
      balance_usd: '2.5',
      is_active: true,
      limits: { concurrency: 7 },
      expires_at: '2099-01-01T00:00:00.000Z',
    });
    const path = `/admin/keys/${String(created.id)}`;
    const changed = await admin('PATCH', path, {
      body: { name: 'robert', burst: 3, expires_at: null },
    });
    expect(await changed.json()).toMatchObject({
      name: 'robert',
      limits: { concurrency: 7, burst: 3 },
      expires_at: null,
    });
    const shown = await (await admin('GET', path)).text();
    const listed = await (await admin('GET', '/admin/keys')).text();
    expect(shown + listed).not.toContain(created.api_key);
    const ledger = await (await admin('GET', `/admin/ledger?key_id=${String(created.id)}`)).json();
    expect(ledger.data).toMatchObject([{ kind: 'top_up', seq: '1', amount_usd: '2.5' }]);
  });

  it.each([
    ['POST', '/admin/keys', {}, 400, 'name'],
    ['POST', '/admin/keys', { name: 'a', balance_usd: 5 }, 400, 'balance_usd'],
    ['POST', '/admin/keys', { name: 'a', balance_usd: '-1' }, 400, 'balance_usd'],
    ['POST', '/admin/keys', { name: 'a', balance_usd: '0.000000000000001' }, 400, 'balance_usd'],
    ['POST', '/admin/keys', { name: 'a', colour: 'red' }, 400, 'colour'],
    ['POST', '/admin/keys', { name: 'a', expires_at: 'soon' }, 400, 'expires_at'],
    ['POST', '/admin/keys', '{"name":', 400, 'body'],
    ['GET', '/admin/keys/key_nobody', undefined, 404, 'key_id'],
    ['GET', '/admin/keys/nonsense', undefined, 400, 'key_id'],
    ['POST', '/admin/keys/key_nobody/suspend', {}, 404, 'key_id'],
    ['POST', '/admin/keys/key_nobody/top-ups', { top_up_id: 'a', amount_usd: '1' }, 404, 'key_id'],
    [
      'POST',
      '/admin/keys/key_nobody/top-ups',
      { top_up_id: 'a b', amount_usd: '1' },
      400,
      'top_up_id',
    ],
    [
      'POST',
      '/admin/keys/key_nobody/top-ups',
      { top_up_id: 'a', amount_usd: '0' },
      400,
      'amount_usd',
    ],
    ['GET', '/admin/keys?limit=0', undefined, 400, 'limit'],
    ['GET', '/admin/ledger?cursor=nonsense', undefined, 400, 'cursor'],
  ])('%s %s with %j is %i and names %s', async (method, path, body, status, field) => {
    const response = await admin(method, path, { body });
    const { error } = await response.json();
    expect(response.status).toBe(status);
    expect(error.message).toContain(field);
  });

  it('serves metrics and health without a token', async () => {
    const metrics = await admin('GET', '/metrics', { token: '' });
    expect(metrics.headers.get('content-type')).toContain('text/plain');
    expect(await metrics.text()).toContain('gateway_requests_total');
    expect((await admin('GET', '/readyz', { token: '' })).status).toBe(200);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${gateway.url}/metrics`)).status).toBe(404);
  });
});
