/** Read-only links: the data that they show, the actions that they refuse, and when they end. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createReadLinks } from '../../src/ledger/read-links.js';
import {
  postChat,
  postMessages,
  postResponses,
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

interface Body {
  readonly [member: string]: unknown;
  readonly error?: { readonly message: string; readonly code: string | null };
}

async function ask(credential: string, path: string, init: RequestInit = {}) {
  const response = await fetch(`${gateway.url}/v1/${path}`, {
    ...init,
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

const post = (body: unknown = {}): RequestInit => ({ method: 'POST', body: JSON.stringify(body) });
const bodyOf = ({ body }: { readonly body: string }): Body => JSON.parse(body) as Body;

async function linkOf(apiKey: string, input: object = {}): Promise<string> {
  const made = await ask(apiKey, 'dashboard/links', post(input));
  expect([made.status, made.body]).toEqual([200, expect.any(String)]);
  return String(bodyOf(made)['link']);
}

const READS = ['balance', 'usage', 'usage/summary', 'usage?kind=all&format=csv'];

describe('a read-only link', () => {
  it('reads what its key can read', async () => {
    await untilSteady('hour');
    const { apiKey } = await gateway.createKey();
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    const link = await linkOf(apiKey);
    for (const path of [...READS, 'statement?month=2026-11']) {
      const [byKey, byLink] = [
        await ask(apiKey, `dashboard/${path}`),
        await ask(link, `dashboard/${path}`),
      ];
      expect([path, byLink.status, byLink.body]).toEqual([path, 200, byKey.body]);
      expect(byLink.headers.get('cache-control')).toBe('no-store');
    }
    expect(bodyOf(await ask(link, 'dashboard/balance'))).not.toMatchObject({ balance_usd: 100 });
  });

  it('is returned with its key, its expiry and the page that it opens', async () => {
    const { id, apiKey } = await gateway.createKey();
    const before = Date.now();
    const made = bodyOf(await ask(apiKey, 'dashboard/links', post({ expires_in_seconds: 3_600 })));
    expect(made).toEqual({
      object: 'link',
      key_id: id,
      link: expect.stringMatching(/^gl_/),
      path: `/dashboard/#link=${String(made['link'])}`,
      expires_at: expect.any(String),
    });
    const lasts = Date.parse(String(made['expires_at'])) - before;
    expect(lasts).toBeGreaterThan(3_598_000);
    expect(lasts).toBeLessThan(3_660_000);
    expect(JSON.stringify(made)).not.toContain(apiKey.slice(3, 20));
  });

  it('cannot spend, change or create anything', async () => {
    const { id, apiKey } = await gateway.createKey({ scope: 'manage' });
    const link = await linkOf(apiKey);
    const before = gateway.simulator.journal.requests().length;
    for (const send of [postMessages, postChat, postResponses]) {
      const refused = await send(gateway, link, userMessage('Hello'));
      expect(refused.status).toBe(401);
      expect(((await refused.json()) as Body).error?.message).toMatch(/^a link only reads/);
    }
    const byHeader = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': link, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(userMessage('Hello')),
    });
    expect(byHeader.status).toBe(401);
    expect(gateway.simulator.journal.requests().length).toBe(before);
    for (const [path, init] of [
      ['models', {}],
      ['dashboard/links', post()],
      ['dashboard/keys', post({ name: 'more' })],
      [`dashboard/keys/${id}`, { ...post({ name: 'other' }), method: 'PATCH' }],
      ...['rotate', 'suspend', 'resume', 'revoke'].map(
        (act) => [`dashboard/keys/${id}/${act}`, post()] as const,
      ),
    ] as const) {
      expect([path, (await ask(link, path, init)).status]).toEqual([path, 401]);
    }
    const admin = await fetch(`${gateway.adminUrl}/admin/keys`, {
      headers: { authorization: `Bearer ${link}` },
    });
    expect(admin.status).toBe(401);
    // The link shows the keys of the account, because the key itself may see them.
    expect((await ask(link, 'dashboard/keys')).status).toBe(200);
    expect(await gateway.call('showKey', { key_id: id })).toMatchObject({
      spent_usd: '0',
      state: 'active',
      name: 'test',
    });
  });

  it('for another key needs the right to manage it', async () => {
    const account = await gateway.call('createAccount', { name: 'team', balance_usd: '1' });
    const newKey = async (scope: 'use' | 'manage') => {
      const key = await gateway.call('createKey', { name: scope, account_id: account.id, scope });
      return { id: key.id, apiKey: key.api_key ?? '' };
    };
    const [manager, member] = [await newKey('manage'), await newKey('use')];
    const stranger = await gateway.createKey();
    const link = await linkOf(manager.apiKey, { key_id: member.id });
    // The link has the rights of that key, which may not list the keys of the account.
    expect((await ask(link, 'dashboard/balance')).status).toBe(200);
    expect((await ask(link, 'dashboard/keys')).status).toBe(403);
    for (const [apiKey, key_id, status] of [
      [member.apiKey, manager.id, 403],
      [manager.apiKey, stranger.id, 404],
      [manager.apiKey, 'key_nobody', 404],
      [manager.apiKey, 'nobody', 400],
    ] as const) {
      const refused = await ask(apiKey, 'dashboard/links', post({ key_id }));
      expect([key_id, refused.status]).toEqual([key_id, status]);
      expect(bodyOf(refused).error?.message).toMatch(/^key_id: /);
    }
  });

  it('can be made by an operator', async () => {
    const { id } = await gateway.createKey();
    const { link, key_id } = await gateway.call('createLink', { key_id: id });
    expect(key_id).toBe(id);
    expect((await ask(link, 'dashboard/balance')).status).toBe(200);
    await gateway.call('revokeKey', { key_id: id });
    await expect(gateway.call('createLink', { key_id: id })).rejects.toThrow(/^key_id: /);
  });

  it('ends when its key is rotated or revoked, and shows a suspended key as suspended', async () => {
    const { id, apiKey } = await gateway.createKey();
    const link = await linkOf(apiKey);
    await gateway.call('suspendKey', { key_id: id });
    expect(bodyOf(await ask(link, 'dashboard/balance'))).toMatchObject({ is_active: false });
    const stopped = await ask(apiKey, 'dashboard/links', post());
    expect([stopped.status, bodyOf(stopped).error?.message]).toEqual([
      403,
      'links: this key is suspended',
    ]);
    await gateway.call('resumeKey', { key_id: id });
    const rotated = await gateway.call('rotateKey', { key_id: id, grace_seconds: 3_600 });
    const ended = await ask(link, 'dashboard/balance');
    expect([ended.status, bodyOf(ended).error?.code]).toEqual([401, 'link_ended']);
    const next = await linkOf(rotated.api_key ?? '');
    expect((await ask(next, 'dashboard/balance')).status).toBe(200);
    await gateway.call('revokeKey', { key_id: id });
    expect((await ask(next, 'dashboard/balance')).status).toBe(401);
  });

  it('with an expiry that cannot be used is refused, naming the field', async () => {
    const { apiKey } = await gateway.createKey();
    for (const expires_in_seconds of [0, 59, 366 * 86_400 + 1, 1.5, 'soon', null]) {
      const refused = await ask(apiKey, 'dashboard/links', post({ expires_in_seconds }));
      expect(refused.status).toBe(400);
      expect(bodyOf(refused).error?.message).toMatch(/^expires_in_seconds: /);
    }
    expect((await ask(apiKey, 'dashboard/links', { method: 'POST', body: '{' })).status).toBe(400);
    expect((await ask(apiKey, 'dashboard/links', post({ scope: 'manage' }))).status).toBe(400);
  });

  it('that was forged or changed is unknown', async () => {
    const { apiKey } = await gateway.createKey();
    const link = await linkOf(apiKey);
    const [id = '', seconds = '', mark = '', signature = ''] = link.split('.');
    const other = await linkOf((await gateway.createKey()).apiKey);
    for (const forged of [
      'gl_',
      'gl_...',
      link.slice(0, -1),
      `${link}A`,
      link.toLowerCase(),
      `${id}.${String(Number(seconds) + 1)}.${mark}.${signature}`,
      `${other.split('.')[0] ?? ''}.${seconds}.${mark}.${signature}`,
      `${id}.${seconds}.${mark}.${other.split('.')[3] ?? ''}`,
    ]) {
      const refused = await ask(forged, 'dashboard/balance');
      expect([forged, refused.status]).toEqual([forged, 401]);
      expect(bodyOf(refused).error?.message).toMatch(/^invalid API key/);
    }
  });
});

describe('the signature of a link', () => {
  const start = Date.UTC(2026, 10, 22);

  it('is valid on every replica that accepts its pepper, until it expires', async () => {
    const { id } = await gateway.createKey();
    const key = await gateway.running.store.getKey(id);
    if (key === undefined) throw new Error('the key was just created');
    const [one, other, stranger] = ['pepper-1', 'pepper-1', 'pepper-2'].map((pepper) =>
      createReadLinks({ pepper, previousPepper: undefined }),
    );
    const text = one?.create(key, new Date(start + 60_000)) ?? '';
    const link = other?.read(text);
    if (link === undefined || other === undefined) throw new Error('the link cannot be read');
    expect(link).toMatchObject({ keyId: id, expiresAt: new Date(start + 60_000) });
    expect(other.isGood(link, key, start + 59_999)).toBe(true);
    expect(other.isGood(link, key, start + 60_000)).toBe(false);
    expect(stranger?.read(text)).toBe(undefined);
    expect(other.isGood(link, { ...key, hint: 'gw_AAAA…AAAA' }, start)).toBe(false);
    const later = createReadLinks({ pepper: 'pepper-2', previousPepper: 'pepper-1' });
    expect(later.read(text)).toEqual(link);
    expect(later.isGood(link, key, start)).toBe(true);
    expect(later.isGood(link, { ...key, hint: 'gw_AAAA…AAAA' }, start)).toBe(false);
    expect(stranger?.read(later.create(key, new Date(start)))).toMatchObject({ keyId: id });
  });
});
