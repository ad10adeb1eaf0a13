/**
 * The record of requests: what it has of each request, that it has nothing of a prompt or an
 * answer, that a flood is counted rather than stored, and that requests do not depend on it.
 */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { RequestRecord } from '@gateway/balance-store';
import type { ScriptedReply } from '@gateway/upstream-simulator';
import { pino } from 'pino';
import { readClientHeaders } from '../../src/observe/requests/client-headers.js';
import { errorWords } from '../../src/observe/requests/error-words.js';
import {
  BATCH,
  MAX_WAITING,
  createRequestRecorder,
} from '../../src/observe/requests/request-recorder.js';
import { MAX_OF_ACCOUNT } from '../../src/observe/requests/waiting-requests.js';
import { createRegistry } from '../../src/observe/registry.js';
import {
  MODEL,
  ENDPOINTS,
  PATHS,
  POSTS,
  bodyFor,
  postMessages,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';
import { until } from '../support/until.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

/** Waits until this many requests of the key are recorded; the last one comes first. */
async function recordsOf(keyId: string, count: number): Promise<readonly RequestRecord[]> {
  let requests: readonly RequestRecord[] = [];
  await until(async () => {
    ({ requests } = await gateway.running.store.listRequests({ keyId, limit: 100 }));
    return requests.length >= count;
  });
  return requests;
}

it('records a charged request of each format with what it cost and who sent it', async () => {
  const { id: keyId, apiKey } = await gateway.createKey();
  const key = await gateway.running.store.getKey(keyId);
  for (const endpoint of ENDPOINTS) {
    const headers = {
      'user-agent': `tester/1.2 (and more) of ${endpoint}`,
      'x-claude-code-session-id': 'd6b1a4f2-session',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    const body = bodyFor(
      PATHS[endpoint],
      userMessage('Hello', { stream: endpoint === 'messages' }),
    );
    const response = await POSTS[endpoint](gateway, apiKey, body, headers);
    await response.text();
    const requestId = response.headers.get('x-gateway-request-id') ?? '';
    const [record] = (await recordsOf(keyId, ENDPOINTS.indexOf(endpoint) + 1)).slice(0, 1);
    const entry = await gateway.running.store.findEntry(keyId, requestId);
    if (entry?.kind !== 'charge') throw new Error('there is no charge');
    expect(record).toMatchObject({
      id: requestId,
      accountId: key?.accountId,
      keyId,
      model: MODEL,
      endpoint,
      status: 200,
      errorType: undefined,
      streamed: endpoint === 'messages',
      clientLeft: false,
      charge: -entry.delta,
      tokens: { input: entry.usage.inputTokens, output: entry.usage.outputTokens },
      upstreamStatus: 200,
      upstreamRequestId: response.headers.get('request-id'),
      client: 'tester/1.2',
      sessionId: 'd6b1a4f2-session',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      count: 1,
    });
    expect(record?.firstByteMs).toBeLessThanOrEqual(record?.durationMs ?? -1);
  }
});

it('records failed requests: who refused them, with which words, and what the upstream said', async () => {
  const { id: keyId, apiKey } = await gateway.createKey();
  const cases: [ScriptedReply | undefined, Partial<RequestRecord>][] = [
    [
      { error: { type: 'invalid_request_error', message: 'messages.0: is too long' } },
      { status: 400, errorType: 'invalid_request_error', errorMessage: 'messages.0: is too long' },
    ],
    [
      { error: { type: 'authentication_error', message: 'invalid x-api-key' } },
      {
        status: 502,
        errorType: 'api_error',
        errorMessage: "the upstream refused the gateway's own credential; your key is fine",
        fault: 'upstream 401: authentication_error',
        upstreamStatus: 401,
      },
    ],
    [
      { withoutUsage: true },
      { status: 502, errorType: 'malformed', upstreamStatus: 200, charge: undefined },
    ],
    [undefined, { status: 400, errorType: 'invalid_request_error', upstreamStatus: undefined }],
  ];
  for (const [index, [script, expected]] of cases.entries()) {
    if (script !== undefined) gateway.simulator.script(script);
    const body = userMessage('Hello', script === undefined ? { max_tokens: 'many' } : {});
    await (await postMessages(gateway, apiKey, body)).text();
    const [record] = await recordsOf(keyId, index + 1);
    expect(record).toMatchObject(expected);
  }
});

it('has nothing of a prompt or an answer, whatever fails', async () => {
  const marker = 'Xq7Marker';
  const secret = `${marker} Zv9Secret`;
  const { id: keyId, apiKey } = await gateway.createKey();
  const echo = (quoted: string): ScriptedReply => ({
    error: { type: 'invalid_request_error', message: `messages.0.content: Input ${quoted} is bad` },
  });
  const scripts: (ScriptedReply | undefined)[] = [
    undefined,
    { content: [{ type: 'text', text: secret }] },
    ...[`'${secret}'`, `"${secret}"`, `\`${secret}\``, `{"${marker}": 1}`, secret].map(echo),
    { error: { type: 'api_error', message: secret } },
    { error: { type: 'rate_limit_error', message: secret } },
    { error: { type: 'permission_error', message: secret } },
    {
      status: 418,
      body: JSON.stringify({ type: 'error', error: { type: marker, message: secret } }),
    },
    { status: 500, body: secret },
    { body: `{"content": "${secret}` },
    { withoutUsage: true, content: [{ type: 'text', text: secret }] },
    { streamError: { afterEvents: 2, type: 'api_error', message: secret } },
    { garbage: { afterEvents: 2, bytes: `${secret}\n\n` } },
    { cut: { afterEvents: 3, how: 'reset' }, content: [{ type: 'text', text: secret }] },
  ];
  const bad = [
    { max_tokens: secret },
    { [marker]: secret },
    { model: marker },
    { tools: [{ name: marker, input_schema: { type: secret } }] },
    { messages: [{ role: marker, content: secret }] },
    { messages: [{ role: 'user', content: [{ type: marker, [marker]: secret }] }] },
    { tool_choice: { type: marker, name: secret } },
    { metadata: { user_id: secret } },
  ];
  const headers = {
    'user-agent': `{${secret}}`,
    'x-session-id': secret,
    traceparent: secret,
    'anthropic-beta': secret,
  };
  for (const endpoint of ENDPOINTS) {
    for (const stream of [true, false]) {
      for (const script of scripts) {
        if (script !== undefined) gateway.simulator.script(script);
        const body = bodyFor(PATHS[endpoint], userMessage(secret, { stream }));
        await POSTS[endpoint](gateway, apiKey, body, headers)
          .then((response) => response.text())
          .catch(() => undefined);
      }
    }
    for (const change of bad) {
      const body = bodyFor(PATHS[endpoint], { ...userMessage(secret), ...change });
      await (await POSTS[endpoint](gateway, apiKey, body)).text();
    }
    await (await POSTS[endpoint](gateway, apiKey, `{"${secret}`)).text();
  }
  // Requests are recorded in the order in which they end, so the others were recorded before it.
  const response = await postMessages(gateway, apiKey, userMessage('Hello'));
  const id = response.headers.get('x-gateway-request-id') ?? '';
  const { store } = gateway.running;
  await until(async () => (await store.listRequests({ id, limit: 1 })).requests.length > 0);
  const failed = await store.listRequests({ keyId, failed: true, limit: 100 });
  expect(new Set(failed.requests.map(({ errorType }) => errorType)).size).toBeGreaterThan(5);
  const { path = '' } = gateway.running.dataDir ?? {};
  const files = readdirSync(path).filter((name) => name.startsWith('requests.db'));
  expect(files).toContain('requests.db');
  for (const name of files) {
    const content = readFileSync(join(path, name), 'latin1').toLowerCase();
    expect(content.includes('xq7')).toBe(false);
    expect(content.includes('zv9')).toBe(false);
  }
  // The files have what they should have.
  expect(files.some((name) => readFileSync(join(path, name), 'latin1').includes(keyId))).toBe(true);
});

it('serves and charges requests while they cannot be recorded, and counts them', async () => {
  const { id: keyId, apiKey } = await gateway.createKey();
  const { store } = gateway.running;
  const record = jest
    .spyOn(store, 'recordRequests')
    .mockImplementation(() => Promise.reject(new Error('the disk is full')));
  const name = 'gateway_requests_unrecorded_total';
  const before = (await readMetric(gateway, name)) ?? 0;
  try {
    const response = await postMessages(gateway, apiKey, userMessage('Hello'));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ type: 'message' });
    await until(async () => ((await readMetric(gateway, name)) ?? 0) > before);
  } finally {
    record.mockRestore();
  }
  expect((await gateway.call('showKey', { key_id: keyId })).spent_usd).not.toBe('0');
});

