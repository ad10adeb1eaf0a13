/**
 * The native endpoint in front of a bare upstream: requests and responses are passed on byte for
 * byte.
 */

import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  MODEL,
  UPSTREAM_KEY,
  postMessages,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import { ACCOUNT_SENTENCES } from '../support/account-sentences.js';
import type { TestGateway } from '../support/gateway.js';

interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

let upstream: Server;
let gateway: TestGateway;
let apiKey: string;
let received: Received[] = [];
let answer: (res: ServerResponse) => void;

beforeAll(async () => {
  upstream = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      received.push({ url: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks) });
      answer(res);
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  gateway = await startTestGateway({ env: { UPSTREAM_URL: `http://127.0.0.1:${port}` } });
  ({ apiKey } = await gateway.createKey());
});
afterAll(async () => {
  await gateway.stop();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});
beforeEach(() => {
  received = [];
  answer = (res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'request-id': 'req_upstream' });
    res.end(MESSAGE);
  };
});

/**
 * Unusual but valid bodies: key order, blanks, escapes, a number that no double can represent, an
 * unknown member.
 */
const MESSAGE = Buffer.from(
  '{ "usage" : {"output_tokens":3,"input_tokens":2,"future":{"a":1}},\n\t"type":"message", "id":"msg_1","role":"assistant",' +
    '"content":[{"type":"text","text":"\\u00e9é💶\\/"},{"type":"hologram","n":12345678901234567890.0100}],"model":"m","stop_reason":"end_turn" }\n',
);

const STREAM = Buffer.from(
  [
    ': hello',
    '',
    'event: message_start',
    'data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":2,"output_tokens":1}}}',
    '',
    'event: ping',
    'data: {"type": "ping"}',
    '',
    'event: content_block_start',
    'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    '',
    'event: content_block_delta',
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"event: message_delta é💶"}}',
    '',
    'event: hologram',
    'data: {"type":"hologram","n":12345678901234567890}',
    '',
    'event: content_block_stop',
    'data: {"type":"content_block_stop","index":0}',
    '',
    'event: message_delta',
    'data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}',
    '',
    'event: message_stop',
    'data: {"type":"message_stop"}',
    '',
    '',
  ].join('\n'),
);

const manyBlocks = {
  role: 'user',
  content: Array.from({ length: 50_000 }, (_, n) => ({ type: 'text', text: String(n) })),
};
const requestBodies: [what: string, body: Buffer][] = [
  ['plain', Buffer.from(JSON.stringify(userMessage('Hello')))],
  [
    'odd key order, blanks and line ends',
    Buffer.from(
      `\r\n{\t"messages" : [ {"content":"a","role":"user"} ] ,\r\n "max_tokens":1e1, "model":"${MODEL}" }  `,
    ),
  ],
  [
    'unicode raw and escaped, lone surrogates, big numbers',
    Buffer.from(
      `{"model":"${MODEL}","max_tokens":10,"messages":[{"role":"user","content":"é💶\\u00e9\\ud83d\\/\\u0000"}],"unknown":{"n":12345678901234567890.10,"e":1E400}}`,
    ),
  ],
  [
    'a native tool_choice with its blanks',
    Buffer.from(
      `{"model":"${MODEL}","max_tokens":10,"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice": { "type" : "auto" },"messages":[{"role":"user","content":"a"}]}`,
    ),
  ],
  ['50,000 blocks', Buffer.from(JSON.stringify(userMessage('a', { messages: [manyBlocks] })))],
  ['12 MB', Buffer.from(JSON.stringify(userMessage('é"\\\n'.repeat(1_500_000))))],
];

