import { describe, expect, it } from '@jest/globals';
import { createMemoryLimiter } from '../src/memory.js';
import { limiterContract } from '../src/testing/index.js';
import { createManualClock } from './clock.js';
import { limiterModel } from './model.js';
import { runs } from '../../../scripts/runs.cjs';

function createHarness() {
  const clock = createManualClock();
  return { limiter: createMemoryLimiter({ now: clock.now }), advance: clock.advance };
}

limiterContract({ name: 'memory limiter', describe, it, create: createHarness });

limiterModel({
  name: 'memory limiter',
  runs: runs(__filename, 'sequences'),
  create: createHarness,
});

describe('memory limiter: its memory', () => {
  const POLICY = { concurrency: 5, burst: 2, requestsPerMinute: 60 };

  function admit(limiter: ReturnType<typeof createMemoryLimiter>, subject: string) {
    const admission = limiter.admit(subject, POLICY);
    if (admission.outcome === 'denied') throw new Error(`denied by ${admission.limit}`);
    return admission.lease;
  }

  it('forgets subjects whose permits are back', () => {
    const clock = createManualClock();
    const limiter = createMemoryLimiter({ now: clock.now });
    for (let n = 0; n < 1_000; n += 1) admit(limiter, `old-${n}`).release();
    expect(limiter.size()).toBe(1_000);
    clock.advance(1_000);
    for (let n = 0; n < 1_000; n += 1) admit(limiter, `new-${n}`).release();
    expect(limiter.size()).toBe(1_000);
    clock.advance(1_000);
    const lease = admit(limiter, 'late');
    clock.advance(1_000);
    lease.release();
    expect(limiter.size()).toBeLessThan(1_000);
  });

  it('keeps at most maxSubjects, the most recently used', () => {
    const clock = createManualClock();
    const limiter = createMemoryLimiter({ now: clock.now, maxSubjects: 100 });
    for (let n = 0; n < 1_000; n += 1) {
      admit(limiter, `s-${n}`).release();
      admit(limiter, `s-${n}`).release();
    }
    expect(limiter.size()).toBe(100);
    expect(limiter.admit('s-950', POLICY)).toMatchObject({ outcome: 'denied', limit: 'rate' });
    expect(limiter.admit('s-899', POLICY).outcome).toBe('admitted');
  });

  // F54
  it('keeps 100,000 subjects by default, and forgets the oldest', () => {
    const limiter = createMemoryLimiter({ now: () => 0 });
    const log = { limit: 1, windowMs: 60_000 };
    for (let n = 0; n < 150_000; n += 1) {
      admit(limiter, `key-${n}`).release();
      admit(limiter, `key-${n}`).release();
      limiter.record(`ip-${n}`, log);
    }
    // 100,000 subjects with permits, and as many logs.
    expect(limiter.size()).toBe(200_000);
    for (const [subject, outcome] of [
      ['49999', ['admitted', 'allowed']],
      ['50001', ['denied', 'denied']],
      ['149999', ['denied', 'denied']],
    ] as const) {
      const found = [limiter.admit(`key-${subject}`, POLICY), limiter.record(`ip-${subject}`, log)];
      expect(found.map((each) => each.outcome)).toEqual(outcome);
    }
  });

  // F54
  it('never forgets a subject that holds a lease', () => {
    const limiter = createMemoryLimiter({ now: () => 0, maxSubjects: 10 });
    const leases = Array.from({ length: 100 }, (_, n) => admit(limiter, `busy-${n}`));
    for (let n = 0; n < 1_000; n += 1) admit(limiter, `s-${n}`).release();
    for (let n = 0; n < 100; n += 1) expect(limiter.leases(`busy-${n}`)).toBe(1);
    for (const lease of leases) lease.release();
    expect(limiter.size()).toBe(10);
  });

  it('keeps at most maxSubjects sliding logs, and forgets those without recent events', () => {
    const clock = createManualClock();
    const limiter = createMemoryLimiter({ now: clock.now, maxSubjects: 10 });
    for (let n = 0; n < 1_000; n += 1) limiter.record(`ip-${n}`, { limit: 3, windowMs: 1_000 });
    expect(limiter.size()).toBe(10);
    clock.advance(1_000);
    for (let n = 0; n < 6; n += 1) limiter.record(`new-${n}`, { limit: 3, windowMs: 1_000 });
    expect(limiter.size()).toBeLessThanOrEqual(6);
  });

  it('forgets everything when it is closed', () => {
    const limiter = createMemoryLimiter({ now: () => 0 });
    admit(limiter, 'busy');
    admit(limiter, 'resting').release();
    limiter.record('ip', { limit: 3, windowMs: 1_000 });
    expect(limiter.size()).toBe(3);
    limiter.close();
    expect(limiter.size()).toBe(0);
  });

  it('spreads retries after a concurrency denial over one to two seconds', () => {
    const retryWith = (random: number): unknown => {
      const limiter = createMemoryLimiter({ now: () => 0, random: () => random });
      const one = { ...POLICY, concurrency: 1 };
      limiter.admit('a', one);
      return limiter.admit('a', one);
    };
    expect(retryWith(0)).toMatchObject({ retryAfterMs: 1_000 });
    expect(retryWith(0.9999999)).toMatchObject({ retryAfterMs: 2_000 });
  });
});
