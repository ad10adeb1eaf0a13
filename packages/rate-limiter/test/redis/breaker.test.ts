import { describe, expect, it } from '@jest/globals';
import { createBreaker } from '../../src/redis/breaker.js';
import { createManualClock } from '../clock.js';

function createProbedBreaker() {
  const clock = createManualClock();
  const told: string[] = [];
  const probes: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  const breaker = createBreaker({
    now: clock.now,
    probe: () => new Promise((resolve, reject) => probes.push({ resolve, reject })),
    onStateChange: ({ deciding }) => told.push(deciding),
  });
  return { breaker, clock, told, probes };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('breaker', () => {
  it('opens after three failures within a second, even with successes between them', () => {
    const { breaker, clock, told } = createProbedBreaker();
    for (const pauseMs of [0, 500, 500]) {
      expect(breaker.isClosed()).toBe(true);
      clock.advance(pauseMs);
      breaker.failed(new Error('lost'));
      breaker.succeeded();
    }
    expect(breaker.isClosed()).toBe(false);
    expect(told).toEqual(['local']);
  });

  it('stays closed if failures are rare', () => {
    const { breaker, clock, told } = createProbedBreaker();
    for (let n = 0; n < 100; n += 1) {
      breaker.failed(new Error('lost'));
      breaker.succeeded();
      clock.advance(501);
    }
    expect(breaker.isClosed()).toBe(true);
    expect(told).toEqual([]);
  });

  it('probes once at a time, two seconds after it opened and after each failed probe', async () => {
    const { breaker, clock, told, probes } = createProbedBreaker();
    for (let n = 0; n < 3; n += 1) breaker.failed(new Error('lost'));
    clock.advance(1_999);
    expect(breaker.isClosed()).toBe(false);
    expect(probes).toHaveLength(0);
    clock.advance(1);
    expect(breaker.isClosed()).toBe(false);
    expect(breaker.isClosed()).toBe(false);
    expect(probes).toHaveLength(1);
    probes[0]?.reject(new Error('still lost'));
    await settled();
    expect(breaker.isClosed()).toBe(false);
    expect(probes).toHaveLength(1);
    clock.advance(2_000);
    expect(breaker.isClosed()).toBe(false);
    expect(probes).toHaveLength(2);
    probes[1]?.resolve();
    await settled();
    expect(breaker.isClosed()).toBe(true);
    expect(told).toEqual(['local', 'redis']);
  });
});