describe('a native request', () => {
  it.each(requestBodies)('reaches the upstream byte for byte: %s', async (_what, body) => {
    const response = await postMessages(gateway, apiKey, body);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(MESSAGE)).toBe(true);
    expect(received).toHaveLength(1);
    expect(received[0]!.body.equals(body)).toBe(true);
  });

  it("with a tool_choice in OpenAI's format reaches the upstream with only that member changed", async () => {
    const before = `{"model":"${MODEL}", "tool_choice"  :  `;
    const after = ` , "tools":[{"name":"a","input_schema":{"type":"object"}}],"max_tokens":10,"messages":[{"role":"user","content":"12345678901234567890"}]}`;
    for (const [foreign, native] of [
      ['"required"', { type: 'any' }],
      ['"auto"', { type: 'auto' }],
      ['"none"', { type: 'none' }],
      ['{"type":"function","function":{"name":"a"}}', { type: 'tool', name: 'a' }],
    ] as const) {
      received = [];
      const response = await postMessages(gateway, apiKey, before + foreign + after);
      expect(response.status).toBe(200);
      const sent = received[0]!.body.toString();
      expect(sent.startsWith(before)).toBe(true);
      expect(sent.endsWith(after)).toBe(true);
      expect(JSON.parse(sent.slice(before.length, sent.length - after.length))).toEqual(native);
    }
  });

  it("carries the client's version, betas and query, and the operator's credential", async () => {
    const response = await fetch(`${gateway.url}/v1/messages?beta=true&x=%20`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'content-type': 'application/json',
        'anthropic-version': '2026-10-21',
        'anthropic-beta': 'one-2025-01-01,two-2025-01-01',
        'accept-encoding': 'br',
        cookie: 'a=b',
        'user-agent': 'someone/1',
        'x-forwarded-for': '192.0.2.1',
      },
      body: JSON.stringify(userMessage('Hello')),
    });
    expect(response.status).toBe(200);
    const { url, headers } = received[0]!;
    expect(url).toBe('/v1/messages?beta=true&x=%20');
    expect(headers).toMatchObject({
      'x-api-key': UPSTREAM_KEY,
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'one-2025-01-01,two-2025-01-01',
      'accept-encoding': 'identity',
    });
    expect(headers).not.toHaveProperty('cookie');
    expect(headers).not.toHaveProperty('x-forwarded-for');
    expect(JSON.stringify(headers)).not.toContain(apiKey);
  });
});

