/**
 * Model-based test of a limiter: random calls, pauses and outages, every answer compared with the
 * package's pure functions over plain data.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AskedLimit, LimitDenial, SubjectState } from '../src/admission.js';
import { decideAdmission, limitsOf } from '../src/admission.js';
import { permitsLeft } from '../src/gcra.js';
import type { Group, Lease } from '../src/limiter.js';
import type { OwnEvents, OwnPermits } from '../src/local.js';
import {
  admitLocally,
  boundTatUs,
  eventWaitBeforeAskingUs,
  eventsLeftToAsk,
  isStillAhead,
  permitsLeftToAsk,
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
  /** The subject and its group, if any. */
  readonly subjects: readonly string[];
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

type Expected = { readonly outcome: 'admitted'; readonly remaining: number } | LimitDenial;

const MEMBERS: ReadonlySet<string> = new Set(['b', 'c']);

function groupOf(subject: string, policy: Policy): Group | undefined {
  return MEMBERS.has(subject) ? { subject: 'group', policy } : undefined;
}

const FREE: SubjectState = { leases: 0, tatUs: undefined };
const NONE: OwnPermits = { tatUs: -Infinity, isAhead: false, pending: 0, pendingUs: 0 };

function heldOf(model: Model, subject: string): number {
  return model.leases.filter((lease) => lease?.subjects.includes(subject)).length;
}

function decideAdmissionOf(model: Model, asked: readonly AskedLimit[]): Expected {
  return model.isLost ? admitInModelLocally(model, asked) : admitInModel(model, asked);
}

/** Without the shared state: every limit has to admit. */
function admitInModelLocally(model: Model, asked: readonly AskedLimit[]): Expected {
  const { nowUs } = model;
  const granted: (() => void)[] = [];
  let remaining = Infinity;
  for (const [index, { subject, policy }] of asked.entries()) {
    const own = boundOwn(model, subject, policy);
    const leases = heldOf(model, subject);
    const decision = admitLocally(own, { leases, nowUs }, sharesOf(model, policy));
    if (decision.outcome === 'denied') return { ...decision, index };
    const { tatUs } = decision;
    remaining = Math.min(remaining, permitsLeft(tatUs, nowUs, sharesOf(model, policy).share));
    granted.push(() => model.ownPermits.set(subject, { ...own, tatUs, isAhead: true }));
  }
  for (const grant of granted) grant();
  return { outcome: 'admitted', remaining };
}

function admitInModel(model: Model, asked: readonly AskedLimit[]): Expected {
  const { nowUs } = model;
  for (const [index, { subject, policy }] of asked.entries()) {
    const own = model.ownPermits.get(subject) ?? NONE;
    if (!own.isAhead) continue;
    const bound = boundOwn(model, subject, policy);
    const waitUs = waitBeforeAskingUs(bound, nowUs, sharesOf(model, policy));
    if (waitUs > 0) return { outcome: 'denied', index, limit: 'rate', waitUs };
  }
  const decision = decideAdmission(
    asked.map(({ subject, policy }) => ({ state: model.subjects.get(subject) ?? FREE, policy })),
    nowUs,
  );
  if (decision.outcome === 'denied') return decision;
  let { remaining } = decision;
  asked.forEach(({ subject, policy }, index) => {
    model.subjects.set(subject, decision.states[index] ?? FREE);
    const own = model.ownPermits.get(subject) ?? NONE;
    const tatUs = tatAfterGrantUs(own.tatUs, nowUs, policy);
    const after = { ...own, tatUs, isAhead: isStillAhead(own, nowUs) };
    model.ownPermits.set(subject, after);
    remaining = Math.min(remaining, permitsLeftToAsk(after, nowUs, sharesOf(model, policy)));
  });
  return { outcome: 'admitted', remaining };
}

function sharesOf(model: Model, policy: Policy) {
  return { whole: policy, share: shareOfPolicy(policy, model.replicas) };
}

/**
 * The bounded TAT (see `OwnPermits`) is stored even if the request is then denied: after the limits
 * were lowered, the old TAT may be later than the lower limits allow.
 */
function boundOwn(model: Model, subject: string, policy: Policy): OwnPermits {
  const own = model.ownPermits.get(subject) ?? NONE;
  const tatUs = boundTatUs(own.tatUs, model.nowUs, sharesOf(model, policy));
  model.ownPermits.set(subject, { ...own, tatUs });
  return { ...own, tatUs };
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
  const after = { ...own, log: addEvent(own.log, nowUs, policy) };
  model.ownEvents.set(subject, after);
  const remaining = Math.min(decision.remaining, eventsLeftToAsk(after, nowUs, policy));
  return { ...decision, remaining };
}

function admit(subject: string, policy: Policy, groupPolicy: Policy): Command {
  const group = groupOf(subject, groupPolicy);
  return {
    check: () => true,
    async run(model, real) {
      const asked = limitsOf(subject, policy, group);
      const expected = decideAdmissionOf(model, asked);
      const actual = await real.harness.limiter.admit(subject, policy, group);
      expect(actual.outcome).toBe(expected.outcome);
      if (actual.outcome === 'admitted') {
        expect(actual).toMatchObject(expected);
        const subjects = asked.map((limit) => limit.subject);
        model.leases.push({ subjects, isOwn: model.isLost });
        real.leases.push(actual.lease);
      } else if (expected.outcome === 'denied') {
        expect(actual).toMatchObject({
          of: expected.index === 0 ? 'subject' : 'group',
          limit: expected.limit,
          ...(expected.limit === 'rate'
            ? { retryAfterMs: Math.ceil(expected.waitUs / 1_000) }
            : {}),
        });
      }
    },
    toString: () => `admit(${subject}, ${JSON.stringify({ policy, group })})`,
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
      for (const subject of lease.subjects) addShared(model, subject, -1);
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
      const group = MEMBERS.has(subject) ? 'group' : undefined;
      expect(await real.harness.limiter.leases(subject, group)).toBe(expected);
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
      for (const subject of lease.subjects) addShared(model, subject, 1);
    }
  },
  toString: () => 'find()',
};

/** `a` has no group; `b` and `c` share one. */
const subjects = fc.constantFrom('a', 'b', 'c');
/** Policies change from call to call, as an operator may change a key's limits at any time. */
const policies = fc.constantFrom<Policy>(
  { concurrency: 3, burst: 2, requestsPerMinute: 7 },
  { concurrency: 2, burst: 5, requestsPerMinute: 60 },
  { concurrency: 8, burst: 1, requestsPerMinute: 0.9 },
  { concurrency: 4, burst: 2, requestsPerMinute: 7, cost: 0.3 },
  { concurrency: 3, burst: 5, requestsPerMinute: 60, cost: 3 },
);
/**
 * All calls use one window, because a log keeps events no longer than the window with which it was
 * last written.
 */
const logPolicies = fc
  .integer({ min: 1, max: 4 })
  .map((limit): LogPolicy => ({ limit, windowMs: 20_000 }));

const admissions = fc
  .tuple(subjects, policies, policies)
  .map(([subject, policy, groupPolicy]) => admit(subject, policy, groupPolicy));

const calls = [
  admissions,
  admissions,
  fc.nat(1_000).map(release),
  fc.tuple(subjects, logPolicies).map(([subject, policy]) => record(subject, policy)),
  fc.oneof(fc.integer({ min: 1, max: 70_000 }), fc.constant(20_000)).map(advance),
  fc.oneof(subjects, fc.constant('group')).map(countLeases),
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
