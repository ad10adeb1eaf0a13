/** The search of a body for ids finds those that plain expressions find. */

import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../../../scripts/runs.cjs';
import { CALL_ID } from '../../src/exchange/response-memory/kept-thinking.js';
import { idsIn } from '../../src/exchange/response-memory/look-up.js';
import { CONTINUED, ITEM_ID } from '../../src/exchange/response-memory/referred-responses.js';

/** They try an end again and again, so they are slow for a text that is almost an id. */
const PLAIN = [
  ['a continued response', CONTINUED, /"previous_response_id"\s*:\s*"([\w-]{1,200})"/g],
  ['an item', ITEM_ID, /"id"\s*:\s*"([a-z]{1,8}_[\w-]{1,200}_\d{1,6})"/g],
  ['a call', CALL_ID, /"id"\s*:\s*"([\w-]{1,200})"/g],
] as const;

function idsByPlain(body: Buffer, pattern: RegExp, most: number): readonly string[] {
  const found = [...body.toString('latin1').matchAll(pattern)].slice(0, 20_000);
  return [...new Set(found.map(([, id]) => id!))].slice(0, most);
}

const repeated = (text: string, max: number) =>
  fc.integer({ min: 0, max }).map((count) => text.repeat(count));
const numbers = fc.stringMatching(/^\d{0,8}$/);
const blanks = fc.constantFrom('', ' ', '\n\t ', '\u00a0', '\u0085', '\v\f\r');
/** Near the limits of each part: 8 letters, 200 characters, 6 digits. */
const nearId = fc
  .tuple(
    fc.constantFrom('', 'a', 'msg', 'abcdefgh', 'abcdefghi', 'Ab'),
    fc.constantFrom('', '_', '__'),
    fc.oneof(
      repeated('x', 4),
      repeated('_1', 4),
      fc.integer({ min: 198, max: 202 }).map((n) => 'y'.repeat(n)),
    ),
    fc.constantFrom('', '_', '__', '-'),
    numbers,
  )
  .map((parts) => parts.join(''));
const member = fc
  .tuple(
    fc.constantFrom('"id"', '"previous_response_id"', '"id', 'id"'),
    blanks,
    fc.constantFrom(':', ':', ':', '', '::'),
    blanks,
    fc.constantFrom('"', '"', '"', ''),
    nearId,
    fc.constantFrom('"', '"', '"', '', '!', '\u00e9"'),
  )
  .map((parts) => parts.join(''));
const piece = fc.oneof(
  { weight: 6, arbitrary: member },
  fc.constantFrom('"', ',', 'id', '"id":', '_', '1', ' ', '{"', '"}', '"id":"id"'),
  fc.string({ maxLength: 5 }),
);
const bodies = fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.from(pieces.join('')));

const LONGEST = [199, 200, 201].flatMap((length) => {
  const ids = [`msg_${'x'.repeat(length)}_123456`, 'y'.repeat(length)];
  return ids.map((id): [Buffer, number] => [
    Buffer.from(`{"id":"${id}","previous_response_id":"${id}"id":"fc_a_1"}`),
    Infinity,
  ]);
});

// F331
it.each(PLAIN)(
  'the id of %s is found wherever a plain expression finds it',
  (_what, form, plain) => {
    let found = 0;
    fc.assert(
      fc.property(bodies, fc.constantFrom(1, 4, Infinity), (body, most) => {
        const ids = idsIn(body, form, most);
        expect(ids).toEqual(idsByPlain(body, plain, most));
        found += ids.length;
      }),
      { numRuns: runs(__filename, 'bodies'), examples: LONGEST },
    );
    expect(found).toBeGreaterThan(0);
  },
);

it.each(PLAIN)('at most 20,000 ids of %s are read', (_what, form, plain) => {
  const name = form === CONTINUED ? 'previous_response_id' : 'id';
  const texts = Array.from({ length: 20_010 }, (_, n) => `{"${name}":"fc_${String(n)}_0"}`);
  const body = Buffer.from(texts.join(','));
  expect(idsIn(body, form, Infinity)).toHaveLength(20_000);
  expect(idsIn(body, form, Infinity)).toEqual(idsByPlain(body, plain, Infinity));
});
