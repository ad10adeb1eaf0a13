/**
 * The memory of bodies: a budget for the process, a share of it for each account, a part for small
 * bodies, and compressed bodies.
 */

import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { anthropicUpstream } from '../../src/upstream/anthropic.js';
import { createUpstreamClient } from '../../src/upstream/client.js';
import {
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
  postResponses,
  bodyFor,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';
import { connectTo, disconnectAll, headOf } from '../support/raw-client.js';
import type { RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';

const MEBIBYTE = 1024 * 1024;
/** In the smallest allowed budget, two bodies of one account and one of another account fit. */
const MAX_BODY_BYTES = 4 * MEBIBYTE;
const BODY_MEMORY_BYTES = 4 * MAX_BODY_BYTES;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    env: {
      MAX_BODY_BYTES: String(MAX_BODY_BYTES),
      BODY_MEMORY_BYTES: String(BODY_MEMORY_BYTES),
    },
  });
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});
afterEach(async () => {
  disconnectAll();
  await until(async () => (await reservedBytes()) === 0);
});

const reservedBytes = async (): Promise<number> =>
  (await readMetric(gateway, 'gateway_memory_reserved_bytes')) ?? NaN;

const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n$/;
const ANSWER = /\r\n\r\n\{.*\}$/;
const EXPECT = 'Expect: 100-continue';
const lengthOf = (bytes: number): string => `Content-Length: ${String(bytes)}`;

/**
 * Starts a request with a body of the largest size, and sends a quarter of the body: then memory
 * for all of it is reserved.
 */
async function startUpload(apiKey: string): Promise<RawClient> {
  const client = connectTo(gateway);
  const before = await reservedBytes();
  client.send(headOf({ apiKey, headers: [lengthOf(MAX_BODY_BYTES), EXPECT] }));
  await client.receive(CONTINUE);
  client.send('x'.repeat(MAX_BODY_BYTES / 4));
  await until(async () => (await reservedBytes()) === before + MAX_BODY_BYTES);
  return client;
}

async function startUploads(count: number): Promise<{ apiKey: string; clients: RawClient[] }> {
  const { apiKey } = await gateway.createKey();
  const clients: RawClient[] = [];
  while (clients.length < count) clients.push(await startUpload(apiKey));
  return { apiKey, clients };
}

