/**
 * The fast path for deltas (`message/string-deltas.ts`): whatever stands between deltas, and
 * however the bytes are split, the client gets what it gets from one event at a time.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createChatStream, createResponseStream, type StreamPipe } from '../../src/index.js';
import { RESPONSES_CONTEXT } from '../answer-contexts.js';
import { runs } from '../../../../scripts/runs.cjs';

const encoder = new TextEncoder();
const CHAT = { model: 'm', includeUsage: true, legacyFunctions: false, created: 0 };
const PIPES: [string, (model: string) => StreamPipe][] = [
  ['chat', (model) => createChatStream({ ...CHAT, model })],
  ['Responses', (model) => createResponseStream({ ...RESPONSES_CONTEXT, model })],
];

function event(data: { readonly type: string }): Uint8Array {
  return encoder.encode(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
}

function delta(index: number, text: string): Uint8Array {
  const inner =
    index === 0
      ? { type: 'text_delta', text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(text) };
  return event({ type: 'content_block_delta', index, delta: inner } as { type: string });
}

/** The same event with other line ends, which the fast path does not read. */
function withCr(bytes: Uint8Array): Uint8Array {
  if (bytes.includes(13)) return bytes;
  return Uint8Array.from([...bytes].flatMap((byte) => (byte === 10 ? [13, 10] : byte)));
}

function start(index: number, block: object): Uint8Array {
  return event({ type: 'content_block_start', index, content_block: block } as { type: string });
}

const BEGINNING = [
  event({ type: 'message_start', message: { id: 'msg_-1' } } as { type: string }),
  start(0, { type: 'text', text: '' }),
  start(1, { type: 'tool_use', id: 'call_1', name: 'f', input: {} }),
];
const END = [
  event({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use' },
    usage: { input_tokens: 1, output_tokens: 2 },
  } as { type: string }),
  event({ type: 'message_stop' }),
];

/** Bytes that are not UTF-8: many, so that a wrong length is longer than an event. */
const BROKEN = Array<number>(200).fill(0xff);

/** A delta of text with these bytes in its string. */
function rawDelta(bytes: readonly number[], end = '"}}'): Uint8Array {
  const name = 'event: content_block_delta\ndata: ';
  const head = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"';
  return Buffer.concat([
    encoder.encode(name + head),
    Buffer.from(bytes),
    Buffer.from(`${end}\n\n`),
  ]);
}

const json = (text: string): number[] => [...encoder.encode(text)];

/** Deltas in a form that the upstream rarely has, or never. */
const ODD_DELTAS = [
  rawDelta(json('padded'), '"}    }'),
  rawDelta(json('padded after the end'), '"}}  '),
  rawDelta(json('with another member'), '","more":1}}'),
  rawDelta(json('\\u00e9 \\/ \\ud83d\\ude00 \\ud800')),
  rawDelta(json('\ufeffmark')),
  rawDelta([]),
  // Not UTF-8: too short, too long, a surrogate, beyond Unicode, and bytes that never occur.
  ...[[0xc3], [0x80], [0xe4, 0xb8], [0xf0, 0x9f, 0x98]].map((bytes) => rawDelta(bytes)),
  ...[
    [0xc0, 0x80],
    [0xe0, 0x80, 0x80],
    [0xf0, 0x80, 0x80, 0x80],
  ].map((bytes) => rawDelta(bytes)),
  ...[
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xff, 0xfe],
  ].map((bytes) => rawDelta(bytes)),
];

/** Events that the fast path does not read, some of which no decoder keeps the length of. */
const OTHERS = [
  event({ type: 'ping' }),
  encoder.encode(': comment\n\n'),
  encoder.encode('data: {"type":\ndata: "ping"}\n\n'),
  encoder.encode('event: ping\r\ndata: {"type":"ping"}\r\n\r\n'),
  encoder.encode('event: later\ndata: "\u2028"\n\n'),
  encoder.encode('\ufeff: mark\n\n'),
  encoder.encode('event: ping\ndata: {"type":\ufffd}\n\n'),
  Uint8Array.from([...encoder.encode('event: ping\ndata: '), ...BROKEN, 10, 10]),
  event({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: 'not of this block' },
  } as { type: string }),
  event({
    type: 'content_block_delta',
    index: 7,
    delta: { type: 'thinking_delta', thinking: 'of no block' },
  } as { type: string }),
];

function read(pipe: StreamPipe, pieces: readonly Uint8Array[]): string {
  const output = [...pieces.map((piece) => pipe.push(piece)), pipe.end().tail];
  return Buffer.concat(output).toString();
}

const anyText = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('語'.repeat(100)));
const anyEvent = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.nat(1), anyText) },
  { weight: 1, arbitrary: fc.constantFrom(...OTHERS, ...ODD_DELTAS) },
);

describe.each(PIPES)('deltas in the format %s', (_, create) => {
  it('are written as if each was parsed: one at a time, together, and split anywhere', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), fc.array(fc.nat()), (middle, cuts) => {
        const events = [
          ...BEGINNING,
          ...middle.map((each) => (Array.isArray(each) ? delta(...each) : each)),
          ...END,
        ];
        const whole = Buffer.concat(events);
        const at = [...new Set(cuts.map((cut) => cut % whole.length))].sort((a, b) => a - b);
        const pieces = [0, ...at].map((from, i) => whole.subarray(from, at[i] ?? whole.length));
        const parsed = read(create('m'), events.map(withCr));
        expect(read(create('m'), events)).toBe(parsed);
        expect(read(create('m'), [whole])).toBe(parsed);
        expect(read(create('m'), pieces)).toBe(parsed);
      }),
      { numRuns: runs(__filename, 'splits') },
    );
  });

  it('are passed on, or else parsed, in whatever form they come', () => {
    for (const odd of ODD_DELTAS) {
      const events = [...BEGINNING, delta(0, 'before'), odd, delta(0, 'after'), ...END];
      const parsed = read(create('m'), events.map(withCr));
      expect(read(create('m'), [Buffer.concat(events)])).toBe(parsed);
    }
  });

  it('stand after names that contain what marks their place', () => {
    const bytes = Buffer.concat([...BEGINNING, delta(0, 'Hello'), delta(1, '-1'), ...END]);
    const named = read(create('m'), [bytes]);
    for (const model of ['\0', '"\0"', ':-1,', '"sequence_number":-1,']) {
      const replaced = named.replaceAll('"model":"m"', () => `"model":${JSON.stringify(model)}`);
      expect(read(create(model), [bytes])).toBe(replaced);
    }
  });
});
