import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decideAdmission } from '../src/admission.js';
import { takePermit } from '../src/gcra.js';
import type { LocalAdmission, OwnPermits } from '../src/local.js';
import {
  admitLocally,
  boundTatUs,
  eventWaitBeforeAskingUs,
  isStillAhead,
  recordLocally,
  tatAfterGrantUs,
  waitBeforeAskingUs,
} from '../src/local.js';
import type { LogPolicy, Policy } from '../src/policy.js';
import { admissionIntervalUs, shareOfLogPolicy, shareOfPolicy } from '../src/policy.js';
import { addEvent, takeSlot } from '../src/sliding-log.js';
import { runs } from '../../../scripts/runs.cjs';

const START_US = 1_000_000;

const policies = fc.record({
  concurrency: fc.constant(1_000_000),
  burst: fc.integer({ min: 1, max: 12 }),
  requestsPerMinute: fc.constantFrom(7, 60, 90, 600),
});
const logPolicies = fc.record({
  limit: fc.integer({ min: 1, max: 12 }),
  windowMs: fc.integer({ min: 1, max: 10_000 }),
});
const replicas = fc.integer({ min: 1, max: 5 });

type Step = 'ask' | 'answer' | 'lose the answer' | 'decide locally' | number;

/**
 * The steps of a test: a call to Redis, which answers later or never; a local decision; a pause in
 * microseconds.
 */
const steps = fc.array(
  fc.oneof(
    fc.constantFrom<Step>('ask', 'answer', 'lose the answer'),
    fc.constant<Step>('decide locally'),
    fc.integer({ min: 1, max: 4_000_000 }),
  ),
  { maxLength: 120, size: 'max' },
);

const FULL: OwnPermits = { tatUs: START_US, isAhead: false, pending: 0, pendingUs: 0 };

function decide(own: OwnPermits, nowUs: number, whole: Policy, count = 1): LocalAdmission {
  return admitLocally(own, { leases: 0, nowUs }, { whole, share: shareOfPolicy(whole, count) });
}

