/**
 * `createChatStream` and `createMessageStreamTap` with streams that the vectors in `vectors/replay`
 * do not show: oversized, huge or unreadable events, and events in pieces of their own.
 */

import { describe, expect, it } from '@jest/globals';
import { createChatStream } from '../../src/index.js';
import type { StreamEnd, StreamPipe } from '../../src/index.js';
import { createMessageStreamTap } from '../../src/native/index.js';
import { bytesOf, vectorNamed } from '../replay-vectors.js';

/** The beginning of a message, up to one text delta. */
function upToText(text: string): Uint8Array {
  const upstream = [
    { type: 'message_start', message: { id: 'm' } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  ];
  return bytesOf({ upstream });
}

/** Pushes the pieces. @returns the whole output, and how the stream ended */
function pump(pipe: StreamPipe, pieces: readonly Uint8Array[]): { text: string; end: StreamEnd } {
  let text = '';
  for (const piece of pieces) text += Buffer.from(pipe.push(piece)).toString();
  const end = pipe.end();
  return { text: text + Buffer.from(end.tail).toString(), end };
}

function expectMalformed(pipe: StreamPipe): void {
  pipe.push(new TextEncoder().encode('event: message_start\ndata: {"type":\n\n'));
  expect(pipe.end()).toMatchObject({ outcome: 'failed', cause: 'malformed' });
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

function chunksOf(text: string): Chunk[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)) as Chunk);
}

describe('createChatStream', () => {
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
    const content = chunksOf(pushed).at(-1)?.choices[0]?.delta.content;
    // `toBe` would print megabytes when it fails.
    expect(content === text).toBe(true);
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

  it('passes comments, a byte order mark, unnamed events and many pings untouched', () => {
    const ping = 'event: ping\ndata: {"type": "ping"}\n\n';
    const inner = bytesOf(vectorNamed('text')).toString();
    const text = `\ufeff: hello\n\n${ping.repeat(500)}data: {"type":"hologram"}\n\nid: 1\nretry: 5\n\n${inner}`;
    const { text: out, end } = pump(createMessageStreamTap(), [new TextEncoder().encode(text)]);
    expect(out).toBe(text);
    expect(end.outcome).toBe('complete');
  });

  it('finds the final usage also in events without a name', () => {
    const unnamed = bytesOf(vectorNamed('text'))
      .toString()
      .replace(/^event: .*\n/gm, '');
    const pipe = createMessageStreamTap();
    const early = Buffer.from(pipe.push(new TextEncoder().encode(unnamed))).toString();
    expect(early).not.toContain('message_delta');
    expect(pipe.end()).toMatchObject({ outcome: 'complete', usage: { outcome: 'read' } });
  });
});
