/** What a pipe holds can be counted, and given up at any place without losing the usage. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createChatStream, createResponseStream, type StreamEnd } from '../../src/index.js';
import { createMessageStreamTap } from '../../src/native/index.js';
import { RESPONSES_CONTEXT } from '../answer-contexts.js';
import { bytesOf, CONTEXT, cutAt, run, STREAM_VECTORS } from '../replay-vectors.js';

const PIPES = [
  ['native', () => createMessageStreamTap()],
  ['chat', () => createChatStream(CONTEXT)],
  ['responses', () => createResponseStream(RESPONSES_CONTEXT)],
] as const;
const COMPLETE = STREAM_VECTORS.filter(
  ([, { outcome, upstream }]) =>
    outcome === 'complete' && upstream.every((event) => typeof event !== 'string'),
);
const FRACTION = fc.double({ min: 0, max: 1, noNaN: true });

function chargedOf(end: StreamEnd) {
  if (end.outcome === 'failed') throw new Error(end.cause);
  return { usage: end.usage, messageId: end.messageId };
}

describe.each(PIPES)('what a %s pipe holds', (name, open) => {
  it('is what it was given of an incomplete event', () => {
    const pipe = open();
    pipe.push(Buffer.from('event: message_start\ndata: {'));
    expect(pipe.heldBytes).toBe(28);
    pipe.push(Buffer.from('}\n\n'));
    expect(pipe.heldBytes).toBe(0);
  });

  // F452
  it('can be given up at any place, and the usage stays the same', () => {
    const vector = fc.constantFrom(...COMPLETE.map(([, each]) => each));
    fc.assert(
      fc.property(vector, fc.array(FRACTION, { minLength: 1 }), FRACTION, (each, cuts, place) => {
        const bytes = bytesOf(each);
        const whole = run(open(), [bytes]);
        const pipe = open();
        const pieces = cutAt(bytes, cuts);
        const at = Math.floor(place * (pieces.length - 1));
        const before = pieces.slice(0, at).map((piece) => pipe.push(piece));
        pipe.cut?.();
        expect(pipe.heldBytes).toBe(0);
        const { pushed, end } = run(pipe, pieces.slice(at));
        expect(chargedOf(end)).toEqual(chargedOf(whole.end));
        const output = Buffer.concat([...before, pushed, end.tail]);
        if (end.outcome === 'complete' && end.error === undefined) {
          expect(output).toEqual(Buffer.concat([whole.pushed, whole.end.tail]));
        } else if (name === 'native') {
          expect(output.toString()).not.toContain('message_stop');
          expect(output.toString()).toContain('oversized event');
        }
      }),
    );
  });
});

// F452
it('content of a native stream passes as it arrives, if asked, and nothing is lost', () => {
  const vector = fc.constantFrom(...COMPLETE.map(([, each]) => each));
  fc.assert(
    fc.property(vector, fc.array(FRACTION, { minLength: 1 }), (each, cuts) => {
      const bytes = bytesOf(each);
      const pipe = createMessageStreamTap();
      const pushed = cutAt(bytes, cuts).map((piece) => {
        const passed = pipe.push(piece);
        pipe.passEarly?.();
        return passed;
      });
      const end = pipe.end();
      expect(end).toEqual({ ...run(createMessageStreamTap(), [bytes]).end, tail: end.tail });
      expect(Buffer.concat([...pushed, end.tail])).toEqual(bytes);
    }),
  );
});
