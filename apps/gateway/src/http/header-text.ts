/** Reads headers that name things in any language. */

import { isUtf8 } from 'node:buffer';

const BEYOND_ASCII = /[\x80-\xff]/;

/** The text of a header that may be UTF-8. Node.js reads the bytes of all headers as Latin-1. */
export function headerText(value: string): string {
  if (!BEYOND_ASCII.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}
