/** The console's session: an admin token, exchanged for a cookie. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdminToken } from '../../src/config/admin-tokens.js';
import {
  IDLE_MS,
  LIFETIME_MS,
  endOf,
  readSession,
  writeSession,
} from '../../src/operator/console/session.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const READER = 'token-of-the-reader-0123456789';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    env: { ADMIN_TOKEN, ADMIN_TOKENS: `grafana:read:${READER}` },
  });
});
afterAll(() => gateway.stop());

/** Sends a request. Callers give the headers that a browser would set by itself. */
function ask(
  path: string,
  init: RequestInit & { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  return fetch(gateway.adminUrl + path, {
    ...init,
    headers: {
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...init.headers,
    },
  });
}

const SAME = { 'sec-fetch-site': 'same-origin' };

function logIn(token: string, headers: Readonly<Record<string, string>> = SAME) {
  return ask('/console/session', { method: 'POST', body: JSON.stringify({ token }), headers });
}

function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
}

const messageOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { readonly error: { readonly message: string } }).error.message;

/** Log-ins are limited, so most tests share these. */
let adminCookie: string;
let readerCookie: string;
beforeAll(async () => {
  adminCookie = cookieOf(await logIn(ADMIN_TOKEN));
  readerCookie = cookieOf(await logIn(READER));
});

describe('a log-in', () => {
  it('names the operator and sets a cookie that no script can read', async () => {
    const response = await logIn(ADMIN_TOKEN);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const session = await response.json();
    expect(session).toMatchObject({
      object: 'console_session',
      name: 'admin',
      right: 'all',
      may: ['read', 'credit', 'change'],
      simulated: false,
    });
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^console=[\w.-]+; Path=\/; Max-Age=1800; HttpOnly; SameSite=Strict$/);
    expect(cookie + JSON.stringify(session)).not.toContain(ADMIN_TOKEN);
  });

  it('takes the token as a Bearer credential too', async () => {
    const response = await ask('/console/session', {
      method: 'POST',
      headers: { authorization: `Bearer ${READER}` },
    });
    expect(await response.json()).toMatchObject({ name: 'grafana', right: 'read', may: ['read'] });
  });

  it('over TLS sets a cookie that only this host receives', async () => {
    const headers = { origin: 'https://console.example.com', host: 'console.example.com' };
    const response = await logIn(ADMIN_TOKEN, { ...SAME, ...headers });
    expect(response.headers.getSetCookie()[0]).toMatch(
      /^__Host-console=[\w.-]+; Path=\/; Max-Age=1800; HttpOnly; SameSite=Strict; Secure$/,
    );
  });

  it('is refused without TLS, except on the machine itself', async () => {
    const response = await logIn(ADMIN_TOKEN, { ...SAME, origin: 'http://10.0.0.7:8081' });
    expect(response.status).toBe(400);
    expect(await messageOf(response)).toMatch(/^origin: the console needs https/);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it('from a page of another origin is refused', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.test' },
      { origin: 'null' },
    ]) {
      const response = await logIn(ADMIN_TOKEN, headers);
      expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
    }
  });

  it('with a wrong token sets no cookie', async () => {
    const response = await logIn(`${ADMIN_TOKEN}x`);
    expect([response.status, response.headers.getSetCookie()]).toEqual([401, []]);
    expect(await messageOf(response)).toMatch(/^token: /);
  });
});

