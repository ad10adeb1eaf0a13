/**
 * Runs the streams in `vectors/replay` through `createMessageStreamTap`, and reads its output by
 * Anthropic's SDKs.
 */

import { describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import fc from 'fast-check';
import {
  createMessagePieceTap,
  createMessageStreamTap,
  messageErrorEvent,
} from '../../src/native/index.js';
import {
  STREAM_VECTORS,
  bytesOf,
  bytewise,
  cutAt,
  framesOf,
  readingOf,
  run,
  vectorNamed,
  withEachLineEnd,
  type StreamVector,
} from '../replay-vectors.js';
import { runs } from '../../../../scripts/runs.cjs';

const USAGE_EVENT = /"usage":\{/;

function tap(pieces: readonly Uint8Array[]) {
  return run(createMessageStreamTap(), pieces);
}

function outcomeOf({ outcome, isCompleteUpstream }: StreamVector): StreamVector['outcome'] {
  return isCompleteUpstream === true ? 'complete' : outcome;
}

/**
 * The index of the first event that the tap must keep back, because it has the final usage.
 * `undefined` if the vector has none, or has it only as a part of raw text.
 */
function heldFrom(vector: StreamVector): number | undefined {
  if (vector.heldFrom !== undefined) return vector.heldFrom;
  const index = vector.upstream.findIndex(
    (event) => typeof event !== 'string' && event.type === 'message_delta' && event.usage != null,
  );
  return index === -1 ? undefined : index;
}

/** Without what follows the blank line after `message_stop`. */
function upToStop(bytes: Buffer): Buffer {
  const stop = /message_stop"[^\r\n]*(?:\r\n|\r|\n){2}/.exec(bytes.toString('latin1'));
  return stop === null ? bytes : bytes.subarray(0, stop.index + stop[0].length);
}

describe('native tap, with vectors', () => {
  for (const [name, vector] of STREAM_VECTORS) {
    const bytes = bytesOf(vector);

    const outcome = outcomeOf(vector);

    it(`${name}: ${outcome === 'complete' ? 'bytes pass untouched' : 'ends as an error'}`, () => {
      const { pushed, end } = tap([bytes]);
      if (outcome !== 'complete') {
        expect(end).toMatchObject({ outcome: 'failed', cause: outcome, error: vector.error });
        expect(pushed.toString()).not.toMatch(/"type":"message_delta"/);
        expect(bytes.subarray(0, pushed.length).equals(pushed)).toBe(true);
        expect(Buffer.from(end.tail).toString()).toBe(expectedTail(vector));
        return;
      }
      expect(Buffer.concat([pushed, end.tail]).toString()).toBe(upToStop(bytes).toString());
      const held = heldFrom(vector);
      if (held !== undefined) {
        expect(pushed.toString()).toBe(framesOf(vector).slice(0, held).join(''));
      }
      if (end.outcome === 'failed') throw new Error(end.cause);
      expect(end.messageId).toBe('msg_1');
      if (vector.stopReason !== undefined) expect(end.stopReason ?? null).toBe(vector.stopReason);
      expect(end.usage).toEqual(readingOf(vector));
    });

    // F35
    it(`${name}: has the same output at every split, and passes every line end`, () => {
      // After a failure, the tap does not wait for the LF of the last CRLF.
      for (const written of outcome === 'complete' ? withEachLineEnd(vector) : [bytes]) {
        const whole = tap([written]);
        const passed = Buffer.concat([whole.pushed, whole.end.tail]);
        if (outcome === 'complete') expect(passed).toEqual(upToStop(written));
        const same = (pieces: readonly Uint8Array[]): void => {
          expect(tap(pieces)).toEqual(whole);
        };
        same(bytewise(written));
        fc.assert(
          fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (fractions) => {
            same(cutAt(written, fractions));
          }),
          { numRuns: 15 },
        );
      }
    });
  }
});

describe('native tap', () => {
  const content = Buffer.from(
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n',
  );

  it('returns the same chunk object when nothing is kept back', () => {
    const pipe = createMessageStreamTap();
    expect(pipe.push(content)).toBe(content);
  });

  it('copies nothing when a chunk holds several events', () => {
    const pipe = createMessageStreamTap();
    const chunk = Buffer.concat([content, content, content]);
    const passed = pipe.push(chunk);
    expect([passed.buffer, passed.byteOffset, passed.length]).toEqual([
      chunk.buffer,
      chunk.byteOffset,
      chunk.length,
    ]);
  });

  it('reads an unusual event in the same way whether it comes whole or byte by byte', () => {
    const line = fc.constantFrom(
      'event: content_block_delta',
      'event: content_bl',
      'event: ping',
      'event: c',
      'event: p',
      'event: message_delta',
      'event: error',
      'data: {"type":"content_block_delta"}',
      'data: {"type":"message_delta","delta":{},"usage":{"output_tokens":1}}',
      'data: {"type":"error","error":{"type":"overloaded_error","message":"no"}}',
      '',
      '',
      ': a comment',
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.nat(200), (lines, maxEventBytes) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        const tapped = (pieces: readonly Uint8Array[]) =>
          run(createMessageStreamTap({ maxEventBytes }), pieces);
        expect(tapped([bytes])).toEqual(tapped(bytewise(bytes)));
      }),
      { numRuns: 1000 },
    );
  });

  // F359: bytes follow `message_stop`, in the same packet or in a later one: none is passed on.
  it('ends with message_stop, wherever the bytes that follow it are split', () => {
    const bytes = bytesOf(vectorNamed('framing-after-stop'));
    const whole = upToStop(bytes).toString();
    expect(whole.length).toBeLessThan(bytes.length);
    for (let at = 0; at <= bytes.length; at += 1) {
      const pipe = createMessageStreamTap();
      const out = [bytes.subarray(0, at), bytes.subarray(at)].map((piece) => pipe.push(piece));
      expect(Buffer.concat([...out, pipe.end().tail]).toString()).toBe(whole);
    }
  });

  // F36
  it('does not let an endless tail fill the memory, and still reads the usage', () => {
    const pipe = createMessageStreamTap({ maxEventBytes: 1024 });
    pipe.push(
      Buffer.from(
        'event: message_delta\ndata: {"delta":{},"usage":{"input_tokens":2,"output_tokens":1}}\n\n',
      ),
    );
    for (let i = 0; i < 100; i += 1) expect(pipe.push(content)).toHaveLength(0);
    pipe.push(Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n'));
    expect(pipe.isFinished).toBe(true);
    const end = pipe.end();
    expect(end).toMatchObject({ outcome: 'complete', usage: { usage: { outputTokens: 1 } } });
    expect(Buffer.from(end.tail).toString()).toMatch(/^event: error\n.*oversized event/);
  });

  // F141
  it('passes a content event of any size on as it arrives, and keeps at most a mebibyte of it', () => {
    const piece = Buffer.alloc(64 * 1024, 'x');
    const pipe = createMessagePieceTap();
    let kept = 0;
    let most = 0;
    const push = (bytes: Buffer): void => {
      kept += bytes.length;
      for (const { length } of pipe.push(bytes)) kept -= length;
      most = Math.max(most, kept);
    };
    push(Buffer.from('event: content_block_start\ndata: {"type":"content_block_start","data":"'));
    for (let sent = 0; sent < 100 * 1024 * 1024; sent += piece.length) push(piece);
    push(Buffer.from('"}\n\n'));
    expect(kept).toBe(0);
    expect(most).toBeLessThan(1.2 * 1024 * 1024);
  });

  it('ends a content event that broke off before the error event', () => {
    const pipe = createMessageStreamTap({ maxEventBytes: 100 });
    const bytes = Buffer.from(`event: content_block_start\ndata: {"data":"${'x'.repeat(200)}`);
    expect(Buffer.from(pipe.push(bytes))).toEqual(bytes);
    const { tail } = pipe.end();
    expect(Buffer.from(tail).toString()).toMatch(/^\n\nevent: error\ndata: .*\n\n$/);
  });

  // F141
  it('always reads the usage, and never passes it on, whatever is large and however it is written', () => {
    const form = fc.record({
      isNamed: fc.boolean(),
      isTypeLast: fc.boolean(),
      padding: fc.constantFrom(0, 0, 100, 5000),
      lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
      space: fc.constantFrom('', ' '),
    });
    const events = [
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 2 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '"usage":{}' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7777 } },
      { type: 'message_stop' },
    ];
    fc.assert(
      fc.property(
        fc.tuple(form, form, form, form, form),
        fc.integer({ min: 64, max: 3000 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        (forms, maxEventBytes, fractions) => {
          const bytes = Buffer.from(
            events
              .map(({ type, ...rest }, index) => {
                const { isNamed, isTypeLast, padding, lineEnd, space } = forms[index]!;
                // Content in which a program that does not count brackets would find members.
                const padded = {
                  ...rest,
                  padding: [{ usage: { output_tokens: 1 }, text: '"\\{['.repeat(padding / 5) }],
                };
                const data = JSON.stringify(isTypeLast ? { ...padded, type } : { type, ...padded });
                return `${isNamed ? `event: ${type}${lineEnd}` : ''}data:${space}${data}${lineEnd}${lineEnd}`;
              })
              .join(''),
          );
          for (const pieces of [[bytes], cutAt(bytes, fractions), bytewise(bytes)]) {
            const { pushed, end } = run(createMessageStreamTap({ maxEventBytes }), pieces);
            expect(end).toMatchObject({ outcome: 'complete', messageId: 'msg_1' });
            expect(end).toMatchObject({ usage: { usage: { inputTokens: 2, outputTokens: 7777 } } });
            expect(pushed.includes('7777')).toBe(false);
            const tail = Buffer.from(end.tail);
            if (end.outcome === 'complete' && end.error === undefined) {
              expect(Buffer.concat([pushed, tail])).toEqual(bytes);
            } else {
              expect(bytes.subarray(0, pushed.length)).toEqual(pushed);
              expect(tail.toString()).toMatch(/^event: error\ndata: .*oversized event/);
            }
          }
        },
      ),
      { numRuns: runs(__filename, 'streams') },
    );
  });

  it('waits for the LF of a CRLF that was split at the very end', () => {
    const pipe = createMessageStreamTap();
    pipe.push(Buffer.from('event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r'));
    expect(pipe.isFinished).toBe(false);
    pipe.push(Buffer.from('\n'));
    expect(pipe.isFinished).toBe(true);
  });
});

