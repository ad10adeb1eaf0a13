/**
 * Model-based test of a limiter: random calls and pauses, every answer compared with the package's pure
 * functions over plain data.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SubjectState } from '../src/admission.js';
import { decideAdmission } from '../src/admission.js';
import type { Lease } from '../src/limiter.js';
import type { LogPolicy, Policy } from '../src/policy.js';
import { takeSlot } from '../src/sliding-log.js';
import type { LimiterHarness } from '../src/testing/index.js';

interface Model {
  nowUs: number;
  readonly subjects: Map<string, SubjectState>;
  readonly logs: Map<string, readonly number[]>;
  /** Subject of each lease in `real.leases`, or undefined once released. */
  readonly leases: (string | undefined)[];
}

interface Real extends LimiterHarness {
  readonly leases: Lease[];
}

type Command = fc.AsyncCommand<Model, Real>;

const FREE: SubjectState = { leases: 0, tatUs: undefined };

function admit(subject: string, policy: Policy): Command {
  return {
    check: () => true,
    async run(model, real) {
      const state = model.subjects.get(subject) ?? FREE;
      const expected = decideAdmission(state, model.nowUs, policy);
      const actual = await real.limiter.admit(subject, policy);
      if (expected.outcome === 'admitted') {
        expect(actual.outcome).toBe('admitted');
        if (actual.outcome === 'denied') return;
        model.subjects.set(subject, expected.state);
        model.leases.push(subject);
        real.leases.push(actual.lease);
      } else if (expected.limit === 'rate') {
        const retryAfterMs = Math.ceil(expected.waitUs / 1_000);
        expect(actual).toEqual({ outcome: 'denied', limit: 'rate', retryAfterMs });
      } else {
        expect(actual).toMatchObject({ outcome: 'denied', limit: 'concurrency' });
      }
    },
    toString: () => `admit(${subject}, ${JSON.stringify(policy)})`,
  };
}

function release(pick: number): Command {
  return {
    check: (model) => model.leases.length > 0,
    async run(model, real) {
      const index = pick % model.leases.length;
      // Sometimes one that was released before: nothing may happen then.
      real.leases[index]?.release();
      const subject = model.leases[index];
      if (subject === undefined) return;
      model.leases[index] = undefined;
      const state = model.subjects.get(subject) ?? FREE;
      model.subjects.set(subject, { ...state, leases: state.leases - 1 });
    },
    toString: () => `release(${pick})`,
  };
}

function record(subject: string, policy: LogPolicy): Command {
  return {
    check: () => true,
    async run(model, real) {
      const expected = takeSlot(model.logs.get(subject) ?? [], model.nowUs, policy);
      const actual = await real.limiter.record(subject, policy);
      if (expected.outcome === 'allowed') {
        model.logs.set(subject, expected.log);
        expect(actual).toEqual({ outcome: 'allowed', remaining: expected.remaining });
      } else {
        const retryAfterMs = Math.ceil(expected.waitUs / 1_000);
        expect(actual).toEqual({ outcome: 'denied', retryAfterMs });
      }
    },
    toString: () => `record(${subject}, ${JSON.stringify(policy)})`,
  };
}

function advance(ms: number): Command {
  return {
    check: () => true,
    async run(model, real) {
      await real.advance(ms);
      model.nowUs += ms * 1_000;
    },
    toString: () => `advance(${ms})`,
  };
}

function countLeases(subject: string): Command {
  return {
    check: () => true,
    async run(model, real) {
      expect(await real.limiter.leases(subject)).toBe(model.subjects.get(subject)?.leases ?? 0);
    },
    toString: () => `leases(${subject})`,
  };
}

const subjects = fc.constantFrom('a', 'b');
/** Policies change from call to call, as an operator may change a key's limits at any time. */
const policies = fc.constantFrom<Policy>(
  { concurrency: 3, burst: 2, requestsPerMinute: 7 },
  { concurrency: 2, burst: 5, requestsPerMinute: 60 },
  { concurrency: 8, burst: 1, requestsPerMinute: 0.9 },
);
/** One window for all, as a log keeps events no longer than the window it was last written under. */
const logPolicies = fc
  .integer({ min: 1, max: 4 })
  .map((limit): LogPolicy => ({ limit, windowMs: 20_000 }));

const commands = fc.commands(
  [
    fc.tuple(subjects, policies).map(([subject, policy]) => admit(subject, policy)),
    fc.tuple(subjects, policies).map(([subject, policy]) => admit(subject, policy)),
    fc.nat(1_000).map(release),
    fc.tuple(subjects, logPolicies).map(([subject, policy]) => record(subject, policy)),
    fc.oneof(fc.integer({ min: 1, max: 70_000 }), fc.constant(20_000)).map(advance),
    subjects.map(countLeases),
  ],
  { size: '+1' },
);

export interface LimiterModelOptions {
  readonly name: string;
  readonly runs: number;
  readonly create: () => LimiterHarness | Promise<LimiterHarness>;
}

/** Declares the test. */
export function limiterModel({ name, runs, create }: LimiterModelOptions): void {
  describe(`${name}: model`, () => {
    it('answers as the pure functions do, whatever is called in whatever order', async () => {
      await fc.assert(
        fc.asyncProperty(commands, async (sequence) => {
          const harness = await create();
          const model: Model = { nowUs: 0, subjects: new Map(), logs: new Map(), leases: [] };
          try {
            const real: Real = { ...harness, leases: [] };
            await fc.asyncModelRun(() => ({ model, real }), sequence);
          } finally {
            await harness.limiter.close();
          }
        }),
        { numRuns: runs },
      );
    });
  });
}
