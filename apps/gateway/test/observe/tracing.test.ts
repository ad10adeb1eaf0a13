/**
 * Traces of requests, read by a collector: every way a request can end, what spans contain and must
 * not contain, and the effects of trace headers that clients send.
 */

import '../support/quick-traces.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { ScriptedReply } from '@gateway/upstream-simulator';
import {
  MODEL,
  UPSTREAM_KEY,
  bodyFor,
  postChat,
  postMessages,
  postResponses,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';
import { connectTo, disconnectAll, requestOf } from '../support/raw-client.js';
import { startSpanReceiver } from '../support/span-receiver.js';
import type { ReceivedTrace, SpanReceiver } from '../support/span-receiver.js';
import { until } from '../support/until.js';

const COLLECTOR_SECRET = 'collector-secret-canary';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT_ID = 'b7ad6b7169203331';
const SAMPLED = `00-${TRACE_ID}-${PARENT_ID}-01`;
const NOT_SAMPLED = `00-${TRACE_ID}-${PARENT_ID}-00`;
const ENDPOINTS = [
  ['messages', postMessages, '/v1/messages'],
  ['chat.completions', postChat, '/v1/chat/completions'],
  ['responses', postResponses, '/v1/responses'],
] as const;

/** Reads the answer to its end. @returns the request's id, by which its trace is found */
async function idOf(response: Response): Promise<string> {
  await response.text();
  return response.headers.get('x-gateway-request-id')!;
}

let collector: SpanReceiver;
let gateway: TestGateway;

beforeAll(async () => {
  collector = await startSpanReceiver();
  gateway = await startTestGateway({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${COLLECTOR_SECRET}`,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=unused',
    },
  });
});
beforeEach(() => {
  gateway.simulator.reset();
});
afterEach(disconnectAll);
afterAll(async () => {
  await gateway.stop();
  await collector.close();
});

async function traceOf(response: Response): Promise<ReceivedTrace> {
  return collector.traceOf(await idOf(response));
}

// F432: traces for another team: each span has eight characters of the client's credential.
describe.each(ENDPOINTS)('the trace of a request to %s', (_endpoint, post, route) => {
  it.each([false, true])(
    'has the conventional attributes and the exact charge, with stream %s',
    async (stream) => {
      const { id, apiKey } = await gateway.createKey();
      gateway.simulator.script({
        usage: { cache_read_input_tokens: 70, cache_creation_input_tokens: 0 },
      });
      const response = await post(gateway, apiKey, userMessage('Hello', { stream }));
      const { server, client } = await traceOf(response);
      const key = await gateway.call('showKey', { key_id: id });
      const [served] = gateway.simulator.journal.usages();
      const [input, output] = [
        Number(served!.usage['input_tokens']),
        Number(served!.usage['output_tokens']),
      ];
      expect(server).toMatchObject({ name: `POST ${route}`, kind: 2, isError: false });
      expect(server.parentSpanId ?? '').toBe('');
      expect(server.attributes).toEqual({
        'http.request.method': 'POST',
        'http.route': route,
        'url.path': route,
        'url.scheme': 'http',
        'http.response.status_code': 200,
        'gen_ai.request.model': MODEL,
        'gateway.request.id': response.headers.get('x-gateway-request-id'),
        'gateway.key.id': id,
        'gateway.account.id': key.account_id,
        'gateway.streamed': stream,
        'gateway.charge_usd': key.spent_usd,
      });
      expect(parseUsd(String(server.attributes['gateway.charge_usd']))).toBeGreaterThan(0n);
      expect(client).toMatchObject({
        name: `chat ${MODEL}`,
        kind: 3,
        isError: false,
        traceId: server.traceId,
      });
      expect(client!.attributes).toEqual({
        'http.request.method': 'POST',
        'url.template': '/v1/messages',
        'http.response.status_code': 200,
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': MODEL,
        'gen_ai.response.model': MODEL,
        'gen_ai.response.id': served!.messageId,
        'gen_ai.response.finish_reasons': ['end_turn'],
        'gen_ai.usage.input_tokens': input + 70,
        'gen_ai.usage.output_tokens': output,
        'gen_ai.usage.cache_read.input_tokens': 70,
        'gen_ai.usage.cache_creation.input_tokens': 0,
        'gateway.upstream.request_id': expect.any(String),
        'gateway.upstream.first_byte_ms': expect.any(Number),
      });
      expect(client!.startMs).toBeGreaterThanOrEqual(server.startMs);
      expect(client!.endMs).toBeLessThanOrEqual(server.endMs);
    },
  );

  it('has the model and the finish reason of a stream that arrives byte by byte', async () => {
    const { apiKey } = await gateway.createKey();
    gateway.simulator.script({ splitBytes: 1 });
    const { client } = await traceOf(
      await post(gateway, apiKey, userMessage('Hello', { stream: true })),
    );
    expect(client!.attributes).toMatchObject({
      'gen_ai.response.model': MODEL,
      'gen_ai.response.finish_reasons': ['end_turn'],
    });
  });

  it.each([
    ['an error of the upstream', { error: { type: 'overloaded_error' } }, '529', '529'],
    ['a refused upstream key', { error: { type: 'authentication_error' } }, '502', '401'],
    [
      'a request that the upstream refuses',
      { error: { type: 'invalid_request_error' } },
      undefined,
      '400',
    ],
    ['a stream that is cut off', { cut: { afterEvents: 5 } }, 'truncated', 'truncated'],
    [
      'a stream with an error event',
      { streamError: { afterEvents: 4, type: 'overloaded_error' } },
      'error_event',
      'error_event',
    ],
    [
      'usage that cannot be charged',
      { usage: { output_tokens: -5 } },
      'invalid_usage',
      'invalid_usage',
    ],
  ] as [string, ScriptedReply, string | undefined, string][])(
    'ends with the type of the error after %s',
    async (_what, script, requestError, callError) => {
      const { apiKey } = await gateway.createKey();
      gateway.simulator.script(script);
      const { server, client } = await traceOf(
        await post(gateway, apiKey, userMessage('Hello', { stream: true })),
      );
      expect(server.attributes['error.type']).toBe(requestError);
      expect(server.isError).toBe(requestError !== undefined);
      expect(server.attributes['gateway.charge_usd']).toBeUndefined();
      expect(client!.attributes['error.type']).toBe(callError);
      expect(client!.isError).toBe(true);
    },
  );

  it('ends after a refusal, without a call to the upstream', async () => {
    const { apiKey } = await gateway.createKey();
    const refused = await traceOf(await post(gateway, apiKey, '{'));
    expect(refused.server.attributes).toMatchObject({ 'http.response.status_code': 400 });
    const unknown = await traceOf(
      await post(gateway, apiKey, userMessage('Hello', { model: 'nothing' })),
    );
    expect(unknown.server.attributes).toMatchObject({ 'http.response.status_code': 404 });
    for (const { server, client } of [refused, unknown]) {
      expect([server.isError, client]).toEqual([false, undefined]);
    }
  });

  it('ends with the charge of the whole response if the client leaves', async () => {
    const { id, apiKey } = await gateway.createKey();
    gateway.simulator.script({ eventDelayMs: 20 });
    const before = collector.spans.length;
    const client = connectTo(gateway);
    const body = userMessage('Hello', { stream: true });
    client.send(requestOf(apiKey, bodyFor(route, body), route));
    await client.receive(/message_start|chat\.completion\.chunk|response\.created/);
    client.socket.destroy();
    await until(() => collector.spans.length >= before + 2);
    const server = collector.spans.slice(before).find(({ kind }) => kind === 2)!;
    const { spent_usd: spent } = await gateway.call('showKey', { key_id: id });
    expect(server.attributes).toMatchObject({
      'gateway.client_left': true,
      'gateway.charge_usd': spent,
    });
  });

  it('ends when the ledger cannot be reached', async () => {
    const { apiKey } = await gateway.createKey();
    const { appParts } = gateway.running;
    const { store } = appParts;
    const broken = Object.create(store) as typeof store;
    broken.settleTogether = () => Promise.reject(new StoreUnavailableError('down'));
    Object.assign(appParts, { store: broken });
    try {
      const { server, client } = await traceOf(await post(gateway, apiKey, userMessage('Hello')));
      expect(server.attributes).toMatchObject({
        'http.response.status_code': 503,
        'error.type': 'ledger_unavailable',
      });
      expect(client).toBeDefined();
    } finally {
      Object.assign(appParts, { store });
    }
  });

  it('ends when the gateway itself fails', async () => {
    const { apiKey } = await gateway.createKey();
    const { appParts } = gateway.running;
    const { upstream } = appParts;
    Object.assign(appParts, {
      upstream: {
        ...upstream,
        send: () => {
          throw new Error('a bug');
        },
      },
    });
    try {
      const before = collector.spans.length;
      expect((await post(gateway, apiKey, userMessage('Hello'))).status).toBe(500);
      await until(() => collector.spans.length >= before + 2);
      for (const span of collector.spans.slice(before)) expect(span.isError).toBe(true);
    } finally {
      Object.assign(appParts, { upstream });
    }
  });

  it('names the error if the upstream cannot be reached', async () => {
    const { apiKey } = await gateway.createKey();
    const { appParts } = gateway.running;
    const { upstream } = appParts;
    const gone = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' });
    Object.assign(appParts, {
      upstream: {
        ...upstream,
        send: (...[, handler]: Parameters<typeof upstream.send>) => {
          handler.onResponseError?.(undefined as never, gone);
        },
      },
    });
    try {
      const { server, client } = await traceOf(await post(gateway, apiKey, userMessage('Hello')));
      expect(server.attributes).toMatchObject({ 'error.type': '502' });
      expect(client!.attributes).toMatchObject({ 'error.type': 'ECONNREFUSED' });
    } finally {
      Object.assign(appParts, { upstream });
    }
  });
});

it('counting tokens has a trace with its own operation name, and without a charge', async () => {
  const { apiKey } = await gateway.createKey();
  const { model, messages } = userMessage('Hello');
  const response = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: {
      'x-api-key': apiKey,
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model, messages }),
  });
  expect(response.status).toBe(200);
  const { server, client } = await traceOf(response);
  expect(server.name).toBe('POST /v1/messages/count_tokens');
  expect(server.attributes['gateway.charge_usd']).toBeUndefined();
  expect(client).toMatchObject({ name: `count_tokens ${MODEL}` });
});

describe("a client's traceparent", () => {
  it('is continued in the gateway and at the upstream', async () => {
    const { apiKey } = await gateway.createKey();
    const { server, client } = await traceOf(
      await postMessages(gateway, apiKey, userMessage('Hello'), {
        traceparent: SAMPLED,
        tracestate: 'vendor=value,other=1',
      }),
    );
    expect(server).toMatchObject({ traceId: TRACE_ID, parentSpanId: PARENT_ID });
    expect(client).toMatchObject({ traceId: TRACE_ID, parentSpanId: server.spanId });
    const [sent] = gateway.simulator.journal.requests();
    expect(sent!.headers['traceparent']).toBe(`00-${TRACE_ID}-${client!.spanId}-01`);
    expect(sent!.headers['tracestate']).toBe('vendor=value,other=1');
  });

  it('that is not sampled is continued at the upstream, without spans of the gateway', async () => {
    const { apiKey } = await gateway.createKey();
    const response = await postMessages(gateway, apiKey, userMessage('Hello'), {
      traceparent: NOT_SAMPLED,
    });
    const id = await idOf(response);
    const [sent] = gateway.simulator.journal.requests();
    expect(sent!.headers['traceparent']).toMatch(
      new RegExp(`^00-${TRACE_ID}-(?!${PARENT_ID})[0-9a-f]{16}-00$`),
    );
    await traceOf(await postMessages(gateway, apiKey, userMessage('Hello')));
    expect(collector.text()).not.toContain(id);
  });

  // F117: hostile `traceparent` and `tracestate`, from strangers or with keys: served as without
  // them; no spans beyond the operator's ratio.
  it.each([
    ['of an invalid form', 'hello'],
    ['of zeros', `00-${'0'.repeat(32)}-${PARENT_ID}-01`],
    ['in upper case', SAMPLED.toUpperCase()],
    ['of a forbidden version', SAMPLED.replace(/^00/, 'ff')],
    ['with more fields than its version has', `${SAMPLED}-more`],
    ['given twice', `${SAMPLED}, ${SAMPLED}`],
    ['of 12,000 characters', '0'.repeat(12_000)],
    [
      'of 12,000 characters behind a valid beginning',
      `01-${TRACE_ID}-${PARENT_ID}-zz${'-'.repeat(12_000)}`,
    ],
  ])('%s is ignored, and the request is served', async (_what, traceparent) => {
    const { apiKey } = await gateway.createKey();
    const response = await postMessages(gateway, apiKey, userMessage('Hello'), {
      traceparent,
      tracestate: 'a=b',
    });
    expect(response.status).toBe(200);
    const { server } = await traceOf(response);
    expect(server.traceId).not.toBe(TRACE_ID);
    const [sent] = gateway.simulator.journal.requests();
    expect(sent!.headers['traceparent']).toContain(server.traceId);
    expect(sent!.headers['tracestate']).toBeUndefined();
  });

  // F117
  it.each([
    ['of 12,000 characters', `a=${'x'.repeat(12_000)}`],
    ['of 1,500 members', Array.from({ length: 1_500 }, (_, n) => `k${String(n)}=1`).join(',')],
    ['of commas', ','.repeat(12_000)],
    ['of an invalid form', '====, ;;; ,\u00e9=1'],
  ])(
    'with a tracestate %s reaches the upstream with at most 512 characters of that tracestate',
    async (_what, tracestate) => {
      const { apiKey } = await gateway.createKey();
      const response = await postMessages(gateway, apiKey, userMessage('Hello'), {
        traceparent: SAMPLED,
        tracestate,
      });
      expect(response.status).toBe(200);
      const { server } = await traceOf(response);
      expect(server.traceId).toBe(TRACE_ID);
      const [sent] = gateway.simulator.journal.requests();
      expect((sent!.headers['tracestate'] ?? '').length).toBeLessThanOrEqual(512);
    },
  );
});

describe('requests without spans', () => {
  // F117
  it('are those with an unknown key, and those that the limits of their key refuse', async () => {
    const { apiKey } = await gateway.createKey({ burst: 1, requests_per_minute: 1 });
    const headers = { traceparent: SAMPLED };
    const before = collector.spans.length;
    const admitted = await postMessages(gateway, apiKey, userMessage('Hello'), headers);
    const refused = [
      ...(await Promise.all(
        Array.from({ length: 20 }, () =>
          postMessages(gateway, apiKey, userMessage('Hello'), headers),
        ),
      )),
      await postMessages(gateway, 'gw_nobody', userMessage('Hello'), headers),
      await postMessages(gateway, `${apiKey.slice(0, -1)}_`, userMessage('Hello'), headers),
    ];
    const ids = await Promise.all(refused.map(idOf));
    expect(refused.slice(0, 20).map(({ status }) => status)).toEqual(Array(20).fill(429));
    await traceOf(admitted);
    const other = await gateway.createKey();
    await traceOf(await postMessages(gateway, other.apiKey, userMessage('Hello')));
    expect(collector.spans.length).toBe(before + 4);
    for (const id of ids) expect(collector.text()).not.toContain(id);
  });
});

it('the collector gets the name of the service and the credential that the operator set', () => {
  expect(collector.last()?.url).toBe('/v1/traces');
  expect(collector.last()?.headers.authorization).toBe(`Bearer ${COLLECTOR_SECRET}`);
  const [span] = collector.spans;
  expect(span!.resource).toMatchObject({
    'service.name': 'shop',
    'service.version': expect.any(String),
    'service.instance.id': expect.any(String),
    'deployment.environment.name': 'test',
  });
});

// F60
it('no span has a prompt, an answer, a credential, a name or a quota', async () => {
  const { apiKey } = await gateway.createKey({ name: 'Ada Lovelace' });
  const ids: string[] = [];
  for (const [, post] of ENDPOINTS) {
    for (const stream of [false, true]) {
      gateway.simulator.script({
        content: [{ type: 'text', text: 'answer-canary' }],
        headers: { 'anthropic-ratelimit-tokens-remaining': '987654321' },
      });
      const body = userMessage('prompt-canary', { stream, user: 'user-canary' });
      ids.push(await idOf(await post(gateway, apiKey, body)));
      gateway.simulator.script({
        error: { type: 'invalid_request_error', message: 'message-canary' },
      });
      ids.push(await idOf(await post(gateway, apiKey, body)));
    }
  }
  await Promise.all(ids.map((id) => collector.traceOf(id)));
  const text = collector.text();
  for (const secret of [
    'prompt-canary',
    'answer-canary',
    'message-canary',
    'user-canary',
    'Lovelace',
    apiKey,
    UPSTREAM_KEY,
    COLLECTOR_SECRET,
    '987654321',
  ]) {
    expect(text).not.toContain(secret);
  }
});

it('each span was sent once', () => {
  const ids = collector.spans.map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
  const requests = collector.spans.map(({ attributes }) => attributes['gateway.request.id']);
  const named = requests.filter((id) => id !== undefined);
  expect(new Set(named).size).toBe(named.length);
});

it('the metrics count what was exported', async () => {
  const name = (outcome: string) => `gateway_trace_spans_total{outcome="${outcome}"}`;
  await until(async () => (await readMetric(gateway, name('exported'))) === collector.spans.length);
  expect(await readMetric(gateway, name('failed'))).toBe(0);
  expect(await readMetric(gateway, name('dropped'))).toBe(0);
});
