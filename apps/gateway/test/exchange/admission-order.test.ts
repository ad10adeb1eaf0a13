/**
 * A key is admitted or refused before the body is read. The tests check what the client gets, and
 * what happens to its connection and its lease.
 */

import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { bodyFor, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { connectTo, disconnectAll, headOf, requestOf } from '../support/raw-client.js';
import type { RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});
afterEach(disconnectAll);

const BODY = JSON.stringify(userMessage('Hello'));
const LENGTH = `Content-Length: ${String(BODY.length)}`;
const EXPECT = 'Expect: 100-continue';
const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n$/;
const ANSWER = /\r\n\r\n\{.*\}$/;

/** Starts a request of an admitted key, and sends nothing of its body. */
async function startUpload(apiKey: string) {
  const client = connectTo(gateway);
  client.send(headOf({ apiKey, headers: [LENGTH, EXPECT] }));
  await client.receive(CONTINUE);
  return client;
}

const key = async (input: Parameters<TestGateway['createKey']>[0] = {}): Promise<string> =>
  (await gateway.createKey(input)).apiKey;

const charges = async () =>
  (await gateway.call('listLedger', { kind: 'charge', limit: 1000 })).data;

type RefusedKey = [what: string, status: number, text: RegExp, makeKey: () => Promise<string>];

/** Keys that may not make a request now, and the refusals that they get. */
const INACTIVE: RefusedKey[] = [
  [
    'unknown',
    401,
    /^invalid API key: /,
    async () => (await key()).replace(/.$/, (last) => (last === '0' ? '1' : '0')),
  ],
  [
    'revoked',
    401,
    /^invalid API key: /,
    async () => {
      const { id, apiKey } = await gateway.createKey();
      await gateway.call('revokeKey', { key_id: id });
      return apiKey;
    },
  ],
  [
    'suspended',
    401,
    /^this API key or its account is suspended$/,
    async () => {
      const { id, apiKey } = await gateway.createKey();
      await gateway.call('suspendKey', { key_id: id });
      return apiKey;
    },
  ],
  [
    'never funded',
    401,
    /^this key's balance is used up \(0 USD\): add credit to go on$/,
    async () => (await gateway.call('createKey', { name: 'empty' })).api_key ?? '',
  ],
  [
    'spent',
    401,
    // The balance of 10^-14 USD less 2 tokens at 3 USD and 3 at 15 USD per million.
    /^this key's balance is used up \(-0\.00005099999999 USD\): add credit to go on$/,
    async () => {
      const apiKey = await key({ balance_usd: '0.00000000000001' });
      gateway.simulator.script({ usage: { input_tokens: 2, output_tokens: 3 } });
      expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
      return apiKey;
    },
  ],
  [
    'expired',
    401,
    /^this API key expired on 2020-01-01T00:00:00\.000Z$/,
    () => key({ expires_at: '2020-01-01T00:00:00Z' }),
  ],
];
const OVER_ITS_LIMITS: RefusedKey[] = [
  [
    'over its rate',
    429,
    /^this key exceeds its limit of 1 requests at once and 1 per minute; wait \d+ seconds /,
    async () => {
      const apiKey = await key({ burst: 1, requests_per_minute: 1 });
      expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
      return apiKey;
    },
  ],
  [
    'over its concurrency',
    429,
    /^this key already has 1 requests in flight, its limit; wait \d+ seconds? /,
    async () => {
      const apiKey = await key({ concurrency: 1 });
      await startUpload(apiKey);
      return apiKey;
    },
  ],
];

/** 4 KB that decompress to 4 MiB. An admitted key would get a 413. */
const BOMB = gzipSync(' '.repeat(4 * 1024 * 1024));
const REQUESTS: [what: string, headers: string[], body: Uint8Array | undefined][] = [
  ['whose body never comes', [LENGTH], undefined],
  ['that waits for 100 Continue', [LENGTH, EXPECT], undefined],
  ['whose body is chunked and never comes', ['Transfer-Encoding: chunked'], undefined],
  ['with a gzip bomb', ['Content-Encoding: gzip', `Content-Length: ${String(BOMB.length)}`], BOMB],
];

