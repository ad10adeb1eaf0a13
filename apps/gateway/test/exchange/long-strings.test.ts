import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../../../scripts/runs.cjs';
import { encodeParts, writeJson } from '../../src/exchange/preparation/long-strings.js';

const LONG = 600_000;
const TEXTS = [
  ['ASCII', 'a'.repeat(LONG)],
  ['surrogate pairs, with each border of pieces between two pairs', '🙂'.repeat(LONG / 2)],
  ['surrogate pairs, one of which lies across a border of pieces', `a${'🙂'.repeat(LONG / 2)}`],
  [
    'a lone surrogate and a pair across a border',
    `${'a'.repeat(0x7fff)}\ud83d🙂${'a'.repeat(LONG)}`,
  ],
  ['lone surrogates', '\ud83d'.repeat(LONG)],
  ['characters to escape', '"\\\n\u0000'.repeat(LONG / 4)],
] as const;

function partsOf(value: unknown): string[] {
  const parts: string[] = [];
  writeJson(value, (part) => parts.push(part));
  return parts;
}

it.each(TEXTS)('writeJson writes a long text of %s as JSON.stringify does', (_name, text) => {
  const value = {
    left: undefined,
    text,
    list: [{ text: 'short' }, text, 1, null, `${text}"mark"`],
    [`member ${text.slice(0, 10)}`]: true,
    [text]: [],
  };
  for (const each of [value, text]) {
    expect(partsOf(each).join('') === JSON.stringify(each)).toBe(true);
  }
});

it('writeJson writes any JSON as JSON.stringify does, in parts of a bounded length', () => {
  const text = fc.nat(60_000).map((length) => 'é🙂'.repeat(length / 2));
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(0, 1e21, null, false, undefined),
      text,
      tie('list'),
      tie('object'),
    ),
    list: fc.array(
      tie('value').map((item) => item ?? null),
      { maxLength: 5 },
    ),
    object: fc.dictionary(
      fc.constantFrom('a', '7', '__proto__', 'toJSON', 'é'.repeat(40_000)),
      tie('value'),
    ),
  })).object;
  fc.assert(
    fc.property(value, (each) => {
      const parts = partsOf(each);
      expect(parts.join('') === JSON.stringify(each)).toBe(true);
      // A character is written as at most six, and each value with a name and some signs.
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(7 * 0x8000);
    }),
    { numRuns: runs(__filename, 'values') },
  );
});

// F304: a body has many texts with one emoji each: it takes no more memory than others of its size.
it.each([
  ['a list', (text: string) => Array<string>(1_000).fill(text)],
  [
    'an object',
    (text: string) =>
      Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`m${String(n)}`, text])),
  ],
])('writeJson writes %s of many texts in parts', (_name, make) => {
  const value = make('🙂'.repeat(1_000));
  const parts = partsOf(value);
  expect(parts.join('') === JSON.stringify(value)).toBe(true);
  expect(parts.length).toBeGreaterThan(60);
  expect(parts.length).toBeLessThan(200);
});

it('encodeParts encodes all parts, however many bytes were expected', () => {
  const parts = ['a', 'é🙂', '', '🙂'.repeat(1_000), 'z'.repeat(50_000), 'y'];
  const text = Buffer.from(parts.join(''));
  for (const expected of [0, 1, 40_000, text.length, 100_000]) {
    const bytes = encodeParts((take) => {
      parts.forEach(take);
    }, expected);
    expect(text.equals(bytes)).toBe(true);
    // The memory that a kept conversation takes is counted by its bytes.
    expect(bytes.buffer.byteLength).toBeLessThanOrEqual(1.125 * text.length);
  }
});
