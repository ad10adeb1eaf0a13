import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../../../scripts/runs.cjs';
import { wellFormed } from '../../src/wire/raw-json.js';

const UNITS = ['a', 'u', 'ud83d', '🙂', '\\\\', '\\"', '\\n', '\\u0041'];
const SURROGATES = ['\\ud83d', '\\uD83D', '\\ude00', '\\uDE00', '\\ud83d\\ude00'];
const text = fc
  .array(fc.constantFrom(...UNITS, ...SURROGATES), { maxLength: 60 })
  .map((units) => `"${units.join('')}"`);
/** A piece ends up to two escapes before its length. */
const SHORTEST_PIECE = 13;

it('wellFormed replaces unpaired surrogates and changes nothing else, wherever a piece ends', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: SHORTEST_PIECE, max: 40 }), (json, pieceLength) => {
      const pieces = wellFormed(json, pieceLength);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(pieceLength);
      for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
      expect(JSON.parse(pieces.join(''))).toBe((JSON.parse(json) as string).toWellFormed());
      expect(pieces.join('')).toBe(wellFormed(json, Infinity).join(''));
    }),
    { numRuns: runs(__filename, 'texts') },
  );
});