describe.each([
  ['/v1/messages', [...INACTIVE, ...OVER_ITS_LIMITS]],
  ['/v1/chat/completions', [...INACTIVE, ...OVER_ITS_LIMITS]],
  ['/v1/responses', [...INACTIVE, ...OVER_ITS_LIMITS]],
  // Without OVER_ITS_LIMITS, because counting tokens has other limits: see limits.test.ts.
  ['/v1/messages/count_tokens', INACTIVE],
  ['/v1/responses/input_tokens', INACTIVE],
] as const)('%s answers a key that is', (path, refusedKeys) => {
  // F70: body of a key that may not make requests: 401 or 429 before any of it is read; nothing
  // charged.
  // F78: key that is exhausted, suspended or expired: the refusal says why, with `x-should-retry:
  // false`.
  it.each(refusedKeys)(
    '%s with %i before it reads any of the body, and charges nothing',
    async (_what, status, text, makeKey) => {
      const apiKey = await makeKey();
      const served = gateway.simulator.journal.requests().length;
      const charged = await charges();
      for (const [what, headers, body] of REQUESTS) {
        const client = connectTo(gateway);
        client.send(headOf({ apiKey, path, headers }));
        if (body !== undefined) client.send(body);
        const answer = await client.receive(ANSWER);
        expect([what, answer.slice(0, 13)]).toEqual([what, `HTTP/1.1 ${String(status)} `]);
        const { error } = JSON.parse(answer.split('\r\n\r\n')[1]!);
        expect(error.type).toBe(status === 401 ? 'authentication_error' : 'rate_limit_error');
        expect(error.message).toMatch(text);
        // The rest of the body must not be read as the next request.
        if (body === undefined) expect(answer).toMatch(/^connection: close\r$/im);
      }
      expect(gateway.simulator.journal.requests()).toHaveLength(served);
      expect(await charges()).toEqual(charged);
    },
  );
});

/**
 * Reads nothing until everything is sent. If the gateway reset the connection meanwhile, the client
 * would lose the response that had already arrived, and the test would fail.
 */
async function sendBlindly(client: RawClient, bytes: string): Promise<void> {
  client.socket.pause();
  await new Promise((resolve) => client.socket.write(bytes, resolve));
  client.socket.resume();
}

it('a client whose key is refused gets the refusal although it keeps sending, and its connection is closed', async () => {
  const client = connectTo(gateway);
  const length = 8 * 2 ** 20;
  const head = headOf({ apiKey: 'gw_nobody', headers: [`Content-Length: ${String(length)}`] });
  await sendBlindly(client, head + 'x'.repeat(length));
  client.send(requestOf(await key(), userMessage('Hello')));
  const received = await client.untilEnded();
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
  expect(gateway.simulator.journal.requests()).toEqual([]);
});

it('a client whose key is refused keeps its connection if the body came with the head', async () => {
  const client = connectTo(gateway);
  client.send(requestOf('gw_nobody', userMessage('Hello')));
  expect(await client.receive(ANSWER)).not.toMatch(/^connection: close\r$/im);
  client.send(requestOf(await key(), userMessage('Hello')));
  const received = await client.receive(/HTTP\/1\.1 401 [^]*HTTP\/1\.1 200 [^]*\}$/);
  expect(received.match(/HTTP\/1\.1 \d+/g)).toHaveLength(2);
});

