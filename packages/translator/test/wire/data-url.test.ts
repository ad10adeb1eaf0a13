import { expect, it } from '@jest/globals';
import { canonicalBase64 } from '../../src/wire/data-url.js';
import { PIECE_LENGTH } from '../../src/wire/raw-json.js';

it('base64 is read in pieces that end in no percent-escape', () => {
  for (let before = PIECE_LENGTH - 4; before <= PIECE_LENGTH + 1; before += 1) {
    const digits = 'A'.repeat(before);
    const rest = 'A'.repeat(2 * PIECE_LENGTH - before - 1);
    expect(canonicalBase64(`${digits}%2F${rest}`) === `${digits}/${rest}`).toBe(true);
  }
});