describe('a native response', () => {
  it.each([1_000, 15_000, 15_001, 100_000])(
    'of %i bytes keeps every byte, even if they are not text',
    async (size) => {
      const [before, after] = MESSAGE.toString().split('hologram') as [string, string];
      const filling = size - Buffer.byteLength(before + after);
      const raw = Uint8Array.from({ length: filling }, (_, index) => 128 + (index % 128));
      const body = Buffer.concat([Buffer.from(before), raw, Buffer.from(after)]);
      answer = (res) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(body);
      };
      const response = await postMessages(gateway, apiKey, userMessage('Hello'));
      expect(response.status).toBe(200);
      expect(response.headers.get('content-length')).toBe(String(size));
      expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true);
    },
  );

  it.each([1, 7, 100, 100_000])('is streamed byte for byte, in pieces of %i', async (size) => {
    answer = (res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      for (let at = 0; at < STREAM.length; at += size) res.write(STREAM.subarray(at, at + size));
      res.end();
    };
    const response = await postMessages(gateway, apiKey, userMessage('Hello', { stream: true }));
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe(STREAM.toString());
  });

  // F356: upstream sends its `content-type` twice, or in capitals: a stream is still passed on.
  it.each([[['text/event-stream; charset=utf-8', 'text/event-stream']], [['Text/Event-Stream']]])(
    'is streamed with the content types %j',
    async (types) => {
      const headers = types.flatMap((type) => ['content-type', type]);
      answer = (res) => res.writeHead(200, headers).end(STREAM);
      const response = await postMessages(gateway, apiKey, userMessage('Hello', { stream: true }));
      expect(response.headers.get('content-type')).toContain('text/event-stream');
      expect(await response.text()).toBe(STREAM.toString());
    },
  );

  // F31
  it.each([400, 404, 409, 500, 503, 504, 529])(
    'with error status %i keeps its bytes and reveals no quota',
    async (status) => {
      const body = `{"type" : "error","error":{"type":"api_error","message":"é"},"request_id":"req_upstream"}`;
      answer = (res) => {
        res.writeHead(status, {
          'content-type': 'application/json',
          'request-id': 'req_upstream',
          'retry-after': '3600',
          'anthropic-organization-id': 'org-secret',
          'anthropic-ratelimit-requests-remaining': '7',
          'set-cookie': 'a=b',
        });
        res.end(body);
      };
      const response = await postMessages(gateway, apiKey, userMessage('Hello'));
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(body);
      expect(response.headers.get('request-id')).toBe('req_upstream');
      expect(response.headers.get('retry-after')).toBe('60');
      const names = [...response.headers.keys()];
      expect(names.filter((name) => /^anthropic|cookie/.test(name))).toEqual([]);
    },
  );

  // F365: the upstream says by its other headers whether, and in how many milliseconds, to try
  // again: both reach the client.
  it.each(['true', 'false'])('keeps the advice x-should-retry: %s and the wait', async (advice) => {
    answer = (res) => {
      const headers = { 'x-should-retry': advice, 'retry-after-ms': '1500' };
      res.writeHead(500, { 'content-type': 'application/json', ...headers });
      res.end(JSON.stringify({ type: 'error', error: { type: 'api_error', message: 'Oh' } }));
    };
    const { headers } = await postMessages(gateway, apiKey, userMessage('Hello'));
    expect([headers.get('x-should-retry'), headers.get('retry-after')]).toEqual([advice, '2']);
  });

  it.each([
    [401, 'authentication_error', 'invalid x-api-key', 502, 'api_error', 'false'],
    [403, 'permission_error', 'org-secret may not', 502, 'api_error', 'false'],
    [402, 'billing_error', 'org-secret must pay', 503, 'api_error', 'false'],
    ...ACCOUNT_SENTENCES.map(
      (message) => [400, 'invalid_request_error', message, 503, 'api_error', 'false'] as const,
    ),
    [429, 'rate_limit_error', 'org-secret: 50 per minute', 429, 'rate_limit_error', 'false'],
  ])(
    "with status %i that is about the operator's account is replaced by an error that does not mention it",
    async (status, type, message, shownStatus, shownType, shouldRetry) => {
      answer = (res) => {
        res.writeHead(status, { 'content-type': 'application/json', 'retry-after': '3600' });
        res.end(JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' }));
      };
      const response = await postMessages(gateway, apiKey, userMessage('Hello'));
      expect(response.status).toBe(shownStatus);
      expect(response.headers.get('x-should-retry')).toBe(shouldRetry);
      const text = await response.text();
      expect(JSON.parse(text).error.type).toBe(shownType);
      expect(text).not.toContain(message);
      if (status === 429) expect(response.headers.get('retry-after')).toBe('3600');
    },
  );

  it.each([
    [undefined, '5', null],
    ['600', '600', null],
    ['601', '601', 'false'],
    ['259200', '259200', 'false'],
  ])(
    'with a 429 that lasts %s seconds names that time, and after ten minutes asks not to try again',
    async (wait, shown, shouldRetry) => {
      answer = (res) => {
        const headers = wait === undefined ? {} : { 'retry-after': wait };
        res.writeHead(429, { 'content-type': 'application/json', ...headers });
        const error = { type: 'rate_limit_error', message: 'org-secret' };
        res.end(JSON.stringify({ type: 'error', error }));
      };
      const response = await postMessages(gateway, apiKey, userMessage('Hello'));
      const { status, headers } = response;
      expect([status, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([
        429,
        shown,
        shouldRetry,
      ]);
      expect((await response.json()).error.message).toContain(`${shown} seconds`);
    },
  );

  it.each([
    [400, 'claude_code_key_creator_not_member', 'false'],
    [400, 'cmek_key_disabled', 'false'],
    [400, 'cmek_key_network_blocked', 'false'],
    [400, 'organization_on_hold', 'false'],
    [429, 'contract_spend_limit_reached', 'false'],
    // The provider asks to send these again.
    [503, 'cmek_context_unavailable', null],
    [503, 'cmek_key_unreachable', null],
  ])(
    "with status %i and the code %s about the operator's account is replaced",
    async (status, code, shouldRetry) => {
      const error = { type: 'odd', message: 'org-secret', details: { error_code: code } };
      answer = (res) => {
        res.writeHead(status, { 'content-type': 'application/json' });
        res.end(JSON.stringify({ type: 'error', error }));
      };
      const response = await postMessages(gateway, apiKey, userMessage('Hello'));
      expect(response.status).toBe(503);
      expect(response.headers.get('x-should-retry')).toBe(shouldRetry);
      const text = await response.text();
      expect(JSON.parse(text).error.type).toBe('api_error');
      expect(text).not.toMatch(/org-secret|cmek/);
    },
  );

  it.each([
    [
      'HTML',
      502,
      (res: ServerResponse) => res.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
    ],
    [
      'a redirect',
      502,
      (res: ServerResponse) => res.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ],
    [
      'a 413 in HTML',
      413,
      (res: ServerResponse) => res.writeHead(413, { 'content-type': 'text/html' }).end('<html>'),
    ],
    [
      'invalid JSON with status 200',
      502,
      (res: ServerResponse) =>
        res.writeHead(200, { 'content-type': 'application/json' }).end('{"usage":'),
    ],
    ['a broken connection', 502, (res: ServerResponse) => res.destroy()],
  ])('that is %s becomes a %i in JSON, and is not charged', async (_what, status, reply) => {
    answer = reply;
    const { id, apiKey: own } = await gateway.createKey();
    const response = await postMessages(gateway, own, userMessage('Hello'));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error' });
    expect(received).toHaveLength(1);
    expect((await gateway.call('showKey', { key_id: id })).balance_usd).toBe('100');
  });
});
