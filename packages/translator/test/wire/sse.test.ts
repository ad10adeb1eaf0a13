import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EventSplitter } from '../../src/wire/event-splitter.js';
import type { ServerSentEvent } from '../../src/wire/sse.js';
import { eventsOf } from '../sse-events.js';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('server-sent events', () => {
  it.each<[string, string, ServerSentEvent[]]>([
    ['a named event', 'event: a\ndata: 1\n\n', [{ event: 'a', data: '1' }]],
    [
      'CRLF and CR, mixed',
      'event: a\r\ndata: 1\r\r\ndata: 2\n\n',
      [
        { event: 'a', data: '1' },
        { event: '', data: '2' },
      ],
    ],
    ['several data lines', 'data: 1\ndata: 2\n\n', [{ event: '', data: '1\n2' }]],
    ['comments and other fields', ': hi\nid: 7\nretry: 1\ndata:x\n\n', [{ event: '', data: 'x' }]],
    ['one blank after the colon, no more', 'data:  x\n\n', [{ event: '', data: ' x' }]],
    ['a byte order mark', '\ufeffdata: x\n\n', [{ event: '', data: 'x' }]],
    ['U+2028, which ends no line', 'data: a\u2028b\n\n', [{ event: '', data: 'a\u2028b' }]],
    ['events without data', 'event: a\n\nevent: b\ndata\n\n', []],
    ['a last event without its blank line', 'data: x', [{ event: '', data: 'x' }]],
  ])('reads %s', (_what, text, events) => {
    expect(eventsOf([encode(text)])).toEqual(events);
  });

  // F35
  it('reads the same events at any split, inside characters and line ends too', () => {
    const event = fc.record({
      name: fc.constantFrom('', 'a', 'message_delta'),
      data: fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 3 }),
      lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 6 }), fc.array(fc.nat(500)), (list, cuts) => {
        const text = list
          .map(({ name, data, lineEnd }) => {
            const clean = data.map((line) => `data: ${line.replace(/[\r\n]/g, ' ')}`);
            return [`event: ${name}`, ...clean, '', ''].join(lineEnd);
          })
          .join('');
        const bytes = encode(text);
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const pieces = [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
        expect(eventsOf(pieces)).toEqual(eventsOf([bytes]));
      }),
      { numRuns: 1000 },
    );
  });

  it('reads a line of 5 MB, and reports a line that exceeds the limit', () => {
    const long = `data: ${'x'.repeat(5_000_000)}\n\n`;
    expect(eventsOf([encode(long)])[0]?.data).toHaveLength(5_000_000);
    const splitter = new EventSplitter(1000);
    expect(splitter.push(encode(long.slice(0, -2)), () => undefined)).toBe(false);
  });
});
