/** The pace of uploads, with a clock that the tests move. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LEAST_BYTES_PER_SECOND, Pace } from '../../src/http/arrivals.js';

const LIMITS = { stallMs: 60_000, maxMs: 600_000 };
const LOOK_MS = 2_000;
const LOOKS = LIMITS.maxMs / LOOK_MS;

/** @returns after how many looks the upload is late; `undefined` if it never is */
function lateAfter(bytesPerLook: Iterable<number>): number | undefined {
  const pace = new Pace(LIMITS);
  let bytes = 0;
  let looks = 0;
  for (const arrived of bytesPerLook) {
    looks += 1;
    bytes += arrived;
    if (pace.isLate(LOOK_MS, bytes)) return looks;
  }
  return undefined;
}

const always = (bytes: number, looks: number): number[] => new Array<number>(looks).fill(bytes);
const leastPerLook = (LEAST_BYTES_PER_SECOND * LOOK_MS) / 1_000;

describe('an upload', () => {
  // F207
  it('that arrives within a minute is never late, whatever its pace', () => {
    const withinMinute = fc.array(fc.nat(1_000_000), { maxLength: 29 });
    fc.assert(
      fc.property(withinMinute, (looks) => {
        expect(lateAfter(looks)).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });

  // F207
  it('that keeps the least pace is late only after the longest time in all', () => {
    expect(lateAfter(always(leastPerLook, LOOKS - 1))).toBeUndefined();
    expect(lateAfter(always(1_000_000, LOOKS + 1))).toBe(LOOKS);
  });

  // F208
  it('that stops or drips is late after the same time, however much came before', () => {
    const stall = LIMITS.stallMs / LOOK_MS;
    fc.assert(
      fc.property(fc.array(fc.nat(50_000_000), { maxLength: 100 }), (before) => {
        fc.pre(lateAfter(before) === undefined);
        expect(lateAfter([...before, ...always(0, stall)])).toBeLessThanOrEqual(
          before.length + stall,
        );
        // One byte a second earns two thousandths of the time that it takes.
        expect(lateAfter([...before, ...always(2, stall + 1)])).toBeLessThanOrEqual(
          before.length + stall + 1,
        );
      }),
      { numRuns: 50 },
    );
  });
});
