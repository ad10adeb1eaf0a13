/** The check of single characters, compared with the decoder of the platform. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { characterLength } from '../../src/wire/utf8.js';
import { runs } from '../../../../scripts/runs.cjs';

/** How many bytes the first character takes, as the decoder says; 0 if it is not valid. */
function decodedLength(bytes: Uint8Array): number {
  for (const length of [2, 3, 4]) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        bytes.subarray(0, length),
      );
      if (bytes.length >= length && [...text].length === 1) return length;
    } catch {
      // It may take more bytes.
    }
  }
  return 0;
}

/** The first and the last bytes of each range of the table in the Unicode standard. */
const BOUNDS = [0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1];
const LATE_BOUNDS = [0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff, 0x00, 0x22];

describe('characterLength', () => {
  it('accepts exactly the characters beyond ASCII that the decoder accepts', () => {
    const anyByte = fc.oneof(fc.constantFrom(...BOUNDS, ...LATE_BOUNDS), fc.nat(255));
    const anyHead = fc.integer({ min: 0x80, max: 0xff });
    const rest = fc.array(anyByte, { maxLength: 4 });
    fc.assert(
      fc.property(anyHead, rest, (head, following) => {
        const bytes = Uint8Array.from([head, ...following]);
        expect(characterLength(bytes, 0)).toBe(decodedLength(bytes));
      }),
      { numRuns: runs(__filename, 'characters') },
    );
  });
});
