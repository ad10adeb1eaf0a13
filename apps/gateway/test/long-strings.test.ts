import { expect, it } from '@jest/globals';
import { writeJson } from '../src/exchange/preparation/long-strings.js';

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
  expect(writeJson(value) === JSON.stringify(value)).toBe(true);
  expect(writeJson(text) === JSON.stringify(text)).toBe(true);
});
