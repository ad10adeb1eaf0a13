/**
 * `createChatStream` and `createMessageStreamTap` with every stream vector, whole and split. Two
 * generations of the OpenAI SDK also read the output of `createChatStream`.
 */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { createChatStream } from '../src/index.js';
import type { StreamEnd, StreamPipe } from '../src/index.js';
import { createMessageStreamTap } from '../src/native/index.js';
import { toolsOf, type VectorTools } from './called-as.js';
import { titled } from './titled.js';

interface StreamVector {
  readonly why: string;
  readonly context: VectorTools & {
    readonly includeUsage: boolean;
    readonly legacyFunctions?: boolean;
    readonly reasoning?: 'thinking_blocks' | 'reasoning_content';
    readonly annotations?: boolean;
  };
  /** Whether only the translation fails. The stream itself is complete. */
  readonly isCompleteUpstream?: true;
  readonly upstream: readonly { readonly type: string }[];
  readonly expected: {
    readonly deltas: readonly unknown[];
    readonly finish?: string;
    readonly usage?: Record<string, number>;
    readonly serviceTier?: string;
    readonly invalidUsage?: string;
    readonly failed?: string;
    readonly error?: { readonly type: string; readonly message: string };
  };
}

const FOLDER = join(__dirname, 'vectors/stream');
const vectors = readdirSync(FOLDER).map(
  (file) =>
    [
      file.replace('.json', ''),
      JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as StreamVector,
    ] as const,
);

function bytesOf({ upstream }: Pick<StreamVector, 'upstream'>, lineEnd = '\n'): Uint8Array {
  const events = upstream.map((event) =>
    [`event: ${event.type}`, `data: ${JSON.stringify(event)}`, '', ''].join(lineEnd),
  );
  return new TextEncoder().encode(events.join(''));
}

/** The beginning of a message, up to one text delta. */
function upToText(text: string): Uint8Array {
  const upstream = [
    { type: 'message_start', message: { id: 'm' } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  ];
  return bytesOf({ upstream });
}

const chatStream = (vector: StreamVector): StreamPipe =>
  createChatStream({
    model: 'm',
    created: 1,
    legacyFunctions: false,
    ...vector.context,
    tools: toolsOf(vector.context),
  });

/** Pushes the pieces. @returns the whole output, and how the stream ended */
function pump(pipe: StreamPipe, pieces: readonly Uint8Array[]): { text: string; end: StreamEnd } {
  let text = '';
  for (const piece of pieces) text += Buffer.from(pipe.push(piece)).toString();
  const end = pipe.end();
  return { text: text + Buffer.from(end.tail).toString(), end };
}

function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

function expectMalformed(pipe: StreamPipe): void {
  pipe.push(new TextEncoder().encode('event: message_start\ndata: {"type":\n\n'));
  expect(pipe.end()).toMatchObject({ outcome: 'failed', cause: 'malformed' });
}

interface Chunk {
  readonly choices: readonly { delta: object; finish_reason: string | null }[];
  readonly usage?: unknown;
  readonly service_tier?: string;
}

function chunksOf(text: string): Chunk[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)) as Chunk);
}