describe('a client that expects 100 Continue', () => {
  // F70
  it('gets it once, when its key is admitted, and then the response', async () => {
    const client = await startUpload(await key());
    client.send(BODY);
    const answer = await client.receive(ANSWER);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
  });

  it('gets the response also if it sends the body without waiting', async () => {
    const client = connectTo(gateway);
    client.send(headOf({ apiKey: await key(), headers: [LENGTH, EXPECT] }) + BODY);
    expect(await client.receive(ANSWER)).toMatch(/^HTTP\/1\.1 200 OK\r$/m);
  });

  it('gets the refusal also if it sends a large body without waiting', async () => {
    const client = connectTo(gateway);
    const length = 8 * 2 ** 20;
    const headers = [`Content-Length: ${String(length)}`, EXPECT];
    await sendBlindly(client, headOf({ apiKey: 'gw_nobody', headers }) + 'x'.repeat(length));
    expect(await client.untilEnded()).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('gets it also if it sends the Expect header twice', async () => {
    const client = connectTo(gateway);
    client.send(headOf({ apiKey: await key(), headers: [LENGTH, EXPECT, EXPECT] }));
    await client.receive(CONTINUE);
  });

  it('does not get it with HTTP/1.0, which has no such status', async () => {
    const client = connectTo(gateway);
    const head = headOf({ apiKey: await key(), headers: [LENGTH, EXPECT] });
    client.send(head.replace('HTTP/1.1', 'HTTP/1.0') + BODY);
    expect(await client.untilEnded()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it.each([
    ['a path that does not exist', 'POST', '/v1/nothing', 404],
    ['a method that the endpoint does not take', 'PUT', '/v1/messages', 405],
  ])('does not get it for %s', async (_what, method, path, status) => {
    const client = connectTo(gateway);
    client.send(headOf({ apiKey: await key(), method, path, headers: [LENGTH, EXPECT] }));
    expect(await client.receive(ANSWER)).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
  });
});

describe('the lease of a key', () => {
  // F70
  it('is held while a body is uploaded, and released when the uploader disconnects', async () => {
    const apiKey = await key({ concurrency: 1 });
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const client = await startUpload(apiKey);
      client.send(BODY.slice(0, 10));
      const second = await postMessages(gateway, apiKey, userMessage('Hello'));
      expect(second.status).toBe(429);
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      client.socket[leave]();
      await until(
        async () => (await postMessages(gateway, apiKey, userMessage('Hello'))).status === 200,
      );
    }
    // None of the three incomplete bodies was sent upstream.
    expect(gateway.simulator.journal.requests()).toHaveLength(3);
  });

  it('is released with the answer, so that the next request on the same connection is served', async () => {
    const apiKey = await key({ concurrency: 1 });
    const client = await startUpload(apiKey);
    client.send(BODY);
    await client.receive(ANSWER);
    client.send(requestOf(apiKey, userMessage('Hello')));
    await client.receive(/(HTTP\/1\.1 200 OK[^]*){2}\}$/);
  });
});

it('a request with a refused body takes a permit of its key', async () => {
  const apiKey = await key({ burst: 3, requests_per_minute: 1 });
  for (const bad of ['', '{', '{"model":5}']) {
    expect((await postMessages(gateway, apiKey, bad)).status).toBe(400);
  }
  expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(429);
});

describe('a key that is suspended during an upload of more than a second', () => {
  // F70
  it.each([
    '/v1/messages',
    '/v1/messages/count_tokens',
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/responses/input_tokens',
  ])('is refused when the body sent to %s is complete, and nothing is charged', async (path) => {
    const { appParts } = gateway.running;
    const { now } = appParts;
    const { id, apiKey } = await gateway.createKey();
    const body = JSON.stringify(bodyFor(path, userMessage('Hello')));
    const client = connectTo(gateway);
    client.send(
      headOf({ apiKey, path, headers: [`Content-Length: ${String(body.length)}`, EXPECT] }),
    );
    await client.receive(CONTINUE);
    await gateway.call('suspendKey', { key_id: id });
    Object.assign(appParts, { now: () => now() + 1_001 });
    client.send(body);
    const answer = await client.receive(ANSWER);
    Object.assign(appParts, { now });
    expect(answer).toMatch(/^HTTP\/1\.1 401 /m);
    expect(answer).toContain('this API key or its account is suspended');
    expect(gateway.simulator.journal.requests()).toEqual([]);
    expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe('0');
  });
});
