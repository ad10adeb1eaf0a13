/** Tags: what clients name to sum by, in a header or in a member of `metadata`. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { tagOf } from '../../src/observe/requests/client-headers.js';
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
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;

let gateway: TestGateway;
beforeAll(async () => {
  // The only member that the provider admits, too.
  gateway = await startTestGateway({ env: { TAG_METADATA_MEMBER: 'user_id' } });
});
afterAll(() => gateway.stop());

type Headers = Readonly<Record<string, string>>;

async function send(
  endpoint: keyof typeof PATHS,
  apiKey: string,
  metadata: unknown,
  headers: Headers = {},
) {
  const body = bodyFor(PATHS[endpoint], userMessage('Hello', { metadata }));
  const response = await POSTS[endpoint](gateway, apiKey, body, headers);
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get('x-gateway-request-id') ?? '';
}

async function tagsOf(keyId: string, ids: readonly string[]) {
  let tags: Map<string, string | null> | undefined;
  await until(async () => {
    const { data } = await gateway.call('listRequests', { key_id: keyId });
    tags = new Map(data.map(({ id, tag }) => [id, tag]));
    return data.length === ids.length;
  });
  return ids.map((id) => tags?.get(id));
}

it.each(ENDPOINTS)('are read from %s, from metadata or from the header', async (endpoint) => {
  const { id: keyId, apiKey } = await gateway.createKey();
  const given: readonly (readonly [unknown, Headers, string | null])[] = [
    [{ user_id: 'Größe 7' }, {}, 'Größe 7'],
    [{ user_id: 'one' }, { 'x-gateway-tag': 'other' }, 'other'],
    [undefined, { 'x-gateway-tag': 'blue team' }, 'blue team'],
    [undefined, {}, null],
    [{ user_id: 'x'.repeat(65) }, {}, null],
    [{ user_id: 'two\nlines' }, {}, null],
    [{}, { 'x-gateway-tag': 'x'.repeat(65) }, null],
  ];
  const ids: string[] = [];
  for (const [metadata, headers] of given) {
    ids.push(await send(endpoint, apiKey, metadata, headers));
  }
  expect(await tagsOf(keyId, ids)).toEqual(given.map(([, , tag]) => tag));
});

it('go upstream in a native request as the client wrote them, and the header does not', async () => {
  const { apiKey } = await gateway.createKey();
  const text = JSON.stringify(userMessage('Hello', { metadata: { user_id: 'as written' } }));
  const spaced = text.replace('"metadata":{', '"metadata" :\t{ ');
  await (await postMessages(gateway, apiKey, spaced, { 'x-gateway-tag': 'ours' })).text();
  const sent = gateway.simulator.journal.requests().at(-1);
  expect(sent?.body?.toString()).toBe(spaced);
  expect(JSON.stringify(sent?.headers)).not.toContain('ours');
});

it('sum the charges of their requests, for operators and customers, and filter', async () => {
  const { id: keyId, apiKey } = await gateway.createKey();
  const charges: Record<string, number> = {};
  for (const [tag, count] of [
    ['red', 1],
    ['green', 2],
  ] as const) {
    for (let sent = 0; sent < count; sent += 1) {
      const id = await send('chat.completions', apiKey, { user_id: tag });
      const { amount_usd: amount } = await gateway.call('showEntry', { entry_id: id });
      charges[tag] = (charges[tag] ?? 0) - Number(amount);
    }
  }
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const from = new Date(today - DAY_MS).toISOString();
  const until_ = new Date(today + 2 * DAY_MS).toISOString();
  const groupsOf = async () => {
    const { groups } = await gateway.call('breakDown', {
      by: 'tag',
      from,
      until: until_,
      key_id: keyId,
    });
    return groups;
  };
  const groups = await groupsOf();
  expect(groups.map(({ value, total }) => [value, total.charges])).toEqual([
    ['green', 2],
    ['red', 1],
  ]);
  for (const { value, total } of groups) {
    expect(Number(total.charged_usd)).toBeCloseTo(charges[value ?? ''] ?? 0, 12);
  }
  // The ledger has the charges at once; requests are recorded a moment later.
  const tagged = async () => {
    const { data } = await gateway.call('listRequests', { key_id: keyId });
    return data.map(({ tag }) => tag);
  };
  await until(async () => (await tagged()).length === 3);
  const { data } = await gateway.call('listRequests', { key_id: keyId, tag: 'green' });
  expect(data.map(({ tag }) => tag)).toEqual(['green', 'green']);
  const read = async (path: string) => {
    const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return { status: response.status, text: await response.text() };
  };
  const own = await read(`breakdown?by=tag&from=${from}&until=${until_}`);
  expect(own.text).toContain('"value":"green"');
  const csv = await read('requests?tag=red&format=csv');
  expect(csv.text.trim().split('\r\n')).toHaveLength(2);
  expect(csv.text).toMatch(/,tag\b/);
});

it('have up to 64 printable characters', () => {
  const kept = ['a', 'blue team', 'x'.repeat(64), '東京', '=1+1', '😀'.repeat(64)];
  expect(kept.map(tagOf)).toEqual(kept);
  const others = ['', ' a', 'a ', 'x'.repeat(65), 'a\u0000', 'a\u202eb', 'a\u2028b', '\ud800', 7];
  expect(others.map(tagOf)).toEqual(others.map(() => undefined));
});