describe('createChatStream', () => {
  it.each(titled(vectors))('%s', (_title, vector) => {
    const { expected, context } = vector;
    const { text, end } = pump(chatStream(vector), [bytesOf(vector)]);
    const chunks = chunksOf(text);
    const deltas = chunks
      .filter(({ choices }) => choices?.[0]?.finish_reason === null)
      .map(({ choices }) => choices[0]!.delta);
    expect(deltas).toEqual(expected.deltas);
    if (expected.failed !== undefined) {
      expect(end).toMatchObject({
        outcome: 'failed',
        cause: expected.failed,
        error: expected.error,
      });
      expect(text).not.toContain('[DONE]');
      expect(chunks.at(-1)).toEqual({ error: { ...expected.error, param: null, code: null } });
      return;
    }
    expect(end.outcome).toBe('complete');
    expect(text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
    const finish = chunks.filter(({ choices }) => choices[0]?.finish_reason != null);
    expect(finish).toHaveLength(1);
    expect(finish[0]!.choices[0]).toMatchObject({ delta: {}, finish_reason: expected.finish });
    if (expected.invalidUsage !== undefined) {
      expect(end).toMatchObject({ usage: { outcome: 'invalid', reason: expected.invalidUsage } });
      return;
    }
    const { cached, written, reasoning, ...totals } = expected.usage!;
    const usage = {
      ...totals,
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      completion_tokens_details: { reasoning_tokens: reasoning },
    };
    expect(chunks.at(-1)!.usage).toEqual(usage);
    expect(chunks.at(-1)!.choices).toHaveLength(context.includeUsage ? 0 : 1);
    const others = chunks.slice(0, -1).map((chunk) => chunk.usage);
    expect(others.every((other) => other === (context.includeUsage ? null : undefined))).toBe(true);
    // The finish reason and the usage are in one chunk, or in two.
    const last = context.includeUsage ? 2 : 1;
    const tiers = chunks.map((chunk) => chunk.service_tier);
    expect(new Set(tiers.slice(0, -last))).toEqual(new Set([undefined]));
    expect(new Set(tiers.slice(-last))).toEqual(new Set([expected.serviceTier]));
  });

  // F35
  it.each(vectors)('%s: has the same output at every split and line end', (_name, vector) => {
    const whole = pump(chatStream(vector), [bytesOf(vector)]).text;
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const bytes = bytesOf(vector, lineEnd);
      const single = Array.from(bytes, (_byte, i) => bytes.subarray(i, i + 1));
      expect(pump(chatStream(vector), single).text).toBe(whole);
      fc.assert(
        fc.property(fc.array(fc.nat(100_000), { maxLength: 8 }), (cuts) => {
          expect(pump(chatStream(vector), split(bytes, cuts)).text).toBe(whole);
        }),
        { numRuns: 10 },
      );
    }
  });

  it('keeps the finish reason, the usage and [DONE] back until the end', () => {
    for (const [, vector] of vectors) {
      const pipe = chatStream(vector);
      const early = Buffer.from(pipe.push(bytesOf(vector))).toString();
      expect(early).not.toMatch(/"finish_reason":"|"usage":\{|\[DONE\]/);
    }
  });

  it.each([
    ['7.x', () => OpenAI],
    ['6.x', () => OpenAI6 as unknown as typeof OpenAI],
  ] as const)('is accumulated by the helper of openai %s', async (_generation, sdk) => {
    for (const [name, vector] of vectors) {
      const text = pump(chatStream(vector), [bytesOf(vector)]).text;
      const headers = { 'content-type': 'text/event-stream' };
      const client = new (sdk())({
        apiKey: 'k',
        maxRetries: 0,
        fetch: () => Promise.resolve(new Response(text, { headers })),
      });
      const final = client.chat.completions
        .stream({ model: 'm', messages: [{ role: 'user', content: 'a' }] })
        .finalChatCompletion();
      if (vector.expected.failed !== undefined) {
        await expect(final).rejects.toThrow(vector.expected.error!.message);
        continue;
      }
      // The helper of 6.x knows functions only.
      if (sdk() !== OpenAI && vector.context.customTools) {
        await expect(final).rejects.toThrow('function.name');
        continue;
      }
      const completion = await final;
      expect([name, completion.choices[0]!.finish_reason]).toEqual([name, vector.expected.finish]);
      const calls = completion.choices[0]!.message.tool_calls ?? [];
      if (vector.expected.finish === 'tool_calls') {
        for (const call of calls) {
          if (call.type === 'function') expect(JSON.parse(call.function.arguments)).toBeTruthy();
          else expect(vector.context.customTools).toContain(call.custom.name);
        }
      }
    }
  });

  it('skips an event that exceeds `maxEventBytes`, reads the usage behind it, and ends with an error', () => {
    const context = { model: 'm', created: 1, includeUsage: true, legacyFunctions: false };
    const bytes = Buffer.concat([
      upToText('x'.repeat(500)),
      Buffer.from(
        'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":2,"output_tokens":5}}\n\n' +
          'data: {"type":"message_stop"}\n\n',
      ),
    ]);
    const ends = [[bytes], [...bytes].map((byte) => Uint8Array.of(byte))].map((pieces) => {
      const { text, end } = pump(createChatStream(context, { maxEventBytes: 150 }), pieces);
      expect(text).not.toContain('xxx');
      expect(text).not.toContain('[DONE]');
      expect(text).toMatch(/data: \{"error":\{[^\n]*oversized event[^\n]*\n\n$/);
      expect(end).toMatchObject({ outcome: 'complete', error: { type: 'api_error' } });
      expect(end).toMatchObject({ usage: { outcome: 'read', usage: { outputTokens: 5 } } });
      return text;
    });
    expect(ends[0]).toBe(ends[1]);
  });

  it('writes the same output whether the events arrive in one piece or each in a piece of its own', () => {
    const context = { model: 'm', created: 1, includeUsage: true, legacyFunctions: false };
    const event = (type: string, rest: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
    const delta = (index: number, text: string): string =>
      event('content_block_delta', { index, delta: { type: 'text_delta', text } });
    const block = (index: number): string =>
      event('content_block_start', { index, content_block: { type: 'text', text: '' } });
    const start = event('message_start', { message: { id: 'msg_1', usage: {} } });
    const sequences = [
      [start, block(0), delta(0, 'a'), delta(0, 'b "\\\n'), block(1), delta(1, 'c'), delta(0, 'd')],
      [start, block(0), delta(0, 'a'), delta(1, 'of no block'), delta(0, 'b')],
      [start, block(0), delta(0, 'a'), ': comment\n\n', delta(0, 'é'), delta(0, 'b')],
      [start, block(0), delta(0, 'a'), 'event: message_delta\ndata: {\n\n', delta(0, 'too late')],
      [start, block(0), delta(0, 'a'), event('error', { error: {} }), delta(0, 'too late')],
      [start, block(0), delta(0, 'a'), event('message_stop', {}), delta(0, 'too late')],
      [delta(0, 'too early')],
    ];
    const encoder = new TextEncoder();
    for (const events of sequences) {
      const oneByOne = pump(
        createChatStream(context),
        events.map((text) => encoder.encode(text)),
      );
      const atOnce = pump(createChatStream(context), [encoder.encode(events.join(''))]);
      expect(atOnce).toEqual(oneByOne);
      expect(atOnce.text).not.toContain('too');
    }
  });

  it.each([
    ['nothing to escape', 'x'],
    ['escapes only', '\n'],
    ['more than ASCII', 'é'],
  ])('accepts a text delta of megabytes: %s', (_, character) => {
    const context = { model: 'm', created: 1, includeUsage: false, legacyFunctions: false };
    const text = character.repeat(8 * 1024 * 1024);
    const pushed = Buffer.from(createChatStream(context).push(upToText(text))).toString();
    const delta = chunksOf(pushed).at(-1)?.choices[0]?.delta as { content: string };
    // `toBe` would print megabytes when it fails.
    expect(delta.content === text).toBe(true);
  });

  it('ends as malformed when an event is not JSON', () => {
    const context = { model: 'm', created: 1, includeUsage: false, legacyFunctions: false };
    expectMalformed(createChatStream(context));
  });
});

describe('createMessageStreamTap', () => {
  it('ends as malformed when an event is not JSON', () => {
    expectMalformed(createMessageStreamTap());
  });

  const isTranslated = ([, vector]: (typeof vectors)[number]): boolean =>
    vector.expected.failed === undefined;
  const isComplete = (entry: (typeof vectors)[number]): boolean =>
    isTranslated(entry) || entry[1].isCompleteUpstream === true;

  it.each(vectors.filter(isComplete))('%s passes byte for byte', (_name, vector) => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const bytes = bytesOf(vector, lineEnd);
      const whole = Buffer.from(bytes).toString();
      const single = Array.from(bytes, (_byte, i) => bytes.subarray(i, i + 1));
      expect(pump(createMessageStreamTap(), single).text).toBe(whole);
      fc.assert(
        fc.property(fc.array(fc.nat(100_000), { maxLength: 8 }), (cuts) => {
          expect(pump(createMessageStreamTap(), split(bytes, cuts)).text).toBe(whole);
        }),
        { numRuns: 20 },
      );
    }
  });

  it.each(vectors.filter(isTranslated))(
    '%s reads the same usage as the translation',
    (_name, vector) => {
      const tapped = pump(createMessageStreamTap(), [bytesOf(vector)]).end;
      const translated = pump(chatStream(vector), [bytesOf(vector)]).end;
      expect(tapped.outcome === 'complete' && tapped.usage).toEqual(
        translated.outcome === 'complete' && translated.usage,
      );
    },
  );

  it.each(vectors.filter((entry) => !isComplete(entry)))(
    '%s fails, and reports the failure',
    (_name, vector) => {
      const { text, end } = pump(createMessageStreamTap(), [bytesOf(vector)]);
      expect(end).toMatchObject({ outcome: 'failed', cause: vector.expected.failed });
      expect(text).toContain('event: error\ndata: {"type":"error"');
      expect(
        text.startsWith(
          Buffer.from(bytesOf(vector))
            .toString()
            .split('event: error')[0]!
            .split('event: message_delta')[0]!,
        ),
      ).toBe(true);
    },
  );

  it('keeps back every byte of the final usage', () => {
    for (const [, vector] of vectors) {
      const early = Buffer.from(createMessageStreamTap().push(bytesOf(vector))).toString();
      expect(early).not.toMatch(/^event: (message_stop|error)|"type":"message_delta".*"usage"/m);
    }
  });

  it('passes comments, a byte order mark, unnamed events and many pings untouched', () => {
    const ping = 'event: ping\ndata: {"type": "ping"}\n\n';
    const [, vector] = vectors.find(([name]) => name === 'text')!;
    const inner = Buffer.from(bytesOf(vector)).toString();
    const text = `\ufeff: hello\n\n${ping.repeat(500)}data: {"type":"hologram"}\n\nid: 1\nretry: 5\n\n${inner}`;
    const { text: out, end } = pump(createMessageStreamTap(), [new TextEncoder().encode(text)]);
    expect(out).toBe(text);
    expect(end.outcome).toBe('complete');
  });

  it('finds the final usage also in events without a name', () => {
    const [, vector] = vectors.find(([name]) => name === 'text')!;
    const unnamed = Buffer.from(bytesOf(vector))
      .toString()
      .replace(/^event: .*\n/gm, '');
    const pipe = createMessageStreamTap();
    const early = Buffer.from(pipe.push(new TextEncoder().encode(unnamed))).toString();
    expect(early).not.toContain('message_delta');
    expect(pipe.end()).toMatchObject({ outcome: 'complete', usage: { outcome: 'read' } });
  });

  it('returns a chunk without copying it when nothing is kept back', () => {
    const chunk = new TextEncoder().encode('event: ping\ndata: {"type": "ping"}\n\n'.repeat(3));
    const passed = createMessageStreamTap().push(chunk);
    expect(passed.buffer).toBe(chunk.buffer);
    expect(passed).toEqual(chunk);
  });
});
