/** The text of a custom tool's call, read while its JSON text arrives. */

import { expect, it } from '@jest/globals';
import { CustomInputReader } from '../../src/responses-client/answer/custom-input.js';

it.each([
  ['plain text', 'ls -la'],
  ['escapes', 'a\n"b"\\c\u0001'],
  ['a character of two halves', 'a\u{1f600}b'],
  ['a backslash before what looks like half a character', 'a\\ud83d b'],
])('decodes %s exactly, wherever the JSON text is cut', (_what, text) => {
  const whole = JSON.stringify({ input: text }).replace(
    /[\ud800-\udfff]/g,
    (half) => `\\u${half.charCodeAt(0).toString(16)}`,
  );
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const reader = new CustomInputReader();
    const first = reader.push(whole.slice(0, cut));
    const second = reader.push(whole.slice(cut));
    expect(first + second).toBe(text);
    expect(reader.end()).toBe('');
  }
  const reader = new CustomInputReader();
  expect([...whole].map((character) => reader.push(character)).join('')).toBe(text);
  expect(reader.end()).toBe('');
});