describe('bodies in flight', () => {
  // F73: many unfinished bodies: 429 or 529 for bodies that do not fit; small requests are served.
  it("of one account reserve at most the account's share of memory, whatever key sends them: beyond it large bodies get 429 without 100 Continue, and other accounts are served", async () => {
    const { id, apiKey } = await gateway.createKey();
    const { account_id } = await gateway.call('showKey', { key_id: id });
    const second = await gateway.call('createKey', { name: 'second', account_id });
    const clients = [await startUpload(apiKey), await startUpload(second.api_key ?? '')];
    expect(await reservedBytes()).toBe(2 * MAX_BODY_BYTES);

    const large = userMessage('x'.repeat(100_000));
    for (const key of [apiKey, second.api_key ?? '']) {
      const waiting = connectTo(gateway);
      waiting.send(headOf({ apiKey: key, headers: [lengthOf(100_000), EXPECT] }));
      expect(await waiting.receive(ANSWER)).toMatch(/^HTTP\/1\.1 429 /);
      for (const post of [postMessages, postChat]) {
        const refused = await post(gateway, key, large);
        expect(refused.status).toBe(429);
        expect(refused.headers.get('retry-after')).toBe('1');
        expect(refused.headers.get('x-should-retry')).toBe(null);
        const { error } = await refused.json();
        expect(error.type).toBe('rate_limit_error');
        expect(error.message).toMatch(/^this account has too many bytes of requests and respons/);
      }
      // Small ones are served.
      expect((await postMessages(gateway, key, userMessage('Hello'))).status).toBe(200);
    }
    const { apiKey: other } = await gateway.createKey();
    expect((await postMessages(gateway, other, large)).status).toBe(200);

    clients[0]!.socket.destroy();
    await until(async () => (await reservedBytes()) === MAX_BODY_BYTES);
    expect((await postMessages(gateway, apiKey, large)).status).toBe(200);
  });

  // F169: many connections that declare large bodies and send nothing: nothing is reserved; large
  // and small requests of others are served.
  it('reserve nothing by declaring a length: small and large requests of all others are served', async () => {
    const { apiKey } = await gateway.createKey();
    for (let n = 0; n < 40; n += 1) {
      const silent = connectTo(gateway);
      silent.send(headOf({ apiKey, headers: [lengthOf(MAX_BODY_BYTES), EXPECT] }));
      await silent.receive(CONTINUE);
    }
    expect(await reservedBytes()).toBe(0);
    const { apiKey: other } = await gateway.createKey();
    for (const text of ['Hello', 'x'.repeat(MAX_BODY_BYTES / 2)]) {
      expect((await postMessages(gateway, other, userMessage(text))).status).toBe(200);
    }
  });

  // F170: half-sent bodies of many accounts: large ones are refused near the end of the memory;
  // small prompts of others are served.
  it('of many accounts, half sent, leave room for the small prompts of all others, compressed or not', async () => {
    const send = async (bytes: number) => {
      const { apiKey } = await gateway.createKey();
      for (let n = 0; n < 8; n += 1) {
        const client = connectTo(gateway);
        client.send(headOf({ apiKey, headers: [lengthOf(bytes)] }));
        client.send('x'.repeat(Math.ceil(bytes / 4)));
      }
    };
    for (let accounts = 0; accounts < 6; accounts += 1) await send(MAX_BODY_BYTES / (accounts + 1));
    for (let accounts = 0; accounts < 6; accounts += 1) await send(60_000);
    await until(async () => (await reservedBytes()) > BODY_MEMORY_BYTES / 2);
    const gzip = { 'content-encoding': 'gzip' };
    for (let accounts = 0; accounts < 5; accounts += 1) {
      const { apiKey } = await gateway.createKey();
      const prompt = userMessage('Hello '.repeat(1_000));
      expect((await postMessages(gateway, apiKey, prompt)).status).toBe(200);
      const compressed = gzipSync(JSON.stringify(prompt));
      expect((await postMessages(gateway, apiKey, compressed, gzip)).status).toBe(200);
    }
  });

  // F73
  it('of several accounts never reserve all of the memory: near its end, large bodies get 529 and small ones are served', async () => {
    const one = await startUploads(2);
    await startUploads(1);
    expect(await reservedBytes()).toBe(3 * MAX_BODY_BYTES);

    const { apiKey } = await gateway.createKey({ concurrency: 1 });
    const large = connectTo(gateway);
    large.send(headOf({ apiKey, headers: [lengthOf(MAX_BODY_BYTES), EXPECT] }));
    expect(await large.receive(ANSWER)).toMatch(/^HTTP\/1\.1 529 /);
    for (const post of [postMessages, postChat]) {
      const refused = await post(gateway, apiKey, userMessage('x'.repeat(MAX_BODY_BYTES - 1_000)));
      expect(refused.status).toBe(529);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('x-should-retry')).toBe(null);
      expect((await refused.json()).error.type).toBe('overloaded_error');
    }
    expect(gateway.simulator.journal.requests()).toEqual([]);
    // A refusal reserved nothing and holds no lease.
    expect(await reservedBytes()).toBe(3 * MAX_BODY_BYTES);
    for (const post of [postMessages, postChat]) {
      expect((await post(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    }

    one.clients[0]!.socket.destroy();
    await until(async () => (await reservedBytes()) === 2 * MAX_BODY_BYTES);
    const served = await postMessages(gateway, apiKey, userMessage('x'.repeat(MAX_BODY_BYTES / 2)));
    expect(served.status).toBe(200);
  });

  // F73
  it("without a declared length reserve memory as they arrive, and are refused beyond the account's share", async () => {
    const { apiKey } = await startUploads(1);
    const piece = 'x'.repeat(MEBIBYTE);
    const chunk = `${piece.length.toString(16)}\r\n${piece}\r\n`;
    const [first, second] = [connectTo(gateway), connectTo(gateway)];
    for (const client of [first, second]) {
      client.send(headOf({ apiKey, headers: ['Transfer-Encoding: chunked', EXPECT] }));
      await client.receive(CONTINUE);
    }
    expect(await reservedBytes()).toBe(MAX_BODY_BYTES);
    first.send(chunk);
    await until(async () => (await reservedBytes()) === MAX_BODY_BYTES + MEBIBYTE);
    // Three more would fit; the framing of chunks does not count.
    for (let sent = 0; sent < 4; sent += 1) second.send(chunk);
    expect(await second.receive(ANSWER)).toMatch(/^HTTP\/1\.1 429 /m);
    await until(async () => (await reservedBytes()) === MAX_BODY_BYTES + MEBIBYTE);
  });
});

describe.each([
  ['messages', postMessages, '/v1/messages'],
  ['chat.completions', postChat, '/v1/chat/completions'],
  ['responses', postResponses, '/v1/responses'],
] as const)('no memory stays reserved for a request of %s that', (_dialect, post, path) => {
  /** The second body is prepared in the worker thread if its format is translated. */
  const bodies = ['Hello', 'Hello '.repeat(200_000)];

  it.each([
    ['was served', false],
    ['was streamed', true],
  ])('%s', async (_what, stream) => {
    const { apiKey } = await gateway.createKey();
    for (const text of bodies) {
      // The memory stays reserved until the upstream has the body.
      const client = connectTo(gateway);
      const body = JSON.stringify(bodyFor(path, userMessage(text, { stream })));
      client.send(headOf({ apiKey, path, headers: [lengthOf(body.length), EXPECT] }));
      await client.receive(CONTINUE);
      client.send(body.slice(0, -1));
      await until(async () => (await reservedBytes()) >= body.length - 1);
      client.send(body.slice(-1));
      await client.receive(/^HTTP\/1\.1 200 /m);
      await until(async () => (await reservedBytes()) === 0);
    }
  });

  it.each([
    ['was refused for its body', 400, '{"model":5}'],
    ['was refused for its model', 404, JSON.stringify({ ...userMessage('Hello'), model: 'm' })],
    ['was too large when it was decompressed', 413, gzipSync(' '.repeat(5 * MEBIBYTE))],
    ['was not in the encoding that it declared', 400, Buffer.from('not compressed')],
  ])('%s', async (_what, status, body) => {
    const { apiKey } = await gateway.createKey();
    const isText = typeof body === 'string';
    const encoding = isText ? undefined : { 'content-encoding': 'gzip' };
    expect((await post(gateway, apiKey, body, encoding)).status).toBe(status);
    expect(await reservedBytes()).toBe(0);
  });

  it('failed upstream', async () => {
    const { apiKey } = await gateway.createKey();
    for (const text of bodies) {
      gateway.simulator.script({ error: { type: 'api_error' } });
      expect((await post(gateway, apiKey, userMessage(text))).status).toBe(500);
      gateway.simulator.script({ cut: { afterEvents: 2, how: 'reset' } });
      await (await post(gateway, apiKey, userMessage(text, { stream: true }))).text();
      expect(await reservedBytes()).toBe(0);
    }
  });

  it('could not be sent, because the upstream cannot be reached', async () => {
    const { appParts } = gateway.running;
    const { upstream } = appParts;
    const nobody = createUpstreamClient(
      anthropicUpstream({ url: 'http://127.0.0.1:1', apiKey: 'k' }),
    );
    Object.assign(appParts, { upstream: nobody });
    const { apiKey } = await gateway.createKey();
    for (const text of bodies) {
      expect((await post(gateway, apiKey, userMessage(text))).status).toBe(502);
    }
    Object.assign(appParts, { upstream });
    await nobody.close();
    expect(await reservedBytes()).toBe(0);
  });

  // F73
  it('was abandoned by its client, during its body or after it', async () => {
    const { apiKey } = await gateway.createKey();
    for (const text of bodies) {
      const body = JSON.stringify(userMessage(text));
      for (const sent of [0, 10, body.length]) {
        gateway.simulator.script({ delayMs: 50 });
        const client = connectTo(gateway);
        client.send(headOf({ apiKey, path, headers: [lengthOf(body.length), EXPECT] }));
        await client.receive(CONTINUE);
        client.send(body.slice(0, sent));
        client.socket.destroy();
        await until(async () => (await reservedBytes()) === 0);
        gateway.simulator.reset();
      }
    }
  });
});

const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const ENCODERS: [encoding: string, encode: (text: string) => Buffer][] = [
  ['gzip', (text) => gzipSync(text)],
  ['x-gzip', (text) => gzipSync(text)],
  ['deflate', (text) => deflateSync(text)],
  ['br', (text) => brotliCompressSync(text, QUICKLY)],
  ['zstd', (text) => zstdCompressSync(text)],
];

describe.each(ENCODERS)('a body in %s', (encoding, encode) => {
  const headers = { 'content-encoding': encoding };

  // F72: body of 4 KB that decompresses to 4 MiB: 413 in each encoding; prompts that compress well
  // are served.
  it('that decompresses to more than 200 times its size is refused', async () => {
    const { apiKey } = await gateway.createKey();
    // Valid, and within the largest size.
    const bomb = encode(JSON.stringify(userMessage('Hello')).padEnd(MAX_BODY_BYTES));
    for (const post of [postMessages, postChat]) {
      const response = await post(gateway, apiKey, bomb, headers);
      expect(response.status).toBe(413);
      const { error } = await response.json();
      expect(error.type).toBe('request_too_large');
      expect(error.message).toMatch(/^request body: becomes more than 200 times larger /);
      expect(response.headers.get('x-should-retry')).toBe('false');
    }
    expect(gateway.simulator.journal.requests()).toEqual([]);
  });

  // F72
  it('that decompresses to more than MAX_BODY_BYTES is refused', async () => {
    const { apiKey } = await gateway.createKey();
    const huge = encode(JSON.stringify(userMessage(prose(5 * MEBIBYTE))));
    for (const post of [postMessages, postChat]) {
      const response = await post(gateway, apiKey, huge, headers);
      expect(response.status).toBe(413);
      expect((await response.json()).error.message).toBe(
        `request body: exceeds the maximum of ${String(MAX_BODY_BYTES)} bytes`,
      );
    }
    expect(gateway.simulator.journal.requests()).toEqual([]);
  });

  // F72
  it('that compresses well, as prompts do, is served; a small one may compress even better', async () => {
    const { apiKey } = await gateway.createKey();
    const large = JSON.stringify(userMessage(prose(3.5 * MEBIBYTE)));
    const small = JSON.stringify(userMessage('Hello')).padEnd(MEBIBYTE);
    for (const [body, least] of [
      [large, 5],
      [small, 200],
    ] as const) {
      const encoded = encode(body);
      expect(body.length / encoded.length).toBeGreaterThan(least);
      expect((await postChat(gateway, apiKey, encoded, headers)).status).toBe(200);
      expect((await postMessages(gateway, apiKey, encoded, headers)).status).toBe(200);
      expect(gateway.simulator.journal.requests().at(-1)!.body!.toString()).toBe(body);
    }
  });
});

/** Text of few different words, numbered so that it is not one pattern repeated. */
function prose(length: number): string {
  const words = ['the', 'gateway', 'reads', 'a', 'body', 'of', 'many', 'lines', 'and', 'counts'];
  let text = '';
  for (let n = 0; text.length < length; n += 1) {
    text += `${String(n)} ${words[n % 10]!} ${words[(n * 7 + (n >> 3)) % 10]!}. `;
  }
  return text.slice(0, length);
}
