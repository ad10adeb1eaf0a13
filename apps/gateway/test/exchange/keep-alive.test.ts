/**
 * Streams whose upstream is silent, or sends only what the client's format does not have, and whose
 * charge takes long. The time is virtual: the relay runs between an upstream and a client that are
 * objects of this test.
 */

import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import type { Response as ExpressResponse } from 'express';
import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import type { Dispatcher } from 'undici';
import { defaultPriceTableJson, parsePriceTable } from '@gateway/billing';
import { chatFormat } from '../../src/exchange/relay/chat-format.js';
import { nativeFormat } from '../../src/exchange/relay/native-format.js';
import { RELAY_PATIENCE, relay } from '../../src/exchange/relay/relay.js';
import type { RelayJob } from '../../src/exchange/relay/relay.js';
import type { RelayParts } from '../../src/exchange/relay/relay-parts.js';
import { responsesFormat } from '../../src/exchange/relay/responses-format.js';
import type { ResponseFormat } from '../../src/http/response-format.js';
import { boundOfModel } from '../../src/ledger/usage-bound.js';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
});

const MOST_SILENT_MS = 15_000;
const PING = 'event: ping\ndata: {"type": "ping"}\n\n';

const usage = { input_tokens: 1, output_tokens: 1 };
const UPSTREAM = [
  { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [], usage } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: ' wörld' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

const settings = {
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: null,
  reasoning: { effort: null, summary: null },
  text: { format: { type: 'text' as const } },
  tool_choice: 'auto' as const,
  top_p: null,
};
const FORMATS: readonly (readonly [name: string, make: () => ResponseFormat])[] = [
  ['messages', () => nativeFormat],
  [
    'chat.completions',
    () =>
      chatFormat({ model: 'm', includeUsage: true, reasoning: 'none' } as never, { created: 1 }),
  ],
  [
    'responses',
    () =>
      responsesFormat(
        { model: 'm', tools: new Map(), showsSummaries: false, settings },
        { created: 1 },
      ),
  ],
];

/** A client that takes everything at once, and remembers when. */
class Client extends EventEmitter {
  readonly req = { socket: new EventEmitter() };
  readonly socket = this.req.socket;
  readonly writableLength = 0;
  readonly destroyed = false;
  writableFinished = false;
  readonly writtenAt: number[] = [];
  #bytes = Buffer.alloc(0);

  get text(): string {
    return this.#bytes.toString();
  }
  writeHead(): void {
    this.writtenAt.push(Date.now());
  }
  write(piece: Uint8Array | string): true {
    this.#bytes = Buffer.concat([this.#bytes, Buffer.from(piece as string, 'latin1')]);
    this.writtenAt.push(Date.now());
    return true;
  }
  end(piece: Uint8Array | string): void {
    this.write(piece);
    this.writableFinished = true;
  }
}

interface Course {
  /** Bytes of the upstream, and the silence before each piece, in milliseconds. */
  readonly pieces: readonly (readonly [silenceMs: number, piece: Buffer])[];
  /** How long the charge takes. */
  readonly settleMs: number;
}

async function relayed(format: ResponseFormat, { pieces, settleMs }: Course): Promise<Client> {
  const client = new Client();
  const prices = parsePriceTable(defaultPriceTableJson);
  const settled = { outcome: 'settled', balance: 1n, isActive: true, writtenOff: 0n };
  const controller = { pause() {}, resume() {}, abort() {} };
  async function send(_call: unknown, handler: Dispatcher.DispatchHandler): Promise<void> {
    const of = controller as unknown as Dispatcher.DispatchController;
    handler.onResponseStart!(of, 200, {}, '');
    for (const [silenceMs, piece] of pieces) {
      if (silenceMs > 0) await passed(silenceMs);
      handler.onResponseData!(of, piece);
    }
    handler.onResponseEnd!(of, {});
  }
  const report = relay(
    {
      requestId: 'req_1',
      keyId: 'k',
      isModelOpen: false,
      usageBound: boundOfModel(prices.find('claude-opus-5')!),
      unknownMembers: [],
      prices,
      format,
      price: prices.find('claude-opus-5')!,
      upstream: {
        send: (...args: never[]) => void send(...(args as [never, never])),
        answersTo: () => ({ openStream: () => ({ push: same }), requestIdOf: () => undefined }),
      },
      call: { accountId: 'a', operation: 'messages' },
      res: client as unknown as ExpressResponse,
    } as unknown as RelayJob,
    {
      store: { settleTogether: () => passed(settleMs).then(() => [settled]) },
      refusals: { answered: () => undefined },
      limits: { answered: () => undefined },
      memory: { open: () => ({ release: () => undefined, resize: () => 'reserved' }) },
      overdraft: 'bounded',
      now: Date.now,
      patience: RELAY_PATIENCE,
    } as unknown as RelayParts,
  );
  let isOver = false;
  const setOver = () => (isOver = true);
  report.then(setOver, setOver);
  while (!isOver) await jest.advanceTimersByTimeAsync(1_000);
  expect((await report).charged).toBeDefined();
  return client;
}

const same = (chunk: Uint8Array): Uint8Array => chunk;

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const silence = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60_000 }));
const course = fc
  .record({
    cuts: fc.array(fc.tuple(fc.nat(UPSTREAM.length), silence), { maxLength: 8 }),
    first: silence,
    settleMs: silence,
  })
  .map(({ cuts, first, settleMs }): Course => {
    const bytes = Buffer.from(UPSTREAM);
    const sorted = [[0, first] as const, ...cuts].sort(([a], [b]) => a - b);
    const pieces = sorted.map(([from, silenceMs], index) => {
      const to = sorted[index + 1]?.[0] ?? bytes.length;
      return [silenceMs, bytes.subarray(from, to)] as const;
    });
    return { pieces, settleMs };
  });

