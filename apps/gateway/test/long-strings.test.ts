import { expect, it } from '@jest/globals';
import { encodePieces, writeJson } from '../src/exchange/preparation/long-strings.js';

const LONG = 600_000;
const TEXTS = [
  ['ASCII', 'a'.repeat(LONG)],
  ['surrogate pairs, with each border of pieces between two pairs', '🙂'.repeat(LONG / 2)],
  ['surrogate pairs, one of which lies across a border of pieces', `a${'🙂'.repeat(LONG / 2)}`],
  ['lone surrogates', '\ud83d'.repeat(LONG)],
  ['characters to escape', '"\\\n\u0000'.repeat(LONG / 4)],
] as const;

it.each(TEXTS)('writeJson writes a long text of %s as JSON.stringify does', (_name, text) => {
  const value = {
    left: undefined,
    text,
    list: [{ text: 'short' }, text, 1, null, `${text}"mark"`],
    [`member ${text.slice(0, 10)}`]: true,
  };
  expect([...writeJson(value)].join('') === JSON.stringify(value)).toBe(true);
  expect([...writeJson(text)].join('') === JSON.stringify(text)).toBe(true);
});

it('encodePieces encodes all pieces, however many bytes were expected', () => {
  const pieces = ['a', 'é🙂', '', '🙂'.repeat(1_000), 'z'];
  const text = Buffer.from(pieces.join(''));
  for (const expected of [0, 1, 100, text.length, 10_000]) {
    const bytes = encodePieces(pieces, expected);
    expect(text.equals(bytes)).toBe(true);
    // Otherwise all of it would be copied between threads.
    expect(bytes.buffer.byteLength).toBe(text.length);
  }
});
