/** Links that sign in to the console once: what makes them, who may use them, and when they end. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdminToken } from '../../src/config/admin-tokens.js';
import { LINK_LIFETIME_MS, createConsoleLinks } from '../../src/operator/console/console-links.js';
import type { ConsoleLink } from '../../src/operator/console/console-links.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const codeOf = (link: string): string => /#link=([\w-]{43})$/.exec(link)?.[1] ?? '';

describe('a link', () => {
  const token: AdminToken = { name: 'anne', right: 'all', token: 'the-token-of-anne-1' };
  let now = Date.UTC(2026, 10, 27);
  const links = createConsoleLinks(() => now);
  const use = ({ path }: ConsoleLink, tokens = [token]) =>
    links.redeem(codeOf(path), tokens).outcome;

  it('works once, and a second use is told from a wrong code', () => {
    const link = links.make(token);
    expect(links.redeem(codeOf(link.path), [token])).toEqual({ outcome: 'redeemed', token });
    expect(use(link)).toBe('used');
    expect(links.redeem(`${codeOf(link.path)}x`, [token]).outcome).toBe('unknown');
    expect(links.redeem('', [token]).outcome).toBe('unknown');
  });

  it('expires, used or not', () => {
    const [used, unused, late] = [links.make(token), links.make(token), links.make(token)];
    expect(use(used)).toBe('redeemed');
    now = late.expiresAt - 1;
    expect([use(used), use(late)]).toEqual(['used', 'redeemed']);
    now += 1;
    expect([use(used), use(unused), use(late)]).toEqual(['unknown', 'unknown', 'unknown']);
    expect(links.make(token).expiresAt).toBe(now + LINK_LIFETIME_MS);
  });

  it('ends when its token is changed or removed, and has the rights that the token has then', () => {
    const reader: AdminToken = { ...token, right: 'read' };
    expect(links.redeem(codeOf(links.make(token).path), [reader])).toMatchObject({ token: reader });
    expect(use(links.make(token), [])).toBe('unknown');
    expect(use(links.make(token), [{ ...token, token: 'the-token-of-anne-2' }])).toBe('unknown');
    expect(use(links.make(token), [{ ...token, name: 'anna' }])).toBe('unknown');
  });

  it('is known to the process that made it only', () => {
    const { path } = links.make(token);
    expect(createConsoleLinks(() => now).redeem(codeOf(path), [token]).outcome).toBe('unknown');
  });

  it('ends early if a hundred newer ones wait', () => {
    const [first, second] = [links.make(token), links.make(token)];
    for (let i = 0; i < 99; i += 1) links.make(token);
    expect([use(first), use(second)]).toEqual(['unknown', 'redeemed']);
  });
});

describe('the admin port', () => {
  const ADMIN_TOKEN = 'admin-token-of-the-tests';
  const READER = 'token-of-the-reader-0123456789';
  const SAME = { 'sec-fetch-site': 'same-origin' };
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: { ADMIN_TOKEN, ADMIN_TOKENS: `grafana:read:${READER}` },
    });
  });
  afterAll(() => gateway.stop());

  async function post(path: string, body: object, headers: Readonly<Record<string, string>>) {
    const response = await fetch(gateway.adminUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return {
      status: response.status,
      cookie: response.headers.getSetCookie()[0]?.split(';', 1)[0],
      answer: (await response.json()) as Record<string, unknown> & {
        readonly error?: { readonly message: string };
      },
    };
  }
  const make = (headers: Readonly<Record<string, string>>) =>
    post('/admin/console-links', {}, headers);
  const use = (code: string, headers: Readonly<Record<string, string>> = SAME) =>
    post('/console/link', { code }, headers);

  async function newCode(token = ADMIN_TOKEN): Promise<string> {
    const { status, answer } = await make({ authorization: `Bearer ${token}` });
    expect(status).toBe(200);
    return codeOf(String(answer['path']));
  }

  it('lets one of several uses at once in, with the rights of the token that made the link', async () => {
    const code = await newCode(READER);
    const uses = await Promise.all([use(code), use(code), use(code)]);
    expect(uses.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    const won = uses.find(({ status }) => status === 200);
    expect(won?.answer).toMatchObject({ name: 'grafana', may: ['read'] });
    const session = await fetch(`${gateway.adminUrl}/console/session`, {
      headers: { cookie: won?.cookie ?? '' },
    });
    expect(await session.json()).toMatchObject({ name: 'grafana' });
    const lost = uses.filter(({ status }) => status === 401);
    expect(lost.map(({ cookie }) => cookie)).toEqual([undefined, undefined]);
    expect(lost[0]?.answer.error?.message).toMatch(/used before/);
  });

  it('makes none without a right token, and none for a session, which ends after twelve hours', async () => {
    expect((await make({})).status).toBe(401);
    expect((await make({ authorization: 'Bearer wrong-token-of-the-tests' })).status).toBe(401);
    const { cookie = '' } = await use(await newCode());
    expect(cookie).toMatch(/^console=/);
    const refused = await make({ cookie, ...SAME });
    expect([refused.status, refused.answer['path']]).toEqual([401, undefined]);
  });

  it('takes a link at a loopback address only, and leaves it usable when it refuses', async () => {
    const code = await newCode();
    for (const headers of [
      { origin: 'https://gateway.example.com', ...SAME },
      { origin: 'http://gateway.example.com', ...SAME },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const { status, cookie } = await use(code, headers);
      expect([status >= 400, cookie]).toEqual([true, undefined]);
    }
    expect((await use(code)).status).toBe(200);
    const unknown = await use('a'.repeat(43));
    expect([unknown.status, unknown.answer.error?.message]).toEqual([
      401,
      expect.stringContaining('expired'),
    ]);
  });

  it('is asked by `farthing console-link`, which prints a link that works, and says why there is none', async () => {
    const ADMIN_URL = gateway.adminUrl;
    const { code, out } = await gatewayCommand(['console-link'], { ADMIN_URL, ADMIN_TOKEN });
    expect(code).toBe(0);
    const [link = '', ...help] = out.split('\n');
    expect(new URL(link).host).toBe(`127.0.0.1:${new URL(ADMIN_URL).port}`);
    expect(help.join('\n')).toContain(`ssh -N -L ${new URL(ADMIN_URL).port}:`);
    expect((await use(codeOf(link))).status).toBe(200);
    const wrong = { ADMIN_URL, ADMIN_TOKEN: 'wrong-token-of-the-tests' };
    expect(await gatewayCommand(['console-link'], wrong)).toMatchObject({ code: 1, out: '' });
    const away = { ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN };
    const failed = await gatewayCommand(['console-link'], away);
    expect([failed.code, failed.err]).toEqual([3, expect.stringContaining('ECONNREFUSED')]);
  });

  // This is the last test, because it uses up the remaining guesses.
  // F397
  it('limits guesses as it limits log-ins, and never a right code', async () => {
    const statuses = [];
    for (let i = 0; i < 11; i += 1) statuses.push((await use(`guess-${String(i)}`)).status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect((await use(await newCode())).status).toBe(200);
  });
});
