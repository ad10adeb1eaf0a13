/** The record of requests as customers, operators and the command line read it. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MODEL, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

let gateway: TestGateway;
/** Two keys of one account; the first may see both. */
let manager: { readonly id: string; readonly apiKey: string };
let member: { readonly id: string; readonly apiKey: string };
let stranger: { readonly id: string; readonly apiKey: string };
let charged: Response;
let messageId: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  manager = await gateway.createKey({ scope: 'manage' });
  const { account_id } = await gateway.call('showKey', { key_id: manager.id });
  member = await gateway.createKey({ account_id, balance_usd: undefined });
  stranger = await gateway.createKey();
  charged = await postMessages(gateway, member.apiKey, userMessage('Hello'), {
    'x-session-id': 'session-of-member',
  });
  ({ id: messageId } = (await charged.json()) as { id: string });
  gateway.simulator.script({ error: { type: 'authentication_error', message: 'no' } });
  await (await postMessages(gateway, manager.apiKey, userMessage('Hello'))).text();
  await (await postMessages(gateway, stranger.apiKey, userMessage('Hello'))).text();
  await until(async () => (await gateway.call('listRequests', {})).data.length === 3);
});
afterAll(() => gateway.stop());

async function read(apiKey: string, query: string) {
  const url = `${gateway.url}/v1/dashboard/requests${query}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    text,
    data: isJson ? ((JSON.parse(text) as { data?: Record<string, unknown>[] }).data ?? []) : [],
  };
}

it('shows a key its own requests, and those of its account only to one that may see them', async () => {
  expect((await read(member.apiKey, '')).data.map(({ key_id }) => key_id)).toEqual([member.id]);
  expect((await read(manager.apiKey, '')).data.map(({ key_id }) => key_id)).toEqual([manager.id]);
  const all = await read(manager.apiKey, '?of=account');
  expect(all.data.map(({ key_id }) => key_id)).toEqual([manager.id, member.id]);
  expect((await read(member.apiKey, '?of=account')).status).toBe(403);
  expect((await read(member.apiKey, '/summary?of=account')).status).toBe(403);
  const ofMember = `?key_id=${member.id}`;
  for (const [reader, path, status] of [
    [member, ofMember, 200],
    [manager, ofMember, 200],
    [manager, `/summary${ofMember}`, 200],
    [member, `?key_id=${manager.id}`, 403],
    [member, `/summary?key_id=${manager.id}`, 403],
  ] as const) {
    expect((await read(reader.apiKey, path)).status).toBe(status);
  }
  const some = await read(manager.apiKey, ofMember);
  expect(some.data.map(({ key_id }) => key_id)).toEqual([member.id]);
  expect((await read(manager.apiKey, `?key_id=${stranger.id}`)).data).toEqual([]);
  const id = charged.headers.get('x-gateway-request-id') ?? '';
  for (const any of [id, messageId, 'session-of-member']) {
    expect((await read(stranger.apiKey, `?id=${any}`)).data).toEqual([]);
    expect((await read(manager.apiKey, `?id=${any}`)).data).toEqual([]);
  }
});

it('tells customers what they were told, and operators also what the upstream said', async () => {
  const [shown] = (await read(manager.apiKey, '')).data;
  expect(shown).toMatchObject({ status: 502, error_type: 'api_error', charged_usd: null });
  expect(shown).not.toHaveProperty('fault');
  expect(shown).not.toHaveProperty('upstream_status');
  const { data } = await gateway.call('listRequests', { outcome: 'failed' });
  expect(data).toMatchObject([
    { id: shown?.['id'], fault: 'upstream 401: authentication_error', upstream_status: 401 },
  ]);
});

it('finds a request by any of its ids', async () => {
  const id = charged.headers.get('x-gateway-request-id') ?? '';
  const upstreamId = charged.headers.get('request-id') ?? '';
  for (const any of [id, upstreamId, messageId, `chatcmpl-${messageId}`, 'session-of-member']) {
    expect((await read(member.apiKey, `?id=${any}`)).data).toMatchObject([{ id }]);
    expect((await gateway.call('listRequests', { id: any })).data).toMatchObject([{ id }]);
  }
});

it('shows the charge of another key only to one that may see the account', async () => {
  const id = charged.headers.get('x-gateway-request-id') ?? '';
  const statusOf = async (apiKey: string, path: string) => {
    const url = `${gateway.url}/v1/dashboard/usage/${path}`;
    return (await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } })).status;
  };
  for (const any of [id, messageId]) {
    expect(await statusOf(manager.apiKey, any)).toBe(404);
    expect(await statusOf(manager.apiKey, `${any}?of=account`)).toBe(200);
    expect(await statusOf(member.apiKey, `${any}?of=account`)).toBe(403);
    expect(await statusOf(stranger.apiKey, `${any}?of=account`)).toBe(404);
  }
});

it('filters, pages, writes CSV and refuses what it does not know', async () => {
  const of = async (query: string) =>
    (await read(manager.apiKey, `?of=account&${query}`)).data.map(({ status }) => status);
  expect(await of('status=5xx')).toEqual([502]);
  expect(await of('outcome=ok')).toEqual([200]);
  expect(await of('error=api_error')).toEqual([502]);
  expect(await of(`model=${MODEL}&endpoint=messages`)).toEqual([502, 200]);
  expect(await of('session=session-of-member')).toEqual([200]);
  expect(await of('until=2026-01-01T00:00:00Z')).toEqual([]);
  const first = await gateway.call('listRequests', { limit: 2 });
  const second = await gateway.call('listRequests', { limit: 2, cursor: first.next_cursor ?? '' });
  expect([...first.data, ...second.data].map(({ key_id }) => key_id)).toEqual([
    stranger.id,
    manager.id,
    member.id,
  ]);
  expect(second.has_more).toBe(false);
  const csv = await read(member.apiKey, '?format=csv');
  expect(csv.text.split('\r\n')).toHaveLength(3);
  expect(csv.text).toContain(member.id);
  for (const query of ['?cursor=x', '?status=3xx', '?by=model', '/summary?by=account']) {
    expect((await read(member.apiKey, query)).status).toBe(400);
  }
  await expect(gateway.call('listRequests', { cursor: 'x' })).rejects.toMatchObject({
    status: 400,
  });
});

it('sums requests by what operators and customers group by', async () => {
  const sums = await gateway.call('sumRequests', { by: 'key,status', every: 'day' });
  expect(
    sums.data
      .map(({ key_id, status, requests, failed }) => [key_id, status, requests, failed])
      .sort(),
  ).toEqual(
    [
      [manager.id, 502, 1, 1],
      [member.id, 200, 1, 0],
      [stranger.id, 200, 1, 0],
    ].sort(),
  );
  const own = await read(member.apiKey, '/summary?by=model&every=5m');
  expect(own.data).toMatchObject([{ model: MODEL, requests: 1, failed: 0 }]);
});
