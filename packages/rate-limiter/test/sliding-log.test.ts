import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { takeSlot } from '../src/sliding-log.js';

const policies = fc.record({
  limit: fc.integer({ min: 1, max: 8 }),
  windowMs: fc.integer({ min: 1, max: 100 }),
});
const pauses = fc.array(fc.integer({ min: 0, max: 50_000 }), { maxLength: 80 });

describe('takeSlot', () => {
  it('allows an event exactly when fewer than the limit were allowed in the window before it', () => {
    fc.assert(
      fc.property(policies, pauses, (policy, pausesUs) => {
        const allowed: number[] = [];
        let log: readonly number[] = [];
        let nowUs = 0;
        for (const pauseUs of pausesUs) {
          nowUs += pauseUs;
          const inWindow = allowed.filter((timeUs) => timeUs > nowUs - policy.windowMs * 1_000);
          const decision = takeSlot(log, nowUs, policy);
          expect(decision.outcome === 'allowed').toBe(inWindow.length < policy.limit);
          if (decision.outcome === 'denied') continue;
          allowed.push(nowUs);
          log = decision.log;
          expect(decision.remaining).toBe(policy.limit - inWindow.length - 1);
          expect(log.length).toBeLessThanOrEqual(policy.limit);
        }
      }),
    );
  });

  it('allows a denied event after exactly the wait, and not a microsecond earlier', () => {
    const policy = { limit: 2, windowMs: 10 };
    const log = [1_000, 4_000];
    expect(takeSlot(log, 5_500, policy)).toEqual({ outcome: 'denied', waitUs: 5_500 });
    expect(takeSlot(log, 10_999, policy)).toEqual({ outcome: 'denied', waitUs: 1 });
    expect(takeSlot(log, 11_000, policy)).toMatchObject({ outcome: 'allowed', remaining: 0 });
  });

  // F51
  it.each([30_000_000, 1e15])(
    'locks no subject out when the clock steps back by %d us',
    (skewUs) => {
      const policy = { limit: 2, windowMs: 60_000 };
      const first = takeSlot([skewUs, skewUs + 1], 0, policy);
      expect(first).toEqual({ outcome: 'allowed', log: [0], remaining: 1 });
      expect(takeSlot([0, 1, skewUs], 1, policy)).toEqual({
        outcome: 'denied',
        waitUs: 59_999_999,
      });
    },
  );
});