describe('permits of one process, granted through Redis or locally', () => {
  // F49
  it('are never more than the burst and the permits that have come back', () => {
    fc.assert(
      fc.property(policies, replicas, steps, (whole, count, sequence) => {
        const grantedAtUs = permitsOf(sequence, whole, count);
        const intervalUs = admissionIntervalUs(whole);
        const isTooMany = grantedAtUs.some((fromUs, first) =>
          grantedAtUs
            .slice(first)
            .some((toUs, n) => n >= whole.burst + Math.floor((toUs - fromUs) / intervalUs)),
        );
        expect(isTooMany && grantedAtUs).toBe(false);
      }),
      { numRuns: runs(__filename, 'sequences') },
    );
  });

  it('follow the share as long as Redis has granted none', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 3_000_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(policies, replicas, pauses, (whole, count, pausesUs) => {
        const share = shareOfPolicy(whole, count);
        let own = FULL;
        let tatUs: number | undefined;
        let nowUs = START_US;
        for (const pauseUs of pausesUs) {
          nowUs += pauseUs;
          const expected = decideAdmission([{ state: { leases: 0, tatUs }, policy: share }], nowUs);
          const decision = decide(own, nowUs, whole, count);
          if (expected.outcome === 'admitted') {
            tatUs = expected.states[0]?.tatUs;
            expect(decision).toEqual({ outcome: 'admitted', tatUs });
            own = { ...own, tatUs: tatUs ?? nowUs };
          } else {
            expect(expected).toEqual({ ...decision, index: 0 });
          }
        }
      }),
    );
  });

  it.each([
    ['one process', 1, 1_000_000],
    ['one of three replicas, whose permits take three times as long', 3, 3_000_000],
  ])('that used up the burst come back one by one: %s', (_which, count, intervalUs) => {
    const whole = { concurrency: 100, burst: 9, requestsPerMinute: 60 };
    let tatUs = START_US;
    for (let n = 0; n < 9; n += 1) tatUs = tatAfterGrantUs(tatUs, START_US, whole);
    let own = { ...FULL, tatUs };
    let nowUs = START_US;
    for (let n = 0; n < 5; n += 1) {
      const denied = { outcome: 'denied', limit: 'rate', waitUs: intervalUs };
      expect(decide(own, nowUs, whole, count)).toEqual(denied);
      expect(decide(own, nowUs + intervalUs - 1, whole, count).outcome).toBe('denied');
      nowUs += intervalUs;
      const decision = decide(own, nowUs, whole, count);
      if (decision.outcome === 'denied') throw new Error('denied after the wait');
      own = { ...own, tatUs: decision.tatUs };
    }
  });

  it.each([1, 2, 3, 4])('lock no subject out when the limits are lowered: %d replicas', (count) => {
    const whole = { concurrency: 100, burst: 3, requestsPerMinute: 60 };
    const limits = { whole, share: shareOfPolicy(whole, count) };
    const tatUs = boundTatUs(START_US + 600_000_000, START_US, limits);
    const decision = decide({ ...FULL, tatUs }, START_US, whole, count);
    if (decision.outcome !== 'denied' || decision.limit !== 'rate') throw new Error('not denied');
    // The time until the whole burst and one permit of the share have come back.
    const longestUs = 3_000_000 + count * 1_000_000;
    expect(decision.waitUs).toBeLessThanOrEqual(longestUs);
    expect(decide({ ...FULL, tatUs }, START_US + decision.waitUs, whole, count).outcome).toBe(
      'admitted',
    );
  });

  it('make Redis wait only if it does not count some of them', () => {
    const whole = { concurrency: 100, burst: 1, requestsPerMinute: 60 };
    const limits = { whole, share: whole };
    const usedUp = { ...FULL, tatUs: START_US + 1_000_000 };
    const wait = (own: OwnPermits) => waitBeforeAskingUs(own, START_US, limits);
    expect(wait(usedUp)).toBe(0);
    expect(wait({ ...usedUp, isAhead: true })).toBe(1_000_000);
    // The TAT is over, but a pending permit can still move it.
    expect(wait({ ...FULL, isAhead: true, pending: 1, pendingUs: 1_000_000 })).toBe(1_000_000);
  });

  it('count against the concurrency while they are pending', () => {
    const whole = { concurrency: 3, burst: 100, requestsPerMinute: 60 };
    const limits = { whole, share: whole };
    const own = { ...FULL, pending: 2, pendingUs: 2_000_000 };
    const admit = (leases: number) => admitLocally(own, { leases, nowUs: START_US }, limits);
    expect(admit(0).outcome).toBe('admitted');
    expect(admit(1)).toEqual({ outcome: 'denied', limit: 'concurrency' });
  });

  /**
   * When each permit was granted. Redis keeps its data, and this process is the only one that asks
   * it.
   */
  function permitsOf(sequence: readonly Step[], whole: Policy, count: number): readonly number[] {
    const limits = { whole, share: shareOfPolicy(whole, count) };
    const intervalUs = admissionIntervalUs(whole);
    const own = { ...FULL };
    const unanswered: (number | undefined)[] = [];
    const grantedAtUs: number[] = [];
    let redisTatUs: number | undefined;
    let nowUs = START_US;
    for (const step of sequence) {
      own.tatUs = boundTatUs(own.tatUs, nowUs, limits);
      if (step === 'ask') {
        if (waitBeforeAskingUs(own, nowUs, limits) > 0) continue;
        own.isAhead = isStillAhead(own, nowUs);
        own.pending += 1;
        own.pendingUs += intervalUs;
        const decision = takePermit(redisTatUs, nowUs, whole);
        if (decision.outcome === 'allowed') redisTatUs = decision.tatUs;
        unanswered.push(decision.outcome === 'allowed' ? nowUs : undefined);
      } else if (step === 'answer' || step === 'lose the answer') {
        if (unanswered.length === 0) continue;
        const atUs = unanswered.shift();
        own.pending -= 1;
        own.pendingUs -= intervalUs;
        if (atUs === undefined || step !== 'answer') continue;
        own.tatUs = tatAfterGrantUs(own.tatUs, nowUs, whole);
        grantedAtUs.push(atUs);
      } else if (step === 'decide locally') {
        const decision = admitLocally(own, { leases: 0, nowUs }, limits);
        if (decision.outcome === 'denied') continue;
        own.tatUs = decision.tatUs;
        own.isAhead = true;
        grantedAtUs.push(nowUs);
      } else {
        nowUs += step;
      }
    }
    return grantedAtUs.sort((a, b) => a - b);
  }
});

