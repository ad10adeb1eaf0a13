import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { takePermit } from '../src/gcra.js';
import type { Policy } from '../src/policy.js';

const policies = fc.record({
  concurrency: fc.constant(1),
  burst: fc.integer({ min: 1, max: 50 }),
  // Divisors of a minute in microseconds, so that the interval between permits is a whole number.
  requestsPerMinute: fc.constantFrom(1, 2, 30, 60, 600, 12_000, 60_000_000),
});

/** A time of a real clock, in microseconds. */
const EPOCH_US = 1_795_000_000_000_000;

describe('takePermit', () => {
  it('is a token bucket with the size of the burst, refilled at the rate', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 3_000_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(policies, pauses, (policy, pausesUs) => {
        const bucket = createBucket(policy);
        let nowUs = EPOCH_US;
        let tatUs: number | undefined;
        for (const pauseUs of pausesUs) {
          nowUs += pauseUs;
          const decision = takePermit(tatUs, nowUs, policy);
          expect(decision.outcome === 'allowed').toBe(bucket.take(nowUs));
          if (decision.outcome === 'allowed') tatUs = decision.tatUs;
        }
      }),
    );
  });

  // F46
  it('allows a denied permit after exactly the wait, and not a microsecond earlier', () => {
    fc.assert(
      fc.property(policies, fc.nat(1_000_000), (policy, pauseUs) => {
        let nowUs = EPOCH_US;
        let tatUs: number | undefined;
        for (;;) {
          const decision = takePermit(tatUs, nowUs, policy);
          if (decision.outcome === 'denied') break;
          tatUs = decision.tatUs;
        }
        nowUs += pauseUs;
        const decision = takePermit(tatUs, nowUs, policy);
        if (decision.outcome === 'allowed') return;
        expect(takePermit(tatUs, nowUs + decision.waitUs - 1, policy).outcome).toBe('denied');
        expect(takePermit(tatUs, nowUs + decision.waitUs, policy).outcome).toBe('allowed');
      }),
    );
  });

  it('allows no more than the rate when the interval is not a whole number of microseconds', () => {
    const policy: Policy = { concurrency: 1, burst: 1, requestsPerMinute: 7 };
    let nowUs = EPOCH_US;
    let tatUs: number | undefined;
    let allowed = 0;
    while (nowUs < EPOCH_US + 60_000_000) {
      const decision = takePermit(tatUs, nowUs, policy);
      if (decision.outcome === 'allowed') {
        tatUs = decision.tatUs;
        allowed += 1;
      } else {
        nowUs += decision.waitUs;
      }
    }
    expect(allowed).toBe(7);
  });

  // F51
  it.each([30_000_000, 1e15])(
    'locks no subject out when the clock steps back by %d us',
    (skewUs) => {
      const policy: Policy = { concurrency: 1, burst: 5, requestsPerMinute: 60 };
      const first = takePermit(EPOCH_US + skewUs, EPOCH_US, policy);
      expect(first).toEqual({ outcome: 'allowed', tatUs: EPOCH_US + 5_000_000 });
      const second = takePermit(EPOCH_US + 5_000_000, EPOCH_US, policy);
      expect(second).toEqual({ outcome: 'denied', waitUs: 1_000_000 });
    },
  );
});

/** A token bucket. It counts the microseconds that its tokens take, so all numbers are integers. */
function createBucket({ burst, requestsPerMinute }: Policy) {
  const intervalUs = 60_000_000 / requestsPerMinute;
  let filledUs = burst * intervalUs;
  let lastUs: number | undefined;
  return {
    take(nowUs: number): boolean {
      filledUs = Math.min(burst * intervalUs, filledUs + nowUs - (lastUs ?? nowUs));
      lastUs = nowUs;
      if (filledUs < intervalUs) return false;
      filledUs -= intervalUs;
      return true;
    },
  };
}
