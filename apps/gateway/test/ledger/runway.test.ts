/** How long the money of an account lasts, compared with spending it hour by hour. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lastsUntil } from '../../src/ledger/runway.js';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 25);

/** Spends `perHour` each hour from the credit that expires first, until nothing is left. */
function hoursBySpending(
  lots: readonly { readonly remaining: number; readonly expiresInHours: number | null }[],
  perHour: number,
): number {
  const left = lots.map((lot) => ({ ...lot }));
  for (let hour = 0; ; hour += 1) {
    let toSpend = perHour;
    for (const lot of left) {
      if (lot.expiresInHours !== null && lot.expiresInHours <= hour) continue;
      const taken = Math.min(toSpend, lot.remaining);
      lot.remaining -= taken;
      toSpend -= taken;
    }
    if (toSpend === perHour) return hour;
  }
}

describe('the time until which the money of an account lasts', () => {
  // F179: how long a balance lasts that several keys share, with credit that expires: the same date
  // for each key and link, from the spending of all keys; credit that expires unspent is not
  // counted.
  it('is that of spending it hour by hour, without credit that expires before', () => {
    const lot = fc.record({
      // Whole hours of spending, so that each hour is spent from one lot.
      hours: fc.integer({ min: 0, max: 50 }),
      expiresInHours: fc.option(fc.integer({ min: 0, max: 80 })),
    });
    fc.assert(
      fc.property(fc.array(lot, { maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (some, pace) => {
        const lots = some
          .map(({ hours, expiresInHours }) => ({ remaining: hours * pace, expiresInHours }))
          // As the ledger lists them: what expires first, then what does not.
          .sort((a, b) => (a.expiresInHours ?? 1e9) - (b.expiresInHours ?? 1e9));
        const until = lastsUntil(
          {
            lots: lots.map(({ remaining, expiresInHours }, index) => ({
              entryId: String(index),
              source: 'promotional' as const,
              remaining: BigInt(remaining),
              expiresAt: expiresInHours === null ? null : new Date(NOW + expiresInHours * HOUR),
            })),
            other: BigInt(7 * pace),
          },
          { spent: BigInt(pace * 24), from: NOW - 24 * HOUR, until: NOW },
        );
        const hours = hoursBySpending(
          [...lots, { remaining: 7 * pace, expiresInHours: null }],
          pace,
        );
        expect(until).toEqual(new Date(NOW + hours * HOUR));
      }),
    );
  });

  it('is unknown if nothing was spent, and has four digits of a year at most', () => {
    const credit = { lots: [], other: 10n ** 30n };
    const pace = { from: NOW - HOUR, until: NOW };
    expect(lastsUntil(credit, { ...pace, spent: 0n })).toBe(undefined);
    expect(lastsUntil(credit, { ...pace, spent: 1n })?.toISOString()).toMatch(/^9999-12-31/);
    expect(lastsUntil({ lots: [], other: 0n }, { ...pace, spent: 1n })).toEqual(new Date(NOW));
  });
});
