import type { Encoding, Stringify } from '../src/index.js';

/** Options that write JSON text in pieces of at most three characters, and join the parts. */
export const IN_PIECES: Encoding<string> & { readonly stringify: Stringify } = {
  stringify: (value, take) => {
    for (const [piece] of JSON.stringify(value).matchAll(/(?:\\u.{4}|\\.|[^\\]){1,3}/gsu))
      take(piece);
  },
  encode: (write) => {
    const parts: string[] = [];
    write((part) => parts.push(part));
    return parts.join('');
  },
};