describe('createMessagePieceTap', () => {
  it('has the same output as createMessageStreamTap for every vector, split anywhere', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...STREAM_VECTORS),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        ([, vector], fractions) => {
          const chunks = cutAt(bytesOf(vector), fractions);
          const pipe = createMessagePieceTap();
          const pushed = Buffer.concat(chunks.flatMap((chunk) => pipe.push(chunk)));
          const { tail, ...end } = pipe.end();
          expect({ pushed, end: { ...end, tail: Buffer.concat(tail) } }).toEqual(
            withTailBuffer(tap(chunks)),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it('copies only the event that was split between two chunks', () => {
    const event = Buffer.from('event: ping\ndata: {"type":"ping"}\n\n');
    const pipe = createMessagePieceTap();
    pipe.push(event.subarray(0, 10));
    const chunk = Buffer.concat([event.subarray(10), event, event]);
    const [begun, others, ...rest] = pipe.push(chunk);
    expect(begun).toEqual(new Uint8Array(event));
    expect(others?.buffer).toBe(chunk.buffer);
    expect(others).toEqual(Buffer.concat([event, event]));
    expect(rest).toEqual([]);
  });
});

for (const [generation, Client] of [
  ['1.x', Anthropic],
  // The members used here are the same in both generations.
  ['0.x', Anthropic0 as unknown as typeof Anthropic],
] as const) {
  describe(`native tap, read by the Anthropic SDK ${generation}`, () => {
    for (const [name, vector] of STREAM_VECTORS) {
      if (vector.anthropicHelper === 'skip') continue;
      it(name, async () => {
        const { pushed, end } = tap([bytesOf(vector)]);
        const body = Buffer.concat([pushed, end.tail]);
        const client = new Client({
          apiKey: 'key',
          maxRetries: 0,
          fetch: () =>
            Promise.resolve(
              new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
            ),
        });
        const stream = client.messages.stream({ model: 'm', max_tokens: 1, messages: [] });
        if (outcomeOf(vector) !== 'complete') {
          // The SDKs repeat the message of the event, which may be empty.
          const message = vector.error?.message ?? '';
          await expect(stream.done()).rejects.toThrow(body.includes(message) ? message : '');
          return;
        }
        const message = await stream.finalMessage();
        expect(message.id).toBe('msg_1');
        if (vector.usage !== undefined) {
          expect(message.usage.output_tokens).toBe(vector.usage.outputTokens);
        }
      });
    }
  });
}

function withTailBuffer({ pushed, end }: ReturnType<typeof tap>) {
  return { pushed, end: { ...end, tail: Buffer.from(end.tail) } };
}

function expectedTail(vector: StreamVector): string {
  if (vector.tapTail !== undefined) return vector.tapTail;
  const upstreamError = framesOf(vector).find((frame) => frame.startsWith('event: error'));
  if (vector.outcome === 'error_event' && upstreamError !== undefined) return upstreamError;
  if (vector.error === undefined) throw new Error('a failure without an error');
  const own = Buffer.from(messageErrorEvent(vector.error)).toString();
  expect(own).not.toMatch(USAGE_EVENT);
  return own;
}
