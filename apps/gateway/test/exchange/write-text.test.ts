/** The form in which text is passed to a response: `encoded`. */

import { describe, expect, it } from '@jest/globals';
import { encoded } from '../../src/exchange/relay/write-text.js';

const SENTENCE = 'Grüße, 世界, 👋, and a lone surrogate: \ud800.';

const bytesOf = (piece: Uint8Array | string): Buffer =>
  typeof piece === 'string' ? Buffer.from(piece, 'latin1') : Buffer.from(piece);

describe('encoded', () => {
  it.each([
    ['an empty text', ''],
    ['ASCII', 'data: {"choices":[]}\n\n'],
    ['text beyond ASCII', SENTENCE],
    ['Latin-1 text', 'é'.repeat(100)],
    ['a text that is longer than the buffer for encoding', SENTENCE.repeat(10_000)],
    ['a long ASCII text', 'x'.repeat(1_000_000)],
  ])('gives the UTF-8 bytes of %s, if strings are written as latin1', (_name, text) => {
    expect(bytesOf(encoded(text)).equals(Buffer.from(text))).toBe(true);
  });

  it('returns ASCII text and bytes as they are', () => {
    const bytes = Buffer.from(SENTENCE);
    expect(encoded(bytes)).toBe(bytes);
    expect(encoded('ASCII')).toBe('ASCII');
  });

  it('returns bytes that later texts do not change', () => {
    const first = encoded(SENTENCE);
    encoded('ü'.repeat(SENTENCE.length));
    expect(bytesOf(first).toString()).toBe(Buffer.from(SENTENCE).toString());
  });
});
