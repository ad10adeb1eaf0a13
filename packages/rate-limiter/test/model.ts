/**
 * Model-based test of a limiter: random calls, pauses and outages, every answer compared with the
 * package's pure functions over plain data.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SubjectState } from '../src/admission.js';
import { decideAdmission } from '../src/admission.js';
import type { Lease } from '../src/limiter.js';
import type { OwnEvents, OwnPermits } from '../src/local.js';
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
import { shareOfLogPolicy, shareOfPolicy } from '../src/policy.js';
import { addEvent, takeSlot } from '../src/sliding-log.js';
import type { LimiterHarness } from '../src/testing/index.js';

/** A limiter that can lose its shared state. */
export interface LosableHarness extends LimiterHarness {
  readonly replicas: number;
  /** Once it resolves, the limiter decides locally. */
  readonly lose: () => Promise<void>;
  /**
   * Moves the clock by {@link PROBE_AFTER_MS}. Then the shared state, which has kept its data,
   * decides again.
   */
  readonly find: () => Promise<void>;
}

/** How long after the start of an outage the limiter probes. */
export const PROBE_AFTER_MS = 2_000;

interface HeldLease {
  readonly subject: string;
  /** Granted locally, and not in the shared state yet. */
  isOwn: boolean;
}

interface Model {
  readonly replicas: number;
  nowUs: number;
  isLost: boolean;
  /**
   * What the shared state holds. A lease that was released during an outage still counts there,
   * because the release never arrived.
   */
  readonly subjects: Map<string, SubjectState>;
  readonly logs: Map<string, readonly number[]>;
  /** All that this limiter has granted, through the shared state or locally. */
  readonly ownPermits: Map<string, OwnPermits>;
  readonly ownEvents: Map<string, OwnEvents>;
  /** The model of each lease in `real.leases`; undefined once released. */
  readonly leases: (HeldLease | undefined)[];
}

interface Real {
  readonly harness: LimiterHarness;
  readonly losable: LosableHarness | undefined;
  readonly leases: Lease[];
}

type Command = fc.AsyncCommand<Model, Real>;

type Expected =
  | { readonly outcome: 'admitted' }
  | { readonly outcome: 'denied'; readonly limit: 'concurrency' }
  | { readonly outcome: 'denied'; readonly limit: 'rate'; readonly waitUs: number };

const FREE: SubjectState = { leases: 0, tatUs: undefined };
const NONE: OwnPermits = { tatUs: -Infinity, isAhead: false, pending: 0, pendingUs: 0 };

function heldOf(model: Model, subject: string): number {
  return model.leases.filter((lease) => lease?.subject === subject).length;
}

function decideAdmissionOf(model: Model, subject: string, policy: Policy): Expected {
  const { nowUs } = model;
  const limits = { whole: policy, share: shareOfPolicy(policy, model.replicas) };
  let own = model.ownPermits.get(subject) ?? NONE;
  if (model.isLost || own.isAhead) {
    own = { ...own, tatUs: boundTatUs(own.tatUs, nowUs, limits) };
    // The bounded TAT (see `OwnPermits`) is stored even if the request is then denied: after the
    // limits were lowered, the old TAT may be later than the lower limits allow.
    model.ownPermits.set(subject, own);
  }
  if (model.isLost) {
    const decision = admitLocally(own, { leases: heldOf(model, subject), nowUs }, limits);
    if (decision.outcome === 'denied') return decision;
    model.ownPermits.set(subject, { ...own, tatUs: decision.tatUs, isAhead: true });
    return decision;
  }
  const waitUs = waitBeforeAskingUs(own, nowUs, limits);
  if (waitUs > 0) return { outcome: 'denied', limit: 'rate', waitUs };
  const state = model.subjects.get(subject) ?? FREE;
  const decision = decideAdmission(state, nowUs, policy);
  if (decision.outcome === 'denied') return decision;
  model.subjects.set(subject, decision.state);
  const tatUs = tatAfterGrantUs(own.tatUs, nowUs, policy);
  model.ownPermits.set(subject, { ...own, tatUs, isAhead: isStillAhead(own, nowUs) });
  return decision;
}

function decideEventOf(model: Model, subject: string, policy: LogPolicy) {
  const { nowUs } = model;
  const own = model.ownEvents.get(subject) ?? { log: [], aheadUntilUs: -Infinity, pending: 0 };
  if (model.isLost) {
    const limits = { whole: policy, share: shareOfLogPolicy(policy, model.replicas) };
    const decision = recordLocally(own, nowUs, limits);
    if (decision.outcome === 'denied') return decision;
    const aheadUntilUs = nowUs + policy.windowMs * 1_000;
    model.ownEvents.set(subject, { ...own, log: decision.log, aheadUntilUs });
    return decision;
  }
  const waitUs = eventWaitBeforeAskingUs(own, nowUs, policy);
  if (waitUs > 0) return { outcome: 'denied' as const, waitUs };
  const decision = takeSlot(model.logs.get(subject) ?? [], nowUs, policy);
  if (decision.outcome === 'denied') return decision;
  model.logs.set(subject, decision.log);
  model.ownEvents.set(subject, { ...own, log: addEvent(own.log, nowUs, policy) });
  return decision;
}

