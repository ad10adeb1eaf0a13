import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WITNESS_BATCH } from '../../src/operator/operations/ledger.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { connectTo, disconnectAll, headOf } from '../support/raw-client.js';

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

let addresses = 0;

/**
 * Sends the path exactly as given. Other clients would normalize it first. Each request comes from
 * another address, because wrong tokens are limited for each.
 */
function sendRaw(call: {
  readonly root: string;
  readonly method?: string;
  readonly path: string;
  readonly authorization: string;
  readonly body?: string;
}): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, port } = new URL(call.root);
  addresses += 1;
  const localAddress = `127.0.${String((addresses >> 8) + 1)}.${String(addresses & 255)}`;
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        localAddress,
        method: call.method ?? 'POST',
        path: call.path,
        headers: {
          'content-type': 'application/json',
          ...(call.authorization === '' ? {} : { authorization: call.authorization }),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, text });
        });
      },
    );
    request.on('error', reject);
    request.end(call.body);
  });
}

describe('the admin API', () => {
  // F64: API key on admin routes, and the reverse: 401 or 404 by every path.
  it('answers only requests with its own token: not with another token, an API key, or none', async () => {
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
        const authorization = token === '' ? '' : `Bearer ${token}`;
        const call = { root: gateway.adminUrl, method, path, authorization };
        const { status, text } = await sendRaw(call);
        expect([401, 404]).toContain(status);
        expect(text).not.toContain('"data"');
      }
    }
    const listed = await admin('GET', '/admin/keys');
    expect(listed.status).toBe(200);
  });

  // F64
  it('refuses an API key however the path is written', async () => {
    const { id, apiKey } = await gateway.createKey();
    const before = await (await admin('GET', '/admin/keys')).text();
    const credit = JSON.stringify({ top_up_id: 'trick', amount_usd: '1000' });
    const opened: unknown[] = [];
    for (const path of [
      `/admin/keys/${id}/top-ups`,
      `/admin/keys/${id}/top-ups/`,
      `/admin/keys/${id}//top-ups`,
      `//admin/keys/${id}/top-ups`,
      `/admin//keys/${id}/top-ups`,
      `/Admin/Keys/${id}/Top-Ups`,
      `/%61dmin/keys/${id}/top-ups`,
      `/admin%2fkeys/${id}/top-ups`,
      `/admin;x/keys/${id}/top-ups`,
      `/./admin/keys/${id}/top-ups`,
      `/healthz/../admin/keys/${id}/top-ups`,
      `/healthz/%2e%2e/admin/keys/${id}/top-ups`,
      `/metrics/..%2fadmin/keys/${id}/top-ups`,
      `/admin/../admin/keys/${id}/top-ups`,
      `http://127.0.0.1/admin/keys/${id}/top-ups`,
      `/admin/keys/${id}/top-ups?token=${ADMIN_TOKEN}`,
      `/admin/keys/${id}/top-ups%00`,
      `/admin\\keys\\${id}\\top-ups`,
    ]) {
      for (const root of [gateway.adminUrl, gateway.url]) {
        for (const authorization of [`Bearer ${apiKey}`, '']) {
          const { status } = await sendRaw({ root, path, authorization, body: credit });
          if (![400, 401, 404].includes(status)) opened.push({ root, path, authorization, status });
        }
      }
    }
    expect(opened).toEqual([]);
    expect(await (await admin('GET', '/admin/keys')).text()).toBe(before);
  });

  // F64
  it('serves no client endpoint, and its token is not an API key', async () => {
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

  // F58, F59
  it.each([
    ['POST', '/admin/keys', {}, 400, 'name'],
    ['POST', '/admin/keys', { name: 'a', balance_usd: 5 }, 400, 'balance_usd'],
    ['POST', '/admin/keys', { name: 'a', balance_usd: '-1' }, 400, 'balance_usd'],
    ['POST', '/admin/keys', { name: 'a', balance_usd: '0.000000000000001' }, 400, 'balance_usd'],
    ['POST', '/admin/keys', { name: 'a', colour: 'red' }, 400, 'colour'],
    ['POST', '/admin/keys', { name: 'a', expires_at: 'soon' }, 400, 'expires_at'],
    ['POST', '/admin/keys', '{"name":', 400, 'body'],
    ['POST', '/admin/keys', '{"name":"a","__proto__":{"polluted":true}}', 400, '__proto__'],
    ['POST', '/admin/keys', { name: 'a\0b' }, 400, 'name'],
    ['POST', '/admin/keys', { name: 'a\r\nb' }, 400, 'name'],
    ['POST', '/admin/keys', { name: 'a', balance_usd: '1', actor: 'x' }, 400, 'actor'],
    ['POST', '/admin/keys', { name: 'a', expires_at: '0000-01-01T00:00:00Z' }, 400, 'expires_at'],
    [
      'POST',
      '/admin/keys',
      { name: 'a', expires_at: '9999-12-31T23:59:59-23:00' },
      400,
      'expires_at',
    ],
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
    ['GET', '/admin/ledger?model=%00', undefined, 400, 'model'],
    ['GET', '/admin/ledger?from=0000-01-01T00:00:00Z', undefined, 400, 'from'],
    [
      'POST',
      '/admin/ledger/witness',
      {
        usages: [
          {
            request_id: 'a\0',
            input_tokens: 1,
            output_tokens: 1,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 0,
          },
        ],
      },
      400,
      'request_id',
    ],
  ])(
    'refuses %s %s with body %j: status %i, naming %s',
    async (method, path, body, status, field) => {
      const response = await admin(method, path, { body });
      const { error } = await response.json();
      expect(response.status).toBe(status);
      expect(error.message).toContain(field);
    },
  );

  // F19: top-up sent 10 times; other amount: one entry, 9 × `replayed`; 409.
  it('credits a top-up once, however often it is sent, and refuses its id for anything else', async () => {
    const { id } = await gateway.createKey({ balance_usd: '1' });
    const other = await gateway.createKey({ balance_usd: '1' });
    const topUp = (keyId: string, amount_usd: string) =>
      admin('POST', `/admin/keys/${keyId}/top-ups`, {
        body: { top_up_id: 'invoice-1', amount_usd },
      });
    const sent = await Promise.all(Array.from({ length: 10 }, () => topUp(id, '2')));
    const answers = await Promise.all(sent.map((response) => response.json()));
    expect(answers.filter(({ replayed }) => replayed === false)).toHaveLength(1);
    expect(answers.filter(({ replayed }) => replayed === true)).toHaveLength(9);
    for (const { balance_usd } of answers) expect(balance_usd).toBe('3');
    expect((await topUp(id, '3')).status).toBe(409);
    expect((await topUp(other.id, '2')).status).toBe(409);
    const ledger = await (await admin('GET', `/admin/ledger?key_id=${id}`)).json();
    expect(ledger.data).toMatchObject([{ amount_usd: '2' }, { amount_usd: '1' }]);
    expect(ledger.data).toHaveLength(2);
    expect((await gateway.call('showKey', { key_id: other.id })).balance_usd).toBe('1');
  });

  it('refuses a body whose type is not JSON, and a path that cannot be decoded', async () => {
    const { id } = await gateway.createKey();
    const typed = await fetch(`${gateway.adminUrl}/admin/keys/${id}/rotate`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: '{"grace_seconds":3600}',
    });
    expect(typed.status).toBe(415);
    expect((await typed.json()).error.message).toMatch(/^content-type: /);
    const undecodable = await admin('GET', '/admin/keys/%E0%A4%A');
    expect(undecodable.status).toBe(400);
    expect((await undecodable.json()).error.message).toMatch(/^path: /);
  });

  it('takes a full batch of lost charges with all members', async () => {
    const { id } = await gateway.createKey({ balance_usd: '1' });
    const charges = Array.from({ length: WITNESS_BATCH }, (_, n) => ({
      request_id: `req_019ab3f2c4d5e6f7a8b9c0d1e2f3a4b5_${String(n)}`,
      key_id: id,
      model: 'claude-sonnet-4-6',
      input_tokens: 1,
      output_tokens: 1,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_creation_1h_input_tokens: 0,
      at: new Date().toISOString(),
      endpoint: 'messages',
      streamed: true,
      upstream_account: 'the-first-account-of-the-upstream',
      charge_usd: '0.000018',
      written_off_usd: '0',
    }));
    const booked = await admin('POST', '/admin/ledger/recharge', { body: { charges } });
    expect(await booked.json()).toMatchObject({ booked: WITNESS_BATCH, refused: [] });
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

describe('METRICS_TOKEN', () => {
  it('is required for the metrics, and for nothing else', async () => {
    const METRICS_TOKEN = 'metrics-token-of-the-tests';
    const closed = await startTestGateway({ env: { ADMIN_TOKEN, METRICS_TOKEN, HOST: '0.0.0.0' } });
    const { apiKey } = await closed.createKey();
    const read = (authorization: string | undefined, path = '/metrics'): Promise<Response> =>
      fetch(closed.adminUrl + path, {
        headers: authorization === undefined ? {} : { authorization },
      });
    for (const wrong of [
      undefined,
      METRICS_TOKEN,
      `Basic ${METRICS_TOKEN}`,
      `Bearer ${METRICS_TOKEN}x`,
      `Bearer ${ADMIN_TOKEN}`,
      `Bearer ${apiKey}`,
    ]) {
      for (const path of ['/metrics', '/metrics/', '/METRICS']) {
        const refused = await read(wrong, path);
        expect(refused.status).toBe(401);
        expect(refused.headers.get('x-should-retry')).toBe('false');
        expect(await refused.json()).toMatchObject({
          error: {
            type: 'authentication_error',
            message: expect.stringContaining('METRICS_TOKEN'),
          },
        });
      }
    }
    const metrics = await read(`Bearer ${METRICS_TOKEN}`);
    expect(metrics.status).toBe(200);
    expect(await metrics.text()).toContain('gateway_requests_total');
    expect((await read(undefined, '/healthz')).status).toBe(200);
    expect((await read(`Bearer ${METRICS_TOKEN}`, '/admin/keys')).status).toBe(401);
    // HOST has no effect here: the admin server listens on ADMIN_HOST.
    expect(new URL(closed.adminUrl).hostname).toBe('127.0.0.1');
    await closed.stop();
  });
});

it('an admin client that expects 100 Continue gets it only with the token', async () => {
  const body = JSON.stringify({ name: 'patient' });
  const headers = [`Content-Length: ${String(body.length)}`, 'Expect: 100-continue'];
  const head = (apiKey: string) => headOf({ apiKey, path: '/admin/keys', headers });
  const stranger = connectTo({ url: gateway.adminUrl });
  stranger.send(head('stranger'));
  expect(await stranger.receive(/\r\n\r\n\{.*\}$/)).toMatch(/^HTTP\/1\.1 401 /);
  const operator = connectTo({ url: gateway.adminUrl });
  operator.send(head(ADMIN_TOKEN));
  await operator.receive(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  operator.send(body);
  expect(await operator.receive(/\r\n\r\n\{.*\}$/)).toMatch(/^HTTP\/1\.1 200 OK\r$/m);
  disconnectAll();
});
