/** Parts of a payment: tax in proportion, and all parts together exactly the whole. */

import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nextPart } from '../../src/payments/proportions.js';
import type { Part, Whole } from '../../src/payments/proportions.js';

const CENT = 10n ** 12n;

/** In USD, where cents are credited and taxed, and in a currency that was exchanged. */
const wholes: fc.Arbitrary<Whole> = fc
  .record({
    amountCents: fc.integer({ min: 2, max: 100_000 }),
    share: fc.integer({ min: 0, max: 99 }),
    perCent: fc.option(fc.bigInt({ min: CENT / 1_000n, max: 3n * CENT }), { nil: undefined }),
  })
  .map(({ amountCents, share, perCent }) => {
    const taxCents = BigInt(Math.floor((amountCents * share) / 100));
    const [worth, grain] = perCent === undefined ? [CENT, CENT] : [perCent, 1n];
    const [gross, tax] = [BigInt(amountCents) * worth, taxCents * worth];
    return { amountCents, credited: gross - tax, tax, grain };
  });

/** Takes a part, or returns one of those that were taken. */
const steps = fc.array(fc.tuple(fc.boolean(), fc.double({ min: 0, max: 1, noNaN: true })), {
  maxLength: 30,
});

const sumOf = (parts: readonly Part[], of: 'credited' | 'tax') =>
  parts.reduce((sum, part) => sum + part[of], 0n);
const amountOf = (parts: readonly Part[]) =>
  parts.reduce((sum, { amountCents }) => sum + amountCents, 0);

// F483: a payment with tax is refunded in parts, some of which fail: tax in proportion; all of it
// back means exactly its tax and its credit.
it('parts of any sizes, some returned in between, add up to exactly the whole', () => {
  fc.assert(
    fc.property(wholes, steps, (whole, sequence) => {
      let taken: readonly Part[] = [];
      for (const [isReturned, share] of sequence) {
        const left = whole.amountCents - amountOf(taken);
        if (isReturned) {
          const returned = Math.floor(share * taken.length);
          taken = taken.filter((_part, index) => index !== returned);
        } else if (left > 0) {
          taken = [...taken, take(whole, taken, 1 + Math.floor(share * (left - 1)))];
        }
      }
      const left = whole.amountCents - amountOf(taken);
      if (left > 0) taken = [...taken, take(whole, taken, left)];
      expect([sumOf(taken, 'credited'), sumOf(taken, 'tax')]).toEqual([whole.credited, whole.tax]);
    }),
  );
});

function take(whole: Whole, taken: readonly Part[], amountCents: number): Part {
  const part = nextPart(whole, taken, amountCents);
  expect(part.amountCents).toBe(amountCents);
  // The ledger has no entry that changes no balance, so a part may have a unit more or less.
  expect(part.tax >= 0n && part.credited > 0n).toBe(true);
  const beyond = part.tax % whole.grain;
  expect(beyond < 200n || whole.grain - beyond < 200n).toBe(true);
  return part;
}

// F527: of three cents that are mostly tax, the third one paid back was tax alone, which the ledger
// refuses.
it('each cent of a payment that is mostly tax takes back some credit', () => {
  const whole: Whole = { amountCents: 3, credited: CENT, tax: 2n * CENT, grain: CENT };
  let taken: readonly Part[] = [];
  while (amountOf(taken) < 3) taken = [...taken, take(whole, taken, 1)];
  expect([sumOf(taken, 'credited'), sumOf(taken, 'tax')]).toEqual([CENT, 2n * CENT]);
});

it('as long as none is returned, the tax of all parts is their share of the tax, rounded down', () => {
  fc.assert(
    fc.property(wholes, fc.array(fc.nat(5_000), { maxLength: 20 }), (whole, amounts) => {
      let taken: readonly Part[] = [];
      for (const amount of amounts) {
        if (amount === 0 || amountOf(taken) + amount > whole.amountCents) continue;
        taken = [...taken, take(whole, taken, amount)];
        const shared = whole.tax * BigInt(amountOf(taken));
        const [due, total] = [sumOf(taken, 'tax'), BigInt(whole.amountCents)];
        // A part that would be tax alone has one unit less.
        const units = BigInt(taken.length);
        expect(due * total <= shared && shared < (due + whole.grain + units) * total).toBe(true);
      }
    }),
  );
});

it('a bank that takes back more than was paid takes all tax, and the rest from the credit', () => {
  const whole: Whole = {
    amountCents: 11_900,
    credited: 10_000n * CENT,
    tax: 1_900n * CENT,
    grain: CENT,
  };
  const first = nextPart(whole, [], 5_950);
  expect(first).toEqual({ amountCents: 5_950, credited: 5_000n * CENT, tax: 950n * CENT });
  expect(nextPart(whole, [first], 6_000)).toEqual({
    amountCents: 6_000,
    credited: 5_050n * CENT,
    tax: 950n * CENT,
  });
});
