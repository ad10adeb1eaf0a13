/** The session of the customer's page: a key or a read-only link, exchanged for a cookie. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LIFETIME_MS } from '../../src/customer/session.js';
import { ENDPOINTS } from '../../src/openapi/endpoints.js';
import { startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

type Headers = Readonly<Record<string, string>>;

const SESSION = '/v1/dashboard/session';
const ACCOUNT = '/v1/dashboard/account';
/** What a browser and the page send with each request. */
const PAGE = { 'sec-fetch-site': 'same-origin', 'x-gateway-session': 'any' };

function ask(method: string, path: string, headers: Headers, body?: object): Promise<Response> {
  return fetch(gateway.url + path, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const signIn = (credential: string, headers: Headers = PAGE) =>
  ask('POST', SESSION, { ...headers, authorization: `Bearer ${credential}` });

function cookieOf(response: Response): string {
  expect(response.status).toBe(200);
  return response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
}

async function keyWithSession(input: Parameters<TestGateway['createKey']>[0] = {}) {
  const key = await gateway.createKey(input);
  return { ...key, cookie: cookieOf(await signIn(key.apiKey)) };
}

async function errorOf(response: Response) {
  const { error } = (await response.json()) as {
    readonly error: { readonly message: string; readonly code: string | null };
  };
  return [response.status, error.message.split(':', 1)[0], error.code];
}

describe('signing in', () => {
  it('sets a cookie that no script can read, which does not contain the key', async () => {
    const { id, apiKey } = await gateway.createKey();
    for (const [origin, form] of [
      [gateway.url, /^dashboard=gs_[\w.-]+; Path=\/; HttpOnly; SameSite=Strict$/],
      ['https://gateway.example', /^__Host-dashboard=gs_.*; HttpOnly; SameSite=Strict; Secure$/],
    ] as const) {
      const response = await signIn(apiKey, { ...PAGE, origin });
      expect(response.headers.getSetCookie()).toEqual([expect.stringMatching(form)]);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(String(response.headers.getSetCookie())).not.toContain(apiKey.slice(3, 20));
      const view = { object: 'page_session', key_id: id, reads_only: false };
      expect(await response.json()).toEqual(view);
      const cookie = cookieOf(response);
      expect(await (await ask('GET', SESSION, { ...PAGE, cookie })).json()).toEqual(view);
    }
  });

  it('needs a credential, so that no session can start the next one', async () => {
    const { cookie } = await keyWithSession();
    expect(await errorOf(await ask('POST', SESSION, { ...PAGE, cookie }))).toEqual([
      401,
      'authorization',
      'invalid_api_key',
    ]);
    expect((await ask('POST', SESSION, PAGE)).status).toBe(401);
    expect((await signIn('gw_unknown')).status).toBe(401);
  });

  it('with a read-only link gives a session that only reads', async () => {
    const { id, apiKey } = await gateway.createKey({ scope: 'manage' });
    const { link } = await gateway.call('createLink', { key_id: id });
    const response = await signIn(link);
    const cookie = cookieOf(response);
    expect(await response.json()).toMatchObject({ key_id: id, reads_only: true });
    const headers = { ...PAGE, cookie };
    expect(await (await ask('GET', ACCOUNT, headers)).text()).toBe(
      await (await ask('GET', ACCOUNT, { authorization: `Bearer ${apiKey}` })).text(),
    );
    for (const [path, body] of [
      ['/v1/dashboard/links', {}],
      ['/v1/dashboard/keys', { name: 'more' }],
    ] as const) {
      expect((await ask('POST', path, headers, body)).status).toBe(401);
    }
    expect((await ask('DELETE', SESSION, headers)).status).toBe(200);
  });
});

describe('a session', () => {
  it('has the rights of its key', async () => {
    const manager = await keyWithSession({ scope: 'manage' });
    const user = await keyWithSession();
    const newKey = { name: 'more' };
    for (const [{ id, cookie }, status] of [
      [manager, 200],
      [user, 403],
    ] as const) {
      const headers = { ...PAGE, 'x-gateway-session': id, cookie };
      expect((await ask('GET', ACCOUNT, headers)).status).toBe(200);
      expect((await ask('POST', '/v1/dashboard/keys', headers, newKey)).status).toBe(status);
    }
  });

  // F266: another site, or a page at another port of the same host, makes a browser send the cookie
  // of the customer's page: 403, nothing is read or changed.
  it('is taken from pages of this gateway only', async () => {
    const { cookie, apiKey } = await keyWithSession();
    const { 'x-gateway-session': shown } = PAGE;
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ] as readonly Headers[]) {
      const foreign = { ...headers, 'x-gateway-session': shown, cookie };
      for (const [method, path] of [
        ['GET', ACCOUNT],
        ['POST', '/v1/dashboard/links'],
        ['DELETE', SESSION],
      ] as const) {
        expect([headers, await errorOf(await ask(method, path, foreign))]).toEqual([
          headers,
          [403, 'origin', null],
        ]);
      }
      expect((await signIn(apiKey, headers)).status).toBe(403);
    }
    // A change always has a header that names its origin; a GET over plain HTTP has none.
    const unknown = { 'x-gateway-session': shown, cookie };
    expect((await ask('POST', '/v1/dashboard/links', unknown, {})).status).toBe(403);
    expect((await ask('GET', ACCOUNT, unknown)).status).toBe(200);
    expect((await ask('GET', ACCOUNT, { ...unknown, origin: gateway.url })).status).toBe(200);
    // A form or an image of any page can send a cookie, but not this header.
    const bare = await ask('GET', ACCOUNT, { 'sec-fetch-site': 'same-origin', cookie });
    expect(await errorOf(bare)).toEqual([403, 'x-gateway-session', null]);
  });

  // F267: two tabs of one browser, two keys: the tab that shows the first key neither reads nor
  // changes anything with the session of the second.
  it('is refused if the page shows another key', async () => {
    const [first, second] = [await keyWithSession({ scope: 'manage' }), await keyWithSession()];
    const headers = { ...PAGE, 'x-gateway-session': first.id, cookie: second.cookie };
    for (const method of ['GET', 'DELETE']) {
      expect(await errorOf(await ask(method, SESSION, headers))).toEqual([
        401,
        'x-gateway-session',
        'session_ended',
      ]);
    }
    const own = { ...PAGE, 'x-gateway-session': second.id, cookie: second.cookie };
    expect(await (await ask('GET', SESSION, own)).json()).toMatchObject({ key_id: second.id });
  });

  // F268: the key of a session is rotated, also with a grace period, or revoked, or a day passes:
  // the session ends. A replaced credential starts none: it would get the rights of the new one.
  it('ends with its credential, and after a day', async () => {
    const { id, apiKey, cookie } = await keyWithSession();
    const read = async (session: string) => ask('GET', ACCOUNT, { ...PAGE, cookie: session });
    const ended = [401, 'session', 'session_ended'];
    const { store, now } = gateway.running.appParts;
    const key = await store.getKey(id);
    if (key === undefined) throw new Error('the key was just created');
    const { pageSessions } = gateway.running.appParts;
    const expired = pageSessions.create(key, new Date(now() - 1_000));
    expect(await errorOf(await read(`dashboard=${expired}`))).toEqual(ended);
    const lasts = pageSessions.read(cookie.replace('dashboard=', ''))?.expiresAt.getTime() ?? 0;
    expect(LIFETIME_MS).toBe(86_400_000);
    expect(Math.abs(lasts - now() - LIFETIME_MS)).toBeLessThan(60_000);
    await gateway.call('suspendKey', { key_id: id });
    expect(await (await read(cookie)).json()).toMatchObject({ key: { is_active: false } });
    await gateway.call('resumeKey', { key_id: id });
    const rotated = await gateway.call('rotateKey', { key_id: id, grace_seconds: 3_600 });
    expect(await errorOf(await read(cookie))).toEqual(ended);
    expect(await errorOf(await signIn(apiKey))).toEqual([
      403,
      expect.any(String),
      'replaced_credential',
    ]);
    const next = cookieOf(await signIn(rotated.api_key ?? ''));
    expect((await read(next)).status).toBe(200);
    await gateway.call('revokeKey', { key_id: id });
    expect(await errorOf(await read(next))).toEqual(ended);
  });

  it('that was forged or changed is unknown, also a link in its form', async () => {
    const { id, cookie } = await keyWithSession();
    const { link } = await gateway.call('createLink', { key_id: id });
    const value = cookie.replace('dashboard=', '');
    for (const forged of ['', 'gs_...', `${value}A`, value.slice(0, -1), value.replace('gs', 'gl')])
      expect([
        forged,
        (await ask('GET', ACCOUNT, { ...PAGE, cookie: `dashboard=${forged}` })).status,
      ]).toEqual([forged, 401]);
    const swapped = { ...PAGE, cookie: `dashboard=${link.replace('gl_', 'gs_')}` };
    expect((await ask('GET', ACCOUNT, swapped)).status).toBe(401);
    expect((await ask('GET', ACCOUNT, { authorization: `Bearer ${value}` })).status).toBe(401);
  });

  // F269: the cookie on a request to a model, to the list of models or to a kept response: 401, as
  // without it, and nothing is sent upstream.
  it('is accepted below /v1/dashboard only', async () => {
    const { cookie } = await keyWithSession();
    const headers = { ...PAGE, cookie, 'anthropic-version': '2023-06-01' };
    const before = gateway.simulator.journal.requests().length;
    const others = ENDPOINTS.client.filter(({ credential }) => credential === 'x-api-key');
    expect(others.length).toBeGreaterThan(5);
    for (const { method, path } of others) {
      const body = method === 'post' ? userMessage('Hello') : undefined;
      const refused = await ask(method.toUpperCase(), path.replace(/:\w+/, 'x'), headers, body);
      expect([path, refused.status]).toEqual([path, 401]);
    }
    expect(gateway.simulator.journal.requests().length).toBe(before);
    for (const { credential, path } of ENDPOINTS.client) {
      if (credential === 'bearer' || credential === 'link') {
        expect(path).toMatch(/^\/v1\/dashboard\//);
      }
    }
  });

  it('is removed by signing out', async () => {
    const { cookie } = await keyWithSession();
    const response = await ask('DELETE', SESSION, { ...PAGE, cookie });
    expect(await response.json()).toEqual({ object: 'page_session', deleted: true });
    expect(response.headers.getSetCookie()).toEqual([
      '__Host-dashboard=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure',
      'dashboard=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
    ]);
  });

  it('is not used beside a credential', async () => {
    const [signedIn, other] = [await keyWithSession(), await gateway.createKey()];
    const headers = { ...PAGE, cookie: signedIn.cookie };
    const byKey = await ask('GET', SESSION, {
      ...headers,
      authorization: `Bearer ${other.apiKey}`,
    });
    expect(await byKey.json()).toMatchObject({ key_id: other.id });
    const inOtherHeader = await ask('GET', SESSION, { ...headers, 'x-api-key': other.apiKey });
    expect(inOtherHeader.status).toBe(401);
  });
});