describe('events of one process, allowed through Redis or locally', () => {
  it('are never more than the limit in any window', () => {
    fc.assert(
      fc.property(logPolicies, replicas, steps, (whole, count, sequence) => {
        const allowedAtUs = eventsOf(sequence, whole, count);
        const windowUs = whole.windowMs * 1_000;
        const isTooMany = allowedAtUs.some(
          (fromUs, first) => (allowedAtUs[first + whole.limit] ?? Infinity) < fromUs + windowUs,
        );
        expect(isTooMany && allowedAtUs).toBe(false);
      }),
      { numRuns: runs(__filename, 'sequences') },
    );
  });

  it('count against the share, together with pending ones', () => {
    const limits = {
      whole: { limit: 6, windowMs: 1_000 },
      share: { limit: 3, windowMs: 1_000 },
    };
    const own = { log: [START_US], aheadUntilUs: 0, pending: 1 };
    const nowUs = START_US + 400_000;
    const allowed = { outcome: 'allowed', log: [START_US, nowUs], remaining: 0 };
    expect(recordLocally(own, nowUs, limits)).toEqual(allowed);
    const denied = { outcome: 'denied', waitUs: 600_000 };
    expect(recordLocally({ ...own, pending: 2 }, nowUs, limits)).toEqual(denied);
  });

  it('make Redis wait only until it counts all of them', () => {
    const own = { log: [START_US], aheadUntilUs: START_US, pending: 0 };
    const policy = { limit: 1, windowMs: 1_000 };
    expect(eventWaitBeforeAskingUs(own, START_US, policy)).toBe(0);
    const ahead = { ...own, aheadUntilUs: START_US + 1 };
    expect(eventWaitBeforeAskingUs(ahead, START_US, policy)).toBe(1_000_000);
  });

  /**
   * When each event was allowed. Redis keeps its data, and this process is the only one that asks
   * it.
   */
  function eventsOf(sequence: readonly Step[], whole: LogPolicy, count: number): readonly number[] {
    const limits = { whole, share: shareOfLogPolicy(whole, count) };
    const windowUs = whole.windowMs * 1_000;
    const own = { log: [] as readonly number[], aheadUntilUs: 0, pending: 0 };
    const unanswered: (number | undefined)[] = [];
    const allowedAtUs: number[] = [];
    let redisLog: readonly number[] = [];
    let nowUs = START_US;
    for (const step of sequence) {
      if (step === 'ask') {
        if (eventWaitBeforeAskingUs(own, nowUs, whole) > 0) continue;
        own.pending += 1;
        const decision = takeSlot(redisLog, nowUs, whole);
        if (decision.outcome === 'allowed') redisLog = decision.log;
        unanswered.push(decision.outcome === 'allowed' ? nowUs : undefined);
      } else if (step === 'answer' || step === 'lose the answer') {
        if (unanswered.length === 0) continue;
        const atUs = unanswered.shift();
        own.pending -= 1;
        if (atUs === undefined || step !== 'answer') continue;
        own.log = addEvent(own.log, nowUs, whole);
        allowedAtUs.push(atUs);
      } else if (step === 'decide locally') {
        const decision = recordLocally(own, nowUs, limits);
        if (decision.outcome === 'denied') continue;
        own.log = decision.log;
        own.aheadUntilUs = nowUs + windowUs;
        allowedAtUs.push(nowUs);
      } else {
        nowUs += step;
      }
    }
    return allowedAtUs.sort((a, b) => a - b);
  }
});