describe('the recorder', () => {
  beforeAll(() => {
    jest.useFakeTimers({ now: 1_800_000_000_000 });
  });
  afterAll(() => {
    jest.useRealTimers();
  });
  afterEach(() => jest.clearAllTimers());

  function setUp(store = jest.fn(() => Promise.resolve())) {
    const registry = createRegistry();
    const log = pino({ level: 'silent' });
    const recorder = createRequestRecorder({
      store: { recordRequests: store },
      registry,
      log,
      now: Date.now,
    });
    const batches = store.mock.calls as unknown as [
      { id: string; kept: readonly RequestRecord[]; counted: readonly RequestRecord[] },
    ][];
    return {
      recorder,
      largest: () =>
        Math.max(...batches.map(([{ kept, counted }]) => kept.length + counted.length)),
      ids: () => batches.map(([{ id }]) => id),
      kept: () => batches.flatMap(([{ kept }]) => kept),
      counted: () => batches.flatMap(([{ counted }]) => counted),
      dropped: async () => {
        const metric = await registry.getSingleMetric('gateway_requests_unrecorded_total')?.get();
        return metric?.values[0]?.value;
      },
    };
  }

  let last = 0;
  const request = (changes: Partial<RequestRecord> = {}): RequestRecord => {
    last += 1;
    return {
      id: `req_${String(last)}`,
      accountId: 'acct_1',
      keyId: 'key_1',
      model: undefined,
      endpoint: 'messages',
      status: 400,
      errorType: 'invalid_request_error',
      upstreamAccount: undefined,
      endedAt: Date.now(),
      durationMs: 2,
      firstByteMs: undefined,
      streamed: false,
      clientLeft: false,
      tokens: undefined,
      charge: undefined,
      errorMessage: undefined,
      fault: undefined,
      upstreamStatus: undefined,
      upstreamRequestId: undefined,
      traceId: undefined,
      client: undefined,
      sessionId: undefined,
      tag: undefined,
      count: 1,
      since: undefined,
      ...changes,
    };
  };

  it('keeps two requests of a minute of equal refusals, and the number of all', async () => {
    const { recorder, kept, counted } = setUp();
    for (let second = 0; second < 55; second += 1) {
      for (let count = 0; count < 100; count += 1) recorder.record(request(), true);
      recorder.record(request({ keyId: 'key_2' }), true);
      await jest.advanceTimersByTimeAsync(1_000);
    }
    expect(kept().map(({ keyId, count }) => [keyId, count])).toEqual([
      ['key_1', 1],
      ['key_2', 1],
    ]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(kept().map(({ keyId, count }) => [keyId, count])).toEqual([
      ['key_1', 1],
      ['key_2', 1],
      ['key_1', 5_499],
      ['key_2', 54],
    ]);
    expect(counted()).toEqual([]);
  });

  it('keeps so many of an account in an hour, counts the others, and leaves room for other accounts', async () => {
    const { recorder, kept, counted } = setUp();
    for (let count = 0; count < MAX_OF_ACCOUNT + 50; count += 1) {
      recorder.record(request(), false);
      if (count % 200 === 0) await jest.advanceTimersByTimeAsync(1);
    }
    recorder.record(request({ accountId: 'acct_2' }), false);
    await recorder.stop();
    expect(kept()).toHaveLength(MAX_OF_ACCOUNT + 1);
    expect(counted()).toHaveLength(50);
    expect(kept().at(-1)?.accountId).toBe('acct_2');
  });

  // F395: an account is refused in thousands of ways: with 2,000 kinds a minute it hid the refused
  // requests of all others. Each account has kinds of its own.
  it('keeps the refusals of others, whatever one account is refused for', async () => {
    const { recorder, kept, counted, dropped } = setUp();
    const kinds = 12_000;
    for (let kind = 0; kind < kinds; kind += 1) {
      recorder.record(request({ model: `model-${String(kind)}` }), true);
      if (kind % 100 === 0) await jest.advanceTimersByTimeAsync(1);
    }
    const others = Array.from({ length: 50 }, (_, i) =>
      request({ accountId: `acct_b${String(i)}` }),
    );
    for (const each of others) recorder.record(each, true);
    const unknown = request({ accountId: undefined, keyId: undefined, status: 401 });
    recorder.record(unknown, true);
    await jest.advanceTimersByTimeAsync(1_000);
    const ids = new Set(kept().map(({ id }) => id));
    for (const { id } of [...others, unknown]) expect(ids.has(id)).toBe(true);
    // Nothing is lost of the sums, and the account finds its first kinds.
    expect(kept().filter(({ accountId }) => accountId === 'acct_1')).toHaveLength(200);
    expect(counted()).toHaveLength(kinds - 200);
    expect(await dropped()).toBe(0);
    // A minute later, it has them again.
    await jest.advanceTimersByTimeAsync(61_000);
    const later = request({ model: 'model-later' });
    recorder.record(later, true);
    await recorder.stop();
    expect(kept().map(({ id }) => id)).toContain(later.id);
  });

  // F395
  it('keeps refusals of each account, however many accounts are refused in many ways', async () => {
    const { recorder, kept } = setUp();
    for (let account = 0; account < 60; account += 1) {
      for (let kind = 0; kind < 250; kind += 1) {
        const of = { accountId: `acct_${String(account)}`, model: `model-${String(kind)}` };
        recorder.record(request(of), true);
      }
      await jest.advanceTimersByTimeAsync(1_000);
    }
    const other = request({ accountId: 'acct_other' });
    recorder.record(other, true);
    await recorder.stop();
    expect(kept().map(({ id }) => id)).toContain(other.id);
    expect(kept().filter(({ accountId }) => accountId === 'acct_59')).toHaveLength(10);
  });

  // F396: while the database hangs, one account fills the queue: the requests of others still wait,
  // in place of its latest.
  it('lets no account displace the others while a batch hangs', async () => {
    let finish: () => void = () => undefined;
    const store = jest.fn(() => Promise.resolve());
    store.mockImplementationOnce(() => new Promise((resolve) => (finish = resolve)));
    const { recorder, kept, dropped } = setUp(store);
    recorder.record(request(), false);
    await jest.advanceTimersByTimeAsync(1_000);
    for (let count = 0; count < MAX_WAITING + 5; count += 1) recorder.record(request(), false);
    const others = Array.from({ length: 100 }, () => request({ accountId: 'acct_2' }));
    for (const each of others) recorder.record(each, false);
    expect(await dropped()).toBe(105);
    finish();
    await recorder.stop();
    const ids = new Set(kept().map(({ id }) => id));
    for (const { id } of others) expect(ids.has(id)).toBe(true);
    // Those that found no place are one gap, with their number.
    const gaps = kept().filter(({ since }) => since !== undefined);
    expect(gaps).toMatchObject([{ accountId: 'acct_1', count: 105 }]);
    expect(kept()).toHaveLength(1 + MAX_WAITING + 1);
  });

  it('records what it cannot hold as a gap while a batch hangs, and records again afterwards', async () => {
    let finish: () => void = () => undefined;
    const hanging = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const store = jest.fn(() => Promise.resolve());
    store.mockImplementationOnce(() => hanging);
    const { recorder, kept, dropped } = setUp(store);
    recorder.record(request(), false);
    await jest.advanceTimersByTimeAsync(1_000);
    for (let count = 0; count < MAX_WAITING + 7; count += 1) recorder.record(request(), false);
    expect(await dropped()).toBe(7);
    finish();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(kept()).toHaveLength(MAX_WAITING + 1 + 1);
    expect(kept().at(-1)).toMatchObject({ count: 7, since: Date.now() - 2_000 });
    await recorder.stop();
    recorder.record(request(), false);
    expect(await dropped()).toBe(8);
  });

  // F298: thousands of requests wait while the database is slow. They were written as one batch,
  // and no request was served while it was encoded.
  it('writes all that waited for a slow batch, in small batches', async () => {
    let finish: () => void = () => undefined;
    const store = jest.fn(() => Promise.resolve());
    store.mockImplementationOnce(() => new Promise((resolve) => (finish = resolve)));
    const { recorder, kept, largest } = setUp(store);
    for (let count = 0; count < MAX_WAITING; count += 1) recorder.record(request(), false);
    finish();
    await jest.advanceTimersByTimeAsync(0);
    expect([kept().length, largest()]).toEqual([MAX_WAITING, BATCH]);
    for (let count = 0; count < BATCH - 1; count += 1) recorder.record(request(), false);
    await recorder.stop();
    expect([kept().length, largest()]).toEqual([MAX_WAITING + BATCH - 1, BATCH]);
  });

  it('counts what it cannot write before it stops', async () => {
    const store = jest.fn(() => Promise.resolve());
    const { recorder, dropped } = setUp(store);
    store.mockImplementation(() => Promise.reject(new Error('the disk is full')));
    for (let count = 0; count < 3 * BATCH; count += 1) recorder.record(request(), false);
    await recorder.stop();
    expect(store).toHaveBeenCalledTimes(2);
    expect(await dropped()).toBe(3 * BATCH);
  });

  // F418: the record is away for minutes: requests that were charged are missing from it, and what
  // is left is shown as all. They wait and are written once; what finds no room is named as a gap.
  it('repeats a batch without an answer under its id, and records the sums of what found no room', async () => {
    let isAway = true;
    const store = jest.fn(() =>
      isAway ? Promise.reject(new StoreUnavailableError('locked')) : Promise.resolve(),
    );
    const { recorder, ids, kept, dropped } = setUp(store);
    const tokens = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    const charged = { status: 200, errorType: undefined, tokens, charge: 5n } as const;
    const first = Date.now();
    for (let second = 0; second < 150; second += 1) {
      for (let count = 0; count < 40; count += 1) recorder.record(request(charged), false);
      await jest.advanceTimersByTimeAsync(1_000);
    }
    const failed = store.mock.calls.length;
    expect(failed).toBeGreaterThan(3);
    expect(new Set(ids()).size).toBe(1);
    isAway = false;
    await jest.advanceTimersByTimeAsync(15_000);
    const written = kept().slice(failed * 40);
    const sumOf = (of: (each: RequestRecord) => number) =>
      written.reduce((sum, each) => sum + of(each), 0);
    expect(sumOf(({ count }) => count)).toBe(6_000);
    expect(sumOf(({ charge }) => Number(charge))).toBe(6_000 * 5);
    expect(sumOf((each) => each.tokens?.output ?? 0)).toBe(6_000 * 2);
    const gaps = written.filter(({ since }) => since !== undefined);
    expect(sumOf(({ count, since }) => (since === undefined ? 0 : count))).toBe(await dropped());
    expect(await dropped()).toBe(6_000 - 40 - MAX_WAITING);
    for (const { since, endedAt } of gaps) {
      expect(since).toBeGreaterThan(first);
      expect(endedAt).toBeGreaterThanOrEqual(since ?? Infinity);
      expect(endedAt - (since ?? 0)).toBeLessThan(300_000);
    }
    await recorder.stop();
  });

  it('does not repeat a batch that is refused, and pauses', async () => {
    const store = jest.fn(() => Promise.resolve());
    store.mockImplementationOnce(() => Promise.reject(new Error('the disk is full')));
    const { recorder, dropped } = setUp(store);
    recorder.record(request({ count: 3 }), false);
    await jest.advanceTimersByTimeAsync(1_000);
    recorder.record(request(), false);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(store).toHaveBeenCalledTimes(1);
    expect(await dropped()).toBe(3);
    await jest.advanceTimersByTimeAsync(6_000);
    expect(store).toHaveBeenCalledTimes(2);
    await recorder.stop();
  });
});

describe('the words of an error', () => {
  it.each([
    [
      'messages.0.content.1.text: must not be empty',
      'messages.0.content.1.text: must not be empty',
    ],
    [
      'prompt is too long: 210000 tokens > 200000 maximum',
      'prompt is too long: 210000 tokens > 200000 maximum',
    ],
    ['`temperature` may only be set to 1', '`temperature` may only be set to 1'],
    ["messages: roles 'secret words' must alternate", 'messages: roles …'],
    ['Unable to download https://example.com/secret', 'Unable to download …'],
  ])('of the upstream: %s', (message, words) => {
    expect(errorWords({ type: 'invalid_request_error', message, source: 'upstream' })).toBe(words);
  });

  it('of the gateway has what follows a quotation', () => {
    const message = 'model: "a \\" b" is not offered; GET /v1/models lists those that are';
    expect(errorWords({ type: 'not_found_error', message, source: 'gateway' })).toBe(
      'model: … is not offered; GET /v1/models lists those that are',
    );
  });

  it('are few', () => {
    expect(errorWords({ type: 'api_error', message: 'x'.repeat(5_000), source: 'upstream' })).toBe(
      '…',
    );
    const message = 'so many words '.repeat(500);
    expect(errorWords({ type: 'api_error', message, source: 'gateway' }).length).toBeLessThan(165);
  });
});

it('reads a program, a session and a trace from headers of their form only', () => {
  expect(
    readClientHeaders({ 'user-agent': 'codex_cli_rs/0.38.0 (Ubuntu)', session_id: 'abcd' }),
  ).toEqual({
    client: 'codex_cli_rs/0.38.0',
    sessionId: 'abcd',
    tag: undefined,
    traceId: undefined,
  });
  expect(
    readClientHeaders({
      'user-agent': '(Ubuntu)',
      'session-id': 'two words',
      'x-session-id': 'y'.repeat(65),
      traceparent: '00-1-2',
    }),
  ).toEqual({ client: undefined, sessionId: undefined, tag: undefined, traceId: undefined });
});

// F524: a tag outside of ASCII in a header was another tag than the same one in a body: the bytes
// of UTF-8 were read as Latin-1, so its budget did not count it.
it.each([
  ['in UTF-8', Buffer.from('Müller 日本').toString('latin1'), 'Müller 日本'],
  ['in Latin-1', 'Müller', 'Müller'],
  ['in ASCII', 'Mueller', 'Mueller'],
  ['with a line break of Unicode', Buffer.from('a\u2028b').toString('latin1'), undefined],
])('reads a tag %s', (_name, header, tag) => {
  expect(readClientHeaders({ 'x-gateway-tag': header }).tag).toBe(tag);
});