describe('a session', () => {
  it('gives the rights of its token, and no others', async () => {
    const session = await ask('/console/session', { headers: { cookie: readerCookie } });
    expect(await session.json()).toMatchObject({ name: 'grafana', may: ['read'] });
    expect((await ask('/admin/keys', { headers: { cookie: readerCookie } })).status).toBe(200);
    const create = (cookie: string) =>
      ask('/admin/keys', {
        method: 'POST',
        body: JSON.stringify({ name: 'made in the console' }),
        headers: { cookie, ...SAME },
      });
    expect((await create(readerCookie)).status).toBe(403);
    expect((await create(adminCookie)).status).toBe(200);
    const trail = await gateway.call('listTrail', { limit: 1 });
    expect(trail.data[0]).toMatchObject({ actor: 'admin', action: 'account.create' });
  });

  it('changes nothing for a page of another origin', async () => {
    const before = (await gateway.call('listKeys', {})).data.length;
    for (const headers of [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.test' },
      // A form, which needs no script and no permission.
      { origin: 'null', 'content-type': 'text/plain' },
    ]) {
      const response = await ask('/admin/keys', {
        method: 'POST',
        body: JSON.stringify({ name: 'forged' }),
        headers: { cookie: adminCookie, ...(headers as Record<string, string>) },
      });
      expect(response.status).toBe(403);
      expect(await messageOf(response)).toMatch(/^origin: /);
    }
    expect((await gateway.call('listKeys', {})).data.length).toBe(before);
    // An older browser, which does not send Sec-Fetch-Site.
    const { host } = new URL(gateway.adminUrl);
    const response = await ask('/admin/keys', {
      method: 'POST',
      body: JSON.stringify({ name: 'not forged' }),
      headers: { cookie: adminCookie, origin: `http://${host}` },
    });
    expect(response.status).toBe(200);
  });

  it('is removed from the browser by a log-out, but not by one from a page of another origin', async () => {
    const init = { method: 'DELETE', headers: { cookie: adminCookie, ...SAME } };
    const response = await ask('/console/session', init);
    expect(response.status).toBe(204);
    expect(response.headers.getSetCookie()).toEqual([
      '__Host-console=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure',
      'console=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
    ]);
    const forged = await ask('/console/session', {
      method: 'DELETE',
      headers: { cookie: adminCookie, 'sec-fetch-site': 'cross-site' },
    });
    expect([forged.status, forged.headers.getSetCookie()]).toEqual([403, []]);
  });

  it.each(['__Host-console', 'console'])('keeps its name when it is renewed: %s', async (name) => {
    const token: AdminToken = { name: 'admin', right: 'all', token: ADMIN_TOKEN };
    const seenAt = Date.now() - 120_000;
    const cookie = `${name}=${writeSession({ token, startedAt: seenAt, seenAt })}`;
    // A GET has no Origin, and a proxy may have changed its Host to this address.
    const response = await ask('/console/session', { headers: { cookie } });
    expect(response.status).toBe(200);
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(new RegExp(`^${name}=[\\w.-]+; Path=/; `)),
    ]);
  });

  it('that is missing or was changed is refused', async () => {
    const [name = '', started = '', seen = '', signature = ''] = adminCookie.split('.');
    const later = String(Number(seen) + 1);
    for (const cookie of [
      '',
      'console=',
      `${name}.${started}.${later}.${signature}`,
      `${name}x.${started}.${seen}.${signature}`,
      // The signature of another token.
      `${name}.${started}.${seen}.${readerCookie.split('.')[3] ?? ''}`,
      `other=1; ${adminCookie}x`,
    ]) {
      for (const path of ['/console/session', '/admin/keys']) {
        expect((await ask(path, { headers: { cookie } })).status).toBe(401);
      }
    }
    // If there is a token in the header, the cookie is ignored.
    const headers = { cookie: adminCookie, authorization: 'Bearer wrong-token-of-the-tests' };
    expect((await ask('/admin/keys', { headers })).status).toBe(401);
    expect((await ask('/metrics', { headers: { cookie: adminCookie } })).status).toBe(200);
  });
});

describe('the value of a session', () => {
  const token: AdminToken = { name: 'Änne', right: 'all', token: 'the-token-of-anne-1' };
  const start = Date.UTC(2026, 10, 22);
  const value = writeSession({ token, startedAt: start, seenAt: start });

  it('is valid on every replica until the token is changed or removed', () => {
    const other: AdminToken = { name: 'shop', right: 'credit', token: 'the-token-of-the-shop' };
    expect(readSession(value, [other, { ...token }], start)?.token).toEqual(token);
    expect(readSession(value, [other], start)).toBe(undefined);
    expect(readSession(value, [{ ...token, token: 'the-token-of-anne-2' }], start)).toBe(undefined);
    expect(readSession(value, [{ ...token, name: 'Anna' }], start)).toBe(undefined);
    // The current rights count, not those at the time of the log-in.
    const reader: AdminToken = { ...token, right: 'read' };
    expect(readSession(value, [reader], start)?.token.right).toBe('read');
    const rotating = [{ ...token, token: 'the-token-of-anne-2' }, token];
    expect(readSession(value, rotating, start)?.token).toBe(token);
  });

  it('expires after half an hour without a request, and after twelve hours in any case', () => {
    expect(readSession(value, [token], start + IDLE_MS - 1)).toBeDefined();
    expect(readSession(value, [token], start + IDLE_MS)).toBe(undefined);
    const seenAt = start + LIFETIME_MS - 1_000;
    const old = writeSession({ token, startedAt: start, seenAt });
    expect(readSession(old, [token], start + LIFETIME_MS - 1)).toBeDefined();
    expect(readSession(old, [token], start + LIFETIME_MS)).toBe(undefined);
    expect(endOf({ token, startedAt: start, seenAt })).toBe(start + LIFETIME_MS);
  });

  it('is refused if any part of it was changed', () => {
    for (const text of ['', '.', '...', value.slice(0, -1), `${value}A`, value.toUpperCase()]) {
      expect(readSession(text, [token], start)).toBe(undefined);
    }
  });
});

// This is the last test, because it uses up the remaining guesses.
describe('log-ins', () => {
  // F397
  it('with a wrong token are limited for each address; the right one always logs in', async () => {
    let refused: Response | undefined;
    for (let attempt = 0; attempt < 11 && refused?.status !== 429; attempt += 1) {
      refused = await logIn(`guess-${String(attempt)}-of-the-token`);
    }
    expect(refused?.status).toBe(429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    const right = await logIn(ADMIN_TOKEN);
    expect([right.status, right.headers.getSetCookie().length]).toEqual([200, 1]);
    // Existing sessions stay logged in.
    expect((await ask('/admin/keys', { headers: { cookie: adminCookie } })).status).toBe(200);
  });
});