// F37
// F174: silence of any length, anywhere in a stream of any format: never more than 15 s without
// bytes; without the pings, the same bytes.
// F175: a charge that takes long at the end of a stream: kept alive; the last events follow with
// the numbers that come next.
it.each(FORMATS)(
  'a stream is never silent for longer than 15 s, whatever the upstream and the ledger do: %s',
  async (name, make) => {
    const quick = { pieces: [[0, Buffer.from(UPSTREAM)]] as const, settleMs: 0 };
    const whole = withoutKeepAlive((await relayed(make(), quick)).text);
    await fc.assert(
      fc.asyncProperty(course, async (random) => {
        const client = await relayed(make(), random);
        const gaps = client.writtenAt.map((at, index) => at - (client.writtenAt[index - 1] ?? at));
        expect(Math.max(...gaps)).toBeLessThanOrEqual(MOST_SILENT_MS);
        if (name === 'responses') expectConsecutive(client.text);
        // The id of a response that began before its message is the gateway's own.
        const text = withoutKeepAlive(client.text).replaceAll(/_req_1/g, '_1');
        expect(text).toBe(whole);
      }),
      { numRuns: 60 },
    );
  },
);

// F173: an upstream that is silent in a Responses stream; Codex: `keepalive` events with numbers
// without gaps.
it('a Responses stream gets events with numbers, because Codex discards comments', async () => {
  const [start, rest] = [UPSTREAM.indexOf('event: content_block_delta'), UPSTREAM.length];
  const bytes = Buffer.from(UPSTREAM);
  const pieces = [
    [0, bytes.subarray(0, start)],
    [45_000, bytes.subarray(start, rest)],
  ] as const;
  const { text } = await relayed(FORMATS[2]![1](), { pieces, settleMs: 0 });
  expect(text).toContain('event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n');
  expect(text).not.toMatch(/^:/m);
});

// F174
it.each([
  ['messages', Anthropic],
  ['messages', Anthropic0],
  ['chat.completions', OpenAI],
  ['chat.completions', OpenAI6],
] as const)(
  'SDKs read the same from a stream that was silent everywhere: %s',
  async (name, Sdk) => {
    const make = FORMATS.find(([format]) => format === name)![1];
    const events = UPSTREAM.split(/(?<=\n\n)/).map((event) => Buffer.from(event));
    const silent = { pieces: events.map((event) => [20_000, event] as const), settleMs: 20_000 };
    const quick = { pieces: events.map((event) => [0, event] as const), settleMs: 0 };
    const [kept, plain] = [await relayed(make(), silent), await relayed(make(), quick)];
    expect(kept.text.length).toBeGreaterThan(plain.text.length);
    jest.useRealTimers();
    expect(await read(Sdk, kept.text)).toEqual(await read(Sdk, plain.text));
  },
);

type Sdk = typeof Anthropic | typeof Anthropic0 | typeof OpenAI | typeof OpenAI6;

/** The message or completion that the helper of an SDK makes of a stream. */
function read(Sdk: Sdk, text: string): Promise<unknown> {
  const headers = { 'content-type': 'text/event-stream' };
  const fetch = () => Promise.resolve(new Response(text, { headers }));
  const client = new Sdk({ apiKey: 'k', maxRetries: 0, fetch });
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  return 'messages' in client
    ? (client as Anthropic).messages.stream({ model: 'm', max_tokens: 1, messages }).finalMessage()
    : (client as OpenAI).chat.completions
        .stream({ model: 'm', messages, stream_options: { include_usage: true } })
        .finalChatCompletion();
}

function withoutKeepAlive(text: string): string {
  return text
    .replaceAll(PING, '')
    .replaceAll(/event: keepalive\n.*\n\n|^: keep-alive\n\n/gm, '')
    .replaceAll(/"sequence_number":\d+/g, '');
}

function expectConsecutive(text: string): void {
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) =>
    Number(number),
  );
  expect(numbers).toEqual(numbers.map((_, index) => index));
}

// F174
it('a ping never falls into an event of which a part was passed on', async () => {
  const head = UPSTREAM.slice(0, UPSTREAM.indexOf('event: content_block_start'));
  const large = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'text', text: 'x'.repeat(3_000_000) },
  };
  const event = `event: content_block_start\ndata: ${JSON.stringify(large)}\n\n`;
  const bytes = Buffer.from(head + event + UPSTREAM.slice(head.length));
  const within = head.length + 2_000_000;
  const pieces = [
    [0, bytes.subarray(0, within)],
    [60_000, bytes.subarray(within)],
  ] as const;
  const { text } = await relayed(nativeFormat, { pieces, settleMs: 0 });
  expect(text).toBe(bytes.toString());
});