function admit(subject: string, policy: Policy): Command {
  return {
    check: () => true,
    async run(model, real) {
      const expected = decideAdmissionOf(model, subject, policy);
      const actual = await real.harness.limiter.admit(subject, policy);
      if (expected.outcome === 'admitted') {
        expect(actual.outcome).toBe('admitted');
        if (actual.outcome === 'denied') return;
        model.leases.push({ subject, isOwn: model.isLost });
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
      // This is sometimes a lease that was released before. Releasing it again must change nothing.
      real.leases[index]?.release();
      const lease = model.leases[index];
      model.leases[index] = undefined;
      // In an outage the release does not reach the shared state, and a lease with `isOwn` has not
      // reached it yet.
      if (lease === undefined || lease.isOwn || model.isLost) return;
      addShared(model, lease.subject, -1);
    },
    toString: () => `release(${pick})`,
  };
}

function addShared(model: Model, subject: string, leases: number): void {
  const state = model.subjects.get(subject) ?? FREE;
  model.subjects.set(subject, { ...state, leases: state.leases + leases });
}

function record(subject: string, policy: LogPolicy): Command {
  return {
    check: () => true,
    async run(model, real) {
      const expected = decideEventOf(model, subject, policy);
      const actual = await real.harness.limiter.record(subject, policy);
      if (expected.outcome === 'allowed') {
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
      await real.harness.advance(ms);
      model.nowUs += ms * 1_000;
    },
    toString: () => `advance(${ms})`,
  };
}

function countLeases(subject: string): Command {
  return {
    check: () => true,
    async run(model, real) {
      const expected = model.isLost
        ? heldOf(model, subject)
        : (model.subjects.get(subject)?.leases ?? 0);
      expect(await real.harness.limiter.leases(subject)).toBe(expected);
    },
    toString: () => `leases(${subject})`,
  };
}

const lose: Command = {
  check: (model) => !model.isLost,
  async run(model, real) {
    await real.losable?.lose();
    model.isLost = true;
  },
  toString: () => 'lose()',
};

const find: Command = {
  check: (model) => model.isLost,
  async run(model, real) {
    await real.losable?.find();
    model.nowUs += PROBE_AFTER_MS * 1_000;
    model.isLost = false;
    // Leases that were granted locally and are still held are added to the shared state.
    for (const lease of model.leases) {
      if (lease?.isOwn !== true) continue;
      lease.isOwn = false;
      addShared(model, lease.subject, 1);
    }
  },
  toString: () => 'find()',
};

const subjects = fc.constantFrom('a', 'b');
/** Policies change from call to call, as an operator may change a key's limits at any time. */
const policies = fc.constantFrom<Policy>(
  { concurrency: 3, burst: 2, requestsPerMinute: 7 },
  { concurrency: 2, burst: 5, requestsPerMinute: 60 },
  { concurrency: 8, burst: 1, requestsPerMinute: 0.9 },
);
/**
 * All calls use one window, because a log keeps events no longer than the window with which it was
 * last written.
 */
const logPolicies = fc
  .integer({ min: 1, max: 4 })
  .map((limit): LogPolicy => ({ limit, windowMs: 20_000 }));

const calls = [
  fc.tuple(subjects, policies).map(([subject, policy]) => admit(subject, policy)),
  fc.tuple(subjects, policies).map(([subject, policy]) => admit(subject, policy)),
  fc.nat(1_000).map(release),
  fc.tuple(subjects, logPolicies).map(([subject, policy]) => record(subject, policy)),
  fc.oneof(fc.integer({ min: 1, max: 70_000 }), fc.constant(20_000)).map(advance),
  subjects.map(countLeases),
];

export interface LimiterModelOptions {
  readonly name: string;
  readonly runs: number;
  readonly create: () => LimiterHarness | Promise<LimiterHarness>;
}

/** Declares the test. */
export function limiterModel({ name, runs, create }: LimiterModelOptions): void {
  const commands = fc.commands(calls, { size: '+1' });
  describe(`${name}: model`, () => {
    it('answers like the pure functions, for any sequence of calls', async () => {
      const property = fc.asyncProperty(commands, async (sequence) =>
        runModel(sequence, { harness: await create() }),
      );
      await fc.assert(property, { numRuns: runs });
    });
  });
}

export interface OutageModelOptions {
  readonly name: string;
  readonly runs: number;
  readonly create: () => Promise<LosableHarness>;
}

/** As {@link limiterModel}, with a shared state that is lost and found at any time. */
export function outageModel({ name, runs, create }: OutageModelOptions): void {
  const outages = [fc.constant(lose), fc.constant(find)];
  const commands = fc.commands([...calls, ...outages], { size: '+1' });
  describe(`${name}: model`, () => {
    it('answers like the pure functions, even if the shared state is lost and found at any time', async () => {
      const property = fc.asyncProperty(commands, async (sequence) => {
        const losable = await create();
        await runModel(sequence, { harness: losable, losable });
      });
      await fc.assert(property, { numRuns: runs });
    });
  });
}

async function runModel(
  sequence: Iterable<Command>,
  { harness, losable }: { readonly harness: LimiterHarness; readonly losable?: LosableHarness },
): Promise<void> {
  const model: Model = {
    replicas: losable?.replicas ?? 1,
    nowUs: 0,
    isLost: false,
    subjects: new Map(),
    logs: new Map(),
    ownPermits: new Map(),
    ownEvents: new Map(),
    leases: [],
  };
  try {
    const real: Real = { harness, losable, leases: [] };
    await fc.asyncModelRun(() => ({ model, real }), sequence);
  } finally {
    await harness.limiter.close();
  }
}
