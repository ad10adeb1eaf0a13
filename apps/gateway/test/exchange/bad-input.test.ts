import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  PATHS,
  MODEL,
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
  postResponses,
  bodyFor,
  IN_RESPONSES,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const MAX_BODY_BYTES = 64 * 1024;

let gateway: TestGateway;
let apiKey: string;
let keyId: string;
beforeAll(async () => {
  gateway = await startTestGateway({
    env: { MAX_BODY_BYTES: String(MAX_BODY_BYTES) },
    // Headers pass as they are, also those that the API would refuse.
    simulator: { lenient: ['known-betas'] },
  });
  ({ apiKey, id: keyId } = await gateway.createKey());
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});

/** Expects that nothing was sent upstream and nothing was charged. */
async function expectNothingHappened(): Promise<void> {
  expect(gateway.simulator.journal.requests()).toHaveLength(0);
  const { data } = await gateway.call('listLedger', { key_id: keyId, kind: 'charge' });
  expect(data).toHaveLength(0);
}

/** The first part of the path of a call in the sources of an SDK. */
const CALL_OF_SDK =
  /_client\s*\.(?:get|post|put|patch|delete|getAPIList)\(\s*(?:path)?['`](?:\/v1)?\/([a-z_]+)/g;

const content = { messages: [{ role: 'user', content: 'Hello' }] };
const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe.each([
  ['messages', postMessages],
  ['chat.completions', postChat],
  ['responses', postResponses],
] as const)('%s', (dialect, post) => {
  const bodies: [what: string, body: unknown, status: number, field: string][] = [
    ['no body', '', 400, ''],
    ['invalid JSON', '{"model": ', 400, ''],
    ['an array', '[]', 400, ''],
    ['a byte order mark', `\ufeff${JSON.stringify(userMessage('Hello'))}`, 400, ''],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400, ''],
    ['half a surrogate pair', Buffer.from('{"model":"\xed\xa0\x80"}', 'latin1'), 400, ''],
    ['NaN', '{"model": NaN}', 400, ''],
    ['Infinity', '{"model":"m","x":Infinity}', 400, ''],
    ['bytes after the end', `${JSON.stringify(userMessage('Hello'))}{}`, 400, ''],
    ['a member twice', `{"model":"a","model":"b"}`, 400, 'model'],
    ['a member twice, once escaped', `{"model":"a","mod\\u0065l":"b"}`, 400, 'model'],
    ['a depth of 201', `{"model":"${MODEL}","x":${deep(201)}}`, 400, ''],
    ['a depth of 5,000', `{"model":"${MODEL}","x":${deep(5_000)}}`, 400, ''],
    ['a depth of 20,000', `{"model":"${MODEL}","x":${deep(20_000)}}`, 400, ''],
    ['no model', content, 400, 'model'],
    ['a model that is a number', { ...content, model: 5 }, 400, 'model'],
    [
      'a model that is not offered',
      { ...userMessage('Hello'), model: 'gpt-unknown' },
      404,
      'model',
    ],
    [
      'a model with a line break',
      { ...userMessage('Hello'), model: 'a\r\nx-injected: 1' },
      404,
      'model',
    ],
    ['no messages', { model: MODEL, max_tokens: 5 }, 400, 'messages'],
    ['messages that are not an array', { ...userMessage('Hello'), messages: {} }, 400, 'messages'],
    ['empty messages', { ...userMessage('Hello'), messages: [] }, 400, 'messages'],
    ['max_tokens as text', { ...userMessage('Hello'), max_tokens: '5' }, 400, 'max_tokens'],
    ['negative max_tokens', { ...userMessage('Hello'), max_tokens: -1 }, 400, 'max_tokens'],
    ['fractional max_tokens', { ...userMessage('Hello'), max_tokens: 1.5 }, 400, 'max_tokens'],
    ['temperature as text', { ...userMessage('Hello'), temperature: 'hot' }, 400, 'temperature'],
    [
      'an unknown tool_choice',
      { ...userMessage('Hello'), tools: [], tool_choice: 'sometimes' },
      400,
      'tool_choice',
    ],
  ];
  // F57: odd JSON: 400, never a 500. Differs: a million members at the root are refused, in about
  // 45 ms, which is not asserted. Below the root they are the client's data: the native format
  // sends them upstream. The chat format refuses a million of them, because the body has too many
  // values for its size. Half of a UTF-8 character is a 400. An unpaired surrogate as an escape is
  // valid JSON: a native body passes unchanged, and the API refuses it; a translated one has U+FFFD
  // in its place.
  it.each(bodies)('refuses a request with %s', async (_what, body, status, field) => {
    const response = await post(gateway, apiKey, body);
    const answer = await response.json();
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(answer).toMatchObject({
      type: 'error',
      error: { type: status === 404 ? 'not_found_error' : 'invalid_request_error' },
      request_id: response.headers.get('x-gateway-request-id'),
    });
    const named = dialect === 'responses' ? (IN_RESPONSES[field] ?? field) : field;
    expect(answer.error.message).toContain(named);
    if (dialect !== 'messages') {
      expect(answer.error).toHaveProperty('code');
      if (field !== '') expect(answer.error.param).toBe(named);
    }
    await expectNothingHappened();
  });

  // F56: body too large, in any encoding: 413 or 400, nothing sent upstream, connection closed.
  it('refuses a body above the cap, also if it is chunked or compressed', async () => {
    const large = JSON.stringify(userMessage('x'.repeat(MAX_BODY_BYTES)));
    const answers = [
      await post(gateway, apiKey, large),
      await sendChunked(PATHS[dialect], large),
      await post(gateway, apiKey, gzipSync(JSON.stringify(userMessage('x'.repeat(20_000_000)))), {
        'content-encoding': 'gzip',
      }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(413);
      if (answer instanceof Response) {
        expect(await answer.json()).toMatchObject({ error: { type: 'request_too_large' } });
      }
    }
    await expectNothingHappened();
  });

  // F56
  it('refuses a body one byte above the cap as too large, and reads one of exactly the cap', async () => {
    const full = '{"model":"gpt-unknown"}'.padEnd(MAX_BODY_BYTES);
    expect((await post(gateway, apiKey, full)).status).toBe(dialect === 'messages' ? 400 : 404);
    expect((await post(gateway, apiKey, `${full} `)).status).toBe(413);
    await expectNothingHappened();
  });

  // F56
  it('refuses an unknown encoding, a body that is not in its declared encoding, and a content type other than JSON', async () => {
    const body = userMessage('Hello');
    expect((await post(gateway, apiKey, body, { 'content-encoding': 'rot13' })).status).toBe(415);
    expect((await post(gateway, apiKey, body, { 'content-encoding': 'gzip' })).status).toBe(400);
    expect((await post(gateway, apiKey, body, { 'content-type': 'text/plain' })).status).toBe(415);
    await expectNothingHappened();
  });

  // F62: credentials of no key: one 401 for all; a wrong checksum costs no query. Differs: both
  // headers at once are a 400 that says so, because this is a mistake and not an attempt to guess
  // keys. A head of more than 16 KiB is a 431. White space around a header's value is not part of
  // it (RFC 9110).
  it('refuses two different credentials, and refuses a missing, malformed or unknown one always with the same message', async () => {
    const send = (headers: Record<string, string>): Promise<Response> =>
      fetch(gateway.url + PATHS[dialect], {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
          ...headers,
        },
        body: JSON.stringify(bodyFor(PATHS[dialect], userMessage('Hello'))),
      });
    const both = await send({ authorization: `Bearer ${apiKey}`, 'x-api-key': `${apiKey}x` });
    expect(both.status).toBe(400);
    expect((await both.json()).error).toMatchObject({ type: 'invalid_request_error' });

    const odd: Record<string, string>[] = [
      {},
      { authorization: apiKey },
      { authorization: `Basic ${apiKey}` },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${apiKey} ${apiKey}` },
      { authorization: `Bearer ${apiKey.toLowerCase()}` },
      { authorization: `Bearer ${apiKey.replace('gw_', 'sk-ant-')}` },
      { authorization: `Bearer ${apiKey}x` },
      { authorization: `Bearer ${apiKey.slice(0, -1)}${apiKey.endsWith('0') ? '1' : '0'}` },
      { authorization: `Bearer ${'x'.repeat(10_000)}` },
      { 'x-api-key': '' },
      { 'x-api-key': `${apiKey}, ${apiKey}` },
    ];
    const messages = new Set<string>();
    for (const headers of odd) {
      const response = await send(headers);
      expect(response.status).toBe(401);
      const { error } = await response.json();
      expect(error.type).toBe('authentication_error');
      messages.add(error.message);
    }
    expect(messages.size).toBe(1);
    await expectNothingHappened();
  });

  // F204
  it('refuses the same credential in both headers', async () => {
    const headers = { 'x-api-key': apiKey };
    const response = await post(gateway, apiKey, userMessage('Hello'), headers);
    expect(response.status).toBe(400);
    expect((await response.json()).error.message).toMatch(
      /^the same credential was sent in the Auth/,
    );
    await expectNothingHappened();
  });

  // F58: `__proto__` anywhere: no effect, native bytes unchanged.
  it('is not affected by members named like those of Object.prototype, wherever they are', async () => {
    const { apiKey: own } = await gateway.createKey();
    const evil = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}';
    const schema = `{"type":"object",${evil},"properties":{${evil}}}`;
    const places = [
      JSON.stringify(userMessage('Hello')).replace('{', `{${evil},`),
      `{"model":"${MODEL}","max_tokens":5,"messages":[{${evil},"role":"user","content":"a"}]}`,
      `{"model":"${MODEL}","max_tokens":5,"messages":[{"role":"user","content":[{${evil},"type":"text","text":"a"}]}]}`,
      `{"model":"${MODEL}","max_tokens":5,${JSON.stringify(content).slice(1, -1)},"metadata":{${evil}}}`,
      `{"model":"${MODEL}","max_tokens":5,${JSON.stringify(content).slice(1, -1)},"tools":[{${evil},"name":"a","type":"function","function":{${evil},"name":"a","parameters":${schema}},"input_schema":${schema}}]}`,
      `{"model":"${MODEL}","max_tokens":5,${JSON.stringify(content).slice(1, -1)},"tool_choice":{${evil},"type":"auto"},"response_format":{${evil},"type":"json_object"}}`,
    ];
    for (const text of places) {
      // A reply may contain them, too.
      gateway.simulator.script({
        content: [JSON.parse(`{"type":"tool_use","id":"t","name":"a","input":{${evil}}}`)],
      });
      const response = await post(gateway, own, text);
      const answer = await response.text();
      expect(response.status).toBeLessThan(500);
      if (dialect === 'messages') {
        expect(gateway.simulator.journal.requests().at(-1)!.body!.toString()).toBe(text);
      }
      if (response.status === 200) expect(answer).toContain('polluted');
      for (const clean of [{}, [], () => undefined]) {
        expect((clean as unknown as Record<string, unknown>)['polluted']).toBeUndefined();
      }
    }
  });
});

describe('a million', () => {
  let roomy: TestGateway;
  let key: string;
  beforeAll(async () => {
    roomy = await startTestGateway({ simulator: { keepBodies: false } });
    key = (await roomy.createKey()).apiKey;
  });
  afterAll(() => roomy.stop());

  const members = Array.from({ length: 1_000_000 }, (_, i) => `"k${String(i)}":0`).join(',');
  const asked = JSON.stringify(userMessage('Hello')).slice(0, -1);

  // F57
  it.each([
    ['members at the root', `${asked},${members}}`],
    ['copies of one member at the root', `${asked}${',"a":0'.repeat(1_000_000)}}`],
    ['nested arrays', `${asked},"x":${deep(1_000_000)}}`],
    ['nested objects', `${asked},"x":${'{"a":'.repeat(1_000_000)}0${'}'.repeat(1_000_000)}}`],
    ['opening brackets', `${asked},"x":${'['.repeat(1_000_000)}`],
  ])('%s are refused in a body', async (_what, body) => {
    for (const post of [postMessages, postChat]) {
      const response = await post(roomy, key, body);
      expect(response.status).toBe(400);
      expect((await response.json()).error.type).toBe('invalid_request_error');
    }
    expect(roomy.simulator.journal.requests()).toHaveLength(0);
  });

  // F57, F71
  it('members of metadata are served in the native format; the chat format refuses them, but accepts and drops 100,000', async () => {
    const body = `${asked},"metadata":{${members}}}`;
    expect((await postMessages(roomy, key, body)).status).toBe(200);
    expect(roomy.simulator.journal.requests().at(-1)!.bytes).toBe(body.length);
    // The chat format parses the body, which would take many times the memory of its bytes.
    const refused = await postChat(roomy, key, body);
    expect(refused.status).toBe(400);
    expect((await refused.json()).error.message).toBe('the body has too many values for its size');
    const fewer = `${body.slice(0, body.length / 10).replace(/,[^,]*$/, '')}}}`;
    expect((await postChat(roomy, key, fewer)).status).toBe(200);
    expect(roomy.simulator.journal.requests().at(-1)!.bytes).toBeLessThan(1_000);
  });
});

describe('a body', () => {
  let roomy: TestGateway;
  let key: string;
  beforeAll(async () => {
    roomy = await startTestGateway({ simulator: { keepBodies: false } });
    key = (await roomy.createKey()).apiKey;
  });
  afterAll(() => roomy.stop());

  const list = (item: unknown, count = 100_001): string =>
    `[${`${JSON.stringify(item)},`.repeat(count - 1)}${JSON.stringify(item)}]`;
  /** The text of a body in which `"LIST"` is replaced. */
  const bodyWith = (more: Readonly<Record<string, unknown>>, items: string): string =>
    JSON.stringify({ ...userMessage('Hello'), ...more }).replace('"LIST"', () => items);
  const text = { type: 'text', text: 'a' };
  const messageOf = (more: object) => [{ role: 'user', content: 'a', ...more }];
  const nested = [{ type: 'tool_result', tool_use_id: 't', content: 'LIST' }];

  // F71
  it.each([
    ['messages', postMessages, { messages: 'LIST' }, messageOf({})[0]],
    ['system', postMessages, { system: 'LIST' }, text],
    ['tools', postMessages, { tools: 'LIST' }, { name: 'a', input_schema: {} }],
    ['stop_sequences', postMessages, { stop_sequences: 'LIST' }, 'a'],
    ['messages.0.content', postMessages, { messages: messageOf({ content: 'LIST' }) }, text],
    [
      'messages.0.content.0.content',
      postMessages,
      { messages: messageOf({ content: nested }) },
      text,
    ],
    ['an_unknown_member', postMessages, { an_unknown_member: 'LIST' }, 1],
    ['messages', postChat, { messages: 'LIST' }, messageOf({})[0]],
    ['tools', postChat, { tools: 'LIST' }, { type: 'function', function: { name: 'a' } }],
    ['functions', postChat, { functions: 'LIST' }, { name: 'a' }],
    ['stop', postChat, { stop: 'LIST' }, 'a'],
    ['messages.0.content', postChat, { messages: messageOf({ content: 'LIST' }) }, text],
    ['messages.0.tool_calls', postChat, { messages: messageOf({ tool_calls: 'LIST' }) }, {}],
  ] as const)(
    'with a list of 100,001 items is refused, naming the list: %s',
    async (name, post, more, item) => {
      const response = await post(roomy, key, bodyWith(more, list(item)));
      expect(response.status).toBe(400);
      const { error } = await response.json();
      expect(error.message).toBe(`${name}: must have at most 100000 items`);
      expect(roomy.simulator.journal.requests()).toHaveLength(0);
    },
  );

  it.each([postMessages, postChat])('with 100,000 messages is served', async (post) => {
    const messages = list({ role: 'user', content: 'word '.repeat(15) }, 100_000);
    const served = roomy.simulator.journal.requests().length;
    const response = await post(roomy, key, bodyWith({ messages: 'LIST' }, messages));
    expect(response.status).toBe(200);
    expect(roomy.simulator.journal.requests()).toHaveLength(served + 1);
  });

  it.each([
    ['messages.0', postMessages],
    ['messages.0', postChat],
  ] as const)(
    'with an object of 1,001 members is refused, naming the object: %s',
    async (name, post) => {
      const members = Array.from({ length: 999 }, (_, n) => [`k${String(n)}`, 0]);
      const messages = messageOf(Object.fromEntries(members));
      const refused = await post(roomy, key, { ...userMessage('Hello'), messages });
      expect(refused.status).toBe(400);
      expect((await refused.json()).error.message).toBe(
        `${name}: the object has more than 1000 members`,
      );
    },
  );
});

describe('control characters and malformed values', () => {
  // F59: CR, LF, NUL in texts, ids, headers: 400 or 404; no header upstream, no line in the log.
  // Differs: a model with a line break is a 404, like any other model that is not offered. Bytes
  // above 0x7f are allowed in a header and pass unchanged.
  it.each([
    ['/v1/dashboard/usage/req_%00', 404],
    ['/v1/dashboard/usage/req_%0d%0ax', 404],
    ['/v1/dashboard/usage?model=a%00', 400],
    ['/v1/dashboard/usage?model=a%0d%0ab', 400],
    ['/v1/dashboard/usage?cursor=%00', 400],
    ['/v1/dashboard/usage?day=0000-01-01', 400],
    ['/v1/models/a%00', 404],
    ['/v1/models/a%0d%0ab', 404],
  ])('in %s are refused with %i', async (path, status) => {
    const response = await fetch(gateway.url + path, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error' });
  });

  // F59
  it('cannot add a header to the request upstream', async () => {
    const { apiKey: own } = await gateway.createKey();
    const query = '?beta=%0d%0aX-Injected:%201&x=%00&%E0%A4%A';
    const response = await fetch(`${gateway.url}/v1/messages${query}`, {
      method: 'POST',
      headers: {
        'x-api-key': own,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        'anthropic-beta': 'caf\u00e9\tb',
      },
      body: JSON.stringify(userMessage('Hello')),
    });
    expect(response.status).toBe(200);
    const [request] = gateway.simulator.journal.requests();
    expect(request!.path).toBe(`/v1/messages${query}`);
    expect(request!.headers).toMatchObject({ 'anthropic-beta': 'caf\u00e9\tb' });
    expect(Object.keys(request!.headers).sort()).toEqual(
      [
        'accept-encoding',
        'anthropic-beta',
        'anthropic-version',
        'connection',
        'content-length',
        'content-type',
        'host',
      ].sort(),
    );
  });
});

// F62
it('a credential that does not end is refused when the head exceeds its limit', async () => {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (bytes) => (received += bytes.toString()));
  socket.write('GET /v1/dashboard/balance HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ');
  socket.write('x'.repeat(20_000));
  await once(socket, 'close');
  expect(received).toMatch(/^HTTP\/1\.1 431 /);
});

// F62
it('white space around a credential is not part of it', async () => {
  const { apiKey: own } = await gateway.createKey();
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (bytes) => (received += bytes.toString()));
  socket.write(
    `GET /v1/dashboard/balance HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization:  Bearer ${own} \t\r\n\r\n`,
  );
  await once(socket, 'close');
  expect(received).toMatch(/^HTTP\/1\.1 200 /);
});

// F66
it('a chat request for 100 choices gets one and is charged for one', async () => {
  const { apiKey: own, id } = await gateway.createKey();
  const response = await postChat(gateway, own, userMessage('Hello', { n: 100 }));
  expect(response.status).toBe(200);
  expect((await response.json()).choices).toHaveLength(1);
  expect(gateway.simulator.journal.usages()).toHaveLength(1);
  const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
  expect(data).toHaveLength(1);
});

describe('the native endpoint', () => {
  // F66: absurd numbers; the usage of another key: 400, 404 or a lower number; 404 for that usage.
  // Differs: if a chat request asks for more tokens than the model can write, the limit is lowered
  // to the model's, and `x-gateway-translation-notes` says so. `n` above 1 gets one choice, as
  // specified.
  it.each([
    ['temperature above 1', { temperature: 1.5 }, 'temperature'],
    ['top_p above 1', { top_p: 1.01 }, 'top_p'],
    ['no max_tokens', { max_tokens: undefined }, 'max_tokens'],
    ['max_tokens of 10^12', { max_tokens: 1e12 }, 'max_tokens'],
    ['max_tokens of 2^53', { max_tokens: 2 ** 53 }, 'max_tokens'],
    ['stop_sequences that are not an array', { stop_sequences: 'END' }, 'stop_sequences'],
    ['stream that is not a boolean', { stream: 'yes' }, 'stream'],
    ['five cache points', { system: cachePoints(5) }, 'cache_control'],
  ])('refuses a request with %s', async (_what, more, field) => {
    const response = await postMessages(gateway, apiKey, userMessage('Hello', more));
    expect(response.status).toBe(400);
    expect((await response.json()).error.message).toContain(field);
    await expectNothingHappened();
  });

  it.each([
    ['no version', {}],
    ['an unknown version', { 'anthropic-version': '2020-01-01' }],
    [
      'two versions that differ',
      { 'anthropic-version': '2023-06-01', 'vendor-version': '2026-10-21' },
    ],
    [
      "a workspace of the operator's account",
      { 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'w' },
    ],
  ])('refuses a request with %s', async (_what, headers) => {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(userMessage('Hello')),
    });
    expect(response.status).toBe(400);
    await expectNothingHappened();
  });

  // F389: a documented version of the API is refused.
  it('serves a request with four cache points, under each version and each name of the version header', async () => {
    const body = userMessage('Hello', { system: cachePoints(4) });
    for (const headers of [
      { 'anthropic-version': '2023-01-01' },
      { 'anthropic-version': '2023-06-01' },
      { 'anthropic-version': '2026-10-21' },
      { 'vendor-version': '2023-06-01' },
    ]) {
      const response = await fetch(`${gateway.url}/v1/messages?beta=true`, {
        method: 'POST',
        headers: {
          'x-api-key': (await gateway.createKey()).apiKey,
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(200);
    }
  });
});

describe('the gateway', () => {
  // F64
  it.each([
    ['GET', '/v1/messages', 405],
    ['DELETE', '/v1/chat/completions', 405],
    ['POST', '/v1/dashboard/balance', 405],
    ['POST', '/v1/messages/batches', 404],
    ['GET', '/v1/files', 404],
    ['GET', '/v1/organizations/me', 404],
    ['GET', '/v1/responses', 405],
    ['GET', '/v1/responses/resp_1', 404],
    ['POST', '/V1/messages', 404],
    ['GET', '/v1/dashboard/usage/%E0%A4%A', 400],
    ['GET', '/admin/keys', 404],
    ['POST', '/', 405],
  ])('refuses %s %s with status %i and a JSON body', async (method, path, status) => {
    const response = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error' });
    expect(gateway.simulator.journal.requests()).toHaveLength(0);
  });

  it('answers the handshake of a WebSocket with 426, and names HTTP', async () => {
    const asked = httpRequest(`${gateway.url}/responses`, {
      headers: {
        authorization: `Bearer ${apiKey}`,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
    }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(426);
    expect(response.headers).toMatchObject({ upgrade: 'HTTP/1.1', connection: 'upgrade, close' });
    expect(JSON.parse(await textOf(response))).toMatchObject({
      error: {
        type: 'invalid_request_error',
        message: 'GET /responses: WebSockets are not served here; use POST over HTTP',
        code: 'websocket_not_supported',
      },
    });
    expect(gateway.simulator.journal.requests()).toHaveLength(0);
  });

  // F80: wrong base address: served if it has only one meaning; otherwise the refusal names the
  // likely endpoint.
  it.each([
    '/v1/v1/messages',
    '/v1/v1/v1/messages',
    '/messages',
    '//v1/messages',
    '/v1//messages',
    '//v1//messages',
    '/v1/messages/',
    '/messages/?beta=true',
  ])('answers POST %s like /v1/messages', async (path) => {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(userMessage('Hello')),
    });
    expect(response.status).toBe(200);
    const { path: sent } = gateway.simulator.journal.requests()[0]!;
    expect(sent).toBe(path.includes('?') ? '/v1/messages?beta=true' : '/v1/messages');
  });

  // F364: a client that believes the gateway to be its proxy names the target by its whole address.
  it.each(['http://gateway.example', 'HTTP://gateway.example:8080', 'https://gateway.example'])(
    'answers a target that begins with %s like its path',
    async (origin) => {
      const { hostname, port } = new URL(gateway.url);
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
        const path = `${origin}/v1/chat/completions`;
        httpRequest({ hostname, port, method: 'POST', path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end(JSON.stringify(userMessage('Hello')));
      });
      expect(status).toBe(200);
    },
  );

  // F80
  it.each([
    '/chat/completions',
    '/v1/v1/chat/completions',
    '//v1//chat//completions',
    '/v1/chat/completions/',
  ])('answers POST %s like /v1/chat/completions', async (path) => {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(userMessage('Hello')),
    });
    expect(await response.json()).toMatchObject({ object: 'chat.completion' });
  });

  it.each(['/responses', '/v1/v1/responses', '//v1//responses', '/v1/responses/'])(
    'answers POST %s like /v1/responses',
    async (path) => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODEL, input: 'Hello' }),
      });
      expect(await response.json()).toMatchObject({ object: 'response' });
    },
  );

  // F80
  it.each([
    '/models',
    '/v1/v1/models',
    '/v1/models/',
    `/models/${MODEL}`,
    '/v1/v1/dashboard/balance',
  ])('answers GET %s as if it were written with one /v1', async (path) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(gateway.url + path, { headers });
    expect(response.status).toBe(200);
    const plain = `/v1${path.replace(/^(\/v1)+|\/$/g, '')}`;
    expect(await response.json()).toEqual(
      await (await fetch(gateway.url + plain, { headers })).json(),
    );
  });

  it.each(['openai', '@anthropic-ai/sdk'])(
    'that %s can ask for is served, or known not to be offered',
    async (sdk) => {
      const folder = join(dirname(require.resolve(sdk)), 'resources');
      const roots = new Set<string>();
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!file.endsWith('.mjs')) continue;
        const text = readFileSync(join(folder, file), 'utf8');
        for (const [, root] of text.matchAll(CALL_OF_SDK)) roots.add(root!);
      }
      // An SDK that writes its calls in another way would have none.
      expect(roots.size).toBeGreaterThan(10);
      const served = Object.values(PATHS).map((path) => path.split('/')[2]);
      const unknown = [];
      for (const root of roots) {
        const response = await fetch(`${gateway.url}/v1/${root}`, { method: 'PUT' });
        const { error } = (await response.json()) as { error: { message: string } };
        const isKnown = error.message.includes('not offered here') || response.status === 405;
        if (!isKnown && !served.includes(root)) unknown.push([root, error.message]);
      }
      expect(unknown).toEqual([]);
    },
  );

  // F80
  it.each([
    [
      'POST',
      '/v1/responses/resp_1/cancel',
      /^POST \/v1\/responses\/resp_1\/cancel: this endpoint is not offered here; use POST \/v1\/responses with/,
    ],
    ['POST', '/v1/embeddings', /^POST \/v1\/embeddings: this endpoint is not offered here$/],
    [
      'GET',
      '/v1/messages/batches',
      /batches: this endpoint is not offered here; use POST \/v1\/messages$/,
    ],
    [
      'POST',
      '/api/v1/messages',
      /^POST \/api\/v1\/messages: there is no such endpoint; POST \/v1\/messages was probably meant/,
    ],
    [
      'POST',
      '/v1/completions',
      /^POST \/v1\/completions: this endpoint is not offered here; use POST \/v1\/chat\/completions or/,
    ],
    [
      'POST',
      '/v1/v1//responses/compact?api_key=secret',
      /^POST \/v1\/v1\/\/responses\/compact: this endpoint is not offered here; use POST \/v1\/responses/,
    ],
    ['GET', '/v1/moderations', /^GET \/v1\/moderations: this endpoint is not offered here$/],
    ['GET', '/v1/files/file_1', /^GET \/v1\/files\/file_1: this endpoint is not offered here$/],
    ['GET', '/dashboard/balance', /GET \/v1\/dashboard\/balance was probably meant/],
    ['GET', '/api/models', /GET \/v1\/models was probably meant/],
    [
      'POST',
      '/anthropic/v1/messages/count_tokens',
      /POST \/v1\/messages\/count_tokens was probably meant/,
    ],
    ['GET', '/v1', /^GET \/v1: there is no such endpoint; the main endpoints are /],
    ['POST', '/openai/chat/completions', /POST \/v1\/chat\/completions was probably meant/],
    [
      'GET',
      '/nowhere',
      /^GET \/nowhere: there is no such endpoint; the main endpoints are POST \/v1\/messages/,
    ],
    ['GET', '/v1/messages', /^GET \/v1\/messages: this endpoint takes POST only$/],
    ['GET', '//v1/messages', /^GET \/\/v1\/messages: this endpoint takes POST only$/],
  ])(
    'refuses %s %s, naming the request and, if there is one, the endpoint to use',
    async (method, path, message) => {
      const response = await fetch(gateway.url + path, { method });
      const { error } = await response.json();
      expect(error.message).toMatch(message);
      expect(response.headers.get('x-should-retry')).toBe('false');
    },
  );

  it('describes itself and the base addresses for SDKs at its root', async () => {
    const response = await fetch(gateway.url);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      name: 'Farthing',
      base_urls: {
        messages: gateway.url,
        chat_completions: `${gateway.url}/v1`,
        responses: `${gateway.url}/v1`,
      },
    });
    const head = await fetch(gateway.url, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe('');
  });
});

describe('an address that a client names', () => {
  // F61: internal addresses: never fetched by the gateway. The gateway fetches no address, so
  // redirects and DNS rebinding have no effect.
  it('is sent upstream or refused, and never fetched by the gateway', async () => {
    let visits = 0;
    const trap = createServer((_req, res) => {
      visits += 1;
      res.end();
    });
    trap.on('connection', () => (visits += 1));
    await once(trap.listen(0, '127.0.0.1'), 'listening');
    const port = String((trap.address() as AddressInfo).port);
    const addresses = [
      `http://127.0.0.1:${port}/a.png`,
      `http://localhost:${port}/a.png`,
      `http://2130706433:${port}/a.png`,
      `http://0x7f.1:${port}/a.png`,
      `http://[::ffff:127.0.0.1]:${port}/a.png`,
      `http://user:secret@127.0.0.1:${port}/a.png`,
      'http://169.254.169.254/latest/meta-data/',
      'file:///etc/passwd',
      'gopher://127.0.0.1/',
    ];
    for (const url of addresses) {
      const content = [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url } },
      ];
      const chat = await postChat(gateway, apiKey, {
        ...userMessage('Hello'),
        messages: [{ role: 'user', content }],
      });
      const isWebAddress = url.startsWith('http');
      expect(chat.status).toBe(isWebAddress ? 200 : 400);
      await chat.text();
    }
    const native = await Promise.all(
      addresses.map((url) =>
        postMessages(gateway, apiKey, {
          ...userMessage('Hello'),
          messages: [
            {
              role: 'user',
              content: [
                { type: 'image', source: { type: 'url', url } },
                { type: 'document', source: { type: 'url', url } },
              ],
            },
          ],
        }),
      ),
    );
    expect(native.map(({ status }) => status)).toEqual(addresses.map(() => 200));
    await Promise.all(native.map((response) => response.text()));
    await new Promise((resolve) => trap.close(resolve));
    expect(visits).toBe(0);
  });
});

function cachePoints(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    type: 'text',
    text: `part ${i}`,
    cache_control: { type: 'ephemeral' },
  }));
}

/** Sends a body in pieces without declaring its length. The server may answer before the end. */
async function sendChunked(path: string, body: string): Promise<{ status: number }> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString()));
  socket.on('error', () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${apiKey}\r\n` +
      'anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n' +
      'connection: close\r\ntransfer-encoding: chunked\r\n\r\n',
  );
  for (let at = 0; at < body.length; at += 10_000) {
    const piece = body.slice(at, at + 10_000);
    socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
  }
  socket.write('0\r\n\r\n');
  await once(socket, 'close');
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1]) };
}
