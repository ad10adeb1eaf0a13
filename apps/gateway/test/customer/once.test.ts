/** Changes of keys that are repeated after a lost answer, and what the trail says of links. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { ADMIN_TOKEN } });
});
afterAll(() => gateway.stop());

async function post(url: string, token: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: url.endsWith('/rotate') ? '{"grace_seconds":3600}' : '{}',
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const actionsOn = async (key_id: string) =>
  (await gateway.call('listTrail', { key_id })).data.map(({ action, actor }) => [action, actor]);

describe('a repeated change of a key', () => {
  // F130
  it('rotates the key once and keeps its grace period, for operators and for clients', async () => {
    const manager = await gateway.createKey({ scope: 'manage' });
    const { account_id } = await gateway.call('showKey', { key_id: manager.id });
    for (const [root, token] of [
      [`${gateway.adminUrl}/admin/keys`, ADMIN_TOKEN],
      [`${gateway.url}/v1/dashboard/keys`, manager.apiKey],
    ] as const) {
      const key = await gateway.call('createKey', { name: 'rotated', account_id });
      const url = `${root}/${key.id}/rotate`;
      const headers = { 'idempotency-key': 'rotation-1'.concat(root.length.toString()) };
      const first = await post(url, token, headers);
      const second = await post(url, token, headers);
      expect([first.status, second.status]).toEqual([200, 200]);
      expect(first.body).toMatchObject({ replayed: false, api_key: expect.any(String) });
      expect(second.body).toMatchObject({ replayed: true, api_key: null });
      expect(await gateway.call('findKey', { api_key: key.api_key ?? '' })).toMatchObject({
        id: key.id,
      });
      const rotations = (await actionsOn(key.id)).filter(([action]) => action === 'key.rotate');
      expect(rotations.length).toBe(1);
      const another = await gateway.call('createKey', { name: 'another', account_id });
      const conflicting = await post(`${root}/${another.id}/rotate`, token, headers);
      expect(conflicting.status).toBe(409);
      expect((await post(url, token, { 'idempotency-key': 'not one!' })).status).toBe(400);
    }
  });

  it('suspends the key once, with one row in the trail', async () => {
    const { id } = await gateway.createKey();
    await gateway.call('suspendKey', { key_id: id });
    await gateway.call('suspendKey', { key_id: id });
    const suspensions = (await actionsOn(id)).filter(([action]) => action === 'key.suspend');
    expect(suspensions.length).toBe(1);
  });
});

describe('a read-only link', () => {
  it('is in the trail, which names who made it', async () => {
    const { id, apiKey } = await gateway.createKey();
    await gateway.call('createLink', { key_id: id });
    expect((await post(`${gateway.url}/v1/dashboard/links`, apiKey)).status).toBe(200);
    const made = (await actionsOn(id)).filter(([action]) => action === 'key.link');
    expect(made).toEqual([
      ['key.link', id],
      ['key.link', 'admin'],
    ]);
  });
});
