/**
 * The tests that every limiter passes. Run them on any backend, including your own.
 *
 * They use the functions of your test runner, so they work with Jest, Vitest and `node:test`.
 */

import assert from 'node:assert/strict';
import type { Admission, Group, Lease, Limiter } from '../limiter.js';
import type { Policy } from '../policy.js';

/** One limiter under test, and its clock. */
export interface LimiterHarness {
  readonly limiter: Limiter;
  /**
   * Moves the limiter's clock ahead. Nothing else may move it during a test, and leases must not
   * expire: the tests expect waits to the millisecond, and hold leases for an hour of that clock.
   */
  readonly advance: (ms: number) => void | Promise<void>;
}

export interface LimiterContractOptions {
  /** Names the suite. */
  readonly name: string;
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => Promise<void>) => void;
  /** Makes a limiter without any state, before each test. */
  readonly create: () => LimiterHarness | Promise<LimiterHarness>;
}

/** A policy with one permit a second, and more leases than any test takes. */
const SECONDLY: Policy = { concurrency: 10_000, burst: 3, requestsPerMinute: 60 };
/** A policy with two leases, and more permits than any test takes. */
const TWO_LEASES: Policy = { concurrency: 2, burst: 10_000, requestsPerMinute: 600_000 };

/** Declares the tests. */
export function limiterContract({ name, describe, it, create }: LimiterContractOptions): void {
  function fact(statement: string, body: (harness: LimiterHarness) => Promise<void>): void {
    it(statement, async () => {
      const harness = await create();
      try {
        await body(harness);
      } finally {
        await harness.limiter.close();
      }
    });
  }

  describe(`${name}: leases`, () => {
    // F44
    fact('admits exactly the concurrency', async ({ limiter }) => {
      const attempts = Array.from({ length: 7 }, async () => limiter.admit('a', TWO_LEASES));
      const admissions = await Promise.all(attempts);
      assert.equal(admittedOf(admissions).length, 2);
      for (const denial of deniedOf(admissions)) {
        assert.equal(denial.limit, 'concurrency');
        assert.ok(Number.isInteger(denial.retryAfterMs));
        assert.ok(denial.retryAfterMs >= 1_000 && denial.retryAfterMs <= 2_000);
      }
      assert.equal(await limiter.leases('a'), 2);
    });

    fact('a released lease can be taken again', async ({ limiter }) => {
      const [first] = await take(limiter, 'a', TWO_LEASES, 2);
      first?.release();
      assert.equal(await limiter.leases('a'), 1);
      await take(limiter, 'a', TWO_LEASES, 1);
      await assertDenied(limiter, 'a', TWO_LEASES, 'concurrency');
    });

    fact('releasing a lease twice returns one lease', async ({ limiter }) => {
      const [first] = await take(limiter, 'a', TWO_LEASES, 2);
      first?.release();
      first?.release();
      await take(limiter, 'a', TWO_LEASES, 1);
      first?.release();
      await assertDenied(limiter, 'a', TWO_LEASES, 'concurrency');
      assert.equal(await limiter.leases('a'), 2);
    });

    fact('a lease lives as long as it is held', async ({ limiter, advance }) => {
      await take(limiter, 'a', TWO_LEASES, 2);
      await advance(3_600_000);
      await assertDenied(limiter, 'a', TWO_LEASES, 'concurrency');
    });

    fact('a denial for concurrency spends no permit', async ({ limiter }) => {
      const policy = { ...SECONDLY, concurrency: 1 };
      const [only] = await take(limiter, 'a', policy, 1);
      for (let attempt = 0; attempt < 10; attempt += 1) {
        await assertDenied(limiter, 'a', policy, 'concurrency');
      }
      only?.release();
      await take(limiter, 'a', SECONDLY, 2);
      await assertDenied(limiter, 'a', SECONDLY, 'rate');
    });

    fact('close releases every lease', async ({ limiter }) => {
      const [first] = await take(limiter, 'a', TWO_LEASES, 2);
      await limiter.close();
      assert.equal(await limiter.leases('a'), 0);
      first?.release();
      assert.equal(await limiter.leases('a'), 0);
    });
  });

  describe(`${name}: permits`, () => {
    fact(
      'admits, of 500 simultaneous attempts, exactly as many as the burst',
      async ({ limiter }) => {
        const policy = { concurrency: 1_000, burst: 30, requestsPerMinute: 30 };
        const attempts = Array.from({ length: 500 }, async () => limiter.admit('a', policy));
        const admissions = await Promise.all(attempts);
        assert.equal(admittedOf(admissions).length, 30);
        for (const denial of deniedOf(admissions)) {
          assert.deepEqual(
            { limit: denial.limit, retryAfterMs: denial.retryAfterMs },
            { limit: 'rate', retryAfterMs: 2_000 },
          );
        }
      },
    );

    fact(
      'an admission reports the permits that are left, of the tighter limit',
      async (harness) => {
        const { limiter, advance } = harness;
        const group = { subject: 'all', policy: { ...SECONDLY, burst: 2 } };
        assert.deepEqual(await remainingOf(limiter, 'a', SECONDLY), 2);
        assert.deepEqual(await remainingOf(limiter, 'a', SECONDLY), 1);
        await advance(1_000);
        assert.deepEqual(await remainingOf(limiter, 'a', SECONDLY), 1);
        assert.deepEqual(await remainingOf(limiter, 'b', SECONDLY, group), 1);
        assert.deepEqual(await remainingOf(limiter, 'c', SECONDLY, group), 0);
      },
    );

    fact('admits one request of a burst of one', async ({ limiter }) => {
      const policy = { ...SECONDLY, burst: 1 };
      await take(limiter, 'a', policy, 1);
      await assertDenied(limiter, 'a', policy, 'rate', 1_000);
    });

    // F46: client waits for `retry-after`: is always admitted; a microsecond earlier it would not
    // be. The gateway cannot know when a lease will be released, so after a refusal for concurrency
    // the reported wait is a guess of one to two seconds.
    fact(
      'waiting for the whole reported time succeeds, a millisecond less does not',
      async (harness) => {
        const { limiter, advance } = harness;
        await take(limiter, 'a', SECONDLY, 3);
        await advance(300);
        await assertDenied(limiter, 'a', SECONDLY, 'rate', 700);
        await advance(699);
        await assertDenied(limiter, 'a', SECONDLY, 'rate', 1);
        await advance(1);
        await take(limiter, 'a', SECONDLY, 1);
        await assertDenied(limiter, 'a', SECONDLY, 'rate', 1_000);
      },
    );

    fact('a wait of a fraction of a millisecond is rounded up', async ({ limiter, advance }) => {
      const policy = { concurrency: 10, burst: 1, requestsPerMinute: 7 };
      await take(limiter, 'a', policy, 1);
      // 60 s / 7 = 8,571.43 ms
      await assertDenied(limiter, 'a', policy, 'rate', 8_572);
      await advance(8_571);
      await assertDenied(limiter, 'a', policy, 'rate', 1);
      await advance(1);
      await take(limiter, 'a', policy, 1);
    });

    fact('a pause restores at most the burst', async ({ limiter, advance }) => {
      await take(limiter, 'a', SECONDLY, 3);
      await advance(2_000);
      await take(limiter, 'a', SECONDLY, 2);
      await assertDenied(limiter, 'a', SECONDLY, 'rate', 1_000);
      await advance(86_400_000);
      await take(limiter, 'a', SECONDLY, 3);
      await assertDenied(limiter, 'a', SECONDLY, 'rate', 1_000);
    });

    fact('admits the steady rate without end', async ({ limiter, advance }) => {
      const policy = { ...SECONDLY, burst: 1 };
      for (let second = 0; second < 50; second += 1) {
        const [lease] = await take(limiter, 'a', policy, 1);
        lease?.release();
        await advance(1_000);
      }
    });

    fact(
      'a denial for the rate takes no lease and does not delay later requests',
      async (harness) => {
        const { limiter, advance } = harness;
        const policy = { ...SECONDLY, concurrency: 4 };
        await take(limiter, 'a', policy, 3);
        for (let attempt = 0; attempt < 20; attempt += 1) {
          await assertDenied(limiter, 'a', policy, 'rate', 1_000);
        }
        assert.equal(await limiter.leases('a'), 3);
        await advance(1_000);
        await take(limiter, 'a', policy, 1);
      },
    );

    fact('releasing a lease does not return its permit', async ({ limiter }) => {
      for (const lease of await take(limiter, 'a', SECONDLY, 3)) lease.release();
      await assertDenied(limiter, 'a', SECONDLY, 'rate', 1_000);
    });
  });

  describe(`${name}: groups`, () => {
    const groupOf = (policy: Policy): Group => ({ subject: 'group', policy });

    // F167
    fact('admits exactly the concurrency of the group', async ({ limiter }) => {
      const group = groupOf({ ...TWO_LEASES, concurrency: 5 });
      const subjects = ['a', 'b', 'c', 'd'].flatMap((subject) => [subject, subject, subject]);
      const admissions = await Promise.all(
        subjects.map(async (subject) => limiter.admit(subject, TWO_LEASES, group)),
      );
      assert.equal(admittedOf(admissions).length, 5);
      assert.equal(await limiter.leases('group'), 5);
      for (const subject of ['a', 'b', 'c', 'd']) {
        assert.ok((await limiter.leases(subject, 'group')) <= 2);
      }
    });

    fact('a denial names whose limit was reached', async ({ limiter }) => {
      const group = groupOf({ ...TWO_LEASES, concurrency: 3 });
      await take(limiter, 'a', TWO_LEASES, 2, group);
      await assertDenied(limiter, 'a', TWO_LEASES, 'concurrency', undefined, group);
      await take(limiter, 'b', TWO_LEASES, 1, group);
      const denial = await limiter.admit('b', TWO_LEASES, group);
      assert.ok(denial.outcome === 'denied');
      assert.deepEqual([denial.of, denial.limit], ['group', 'concurrency']);
      assert.ok(denial.retryAfterMs >= 1_000 && denial.retryAfterMs <= 2_000);
    });

    fact('a lease is given back to the subject and to the group', async ({ limiter }) => {
      const group = groupOf({ ...TWO_LEASES, concurrency: 3 });
      const [first] = await take(limiter, 'a', TWO_LEASES, 2, group);
      await take(limiter, 'b', TWO_LEASES, 1, group);
      first?.release();
      first?.release();
      assert.equal(await limiter.leases('group'), 2);
      assert.equal(await limiter.leases('a', 'group'), 1);
      await take(limiter, 'c', TWO_LEASES, 1, group);
      await assertDenied(limiter, 'd', TWO_LEASES, 'concurrency', undefined, group);
    });

    fact('a denial by the group takes nothing of the subject', async ({ limiter, advance }) => {
      const group = groupOf({ ...SECONDLY, burst: 1 });
      await take(limiter, 'a', SECONDLY, 1, group);
      for (let attempt = 0; attempt < 10; attempt += 1) {
        await assertDenied(limiter, 'b', SECONDLY, 'rate', 1_000, group);
      }
      assert.equal(await limiter.leases('b', 'group'), 0);
      const wide = groupOf(TWO_LEASES);
      await advance(1_000);
      await take(limiter, 'b', SECONDLY, 1, wide);
      await assertDenied(
        limiter,
        'b',
        { ...SECONDLY, concurrency: 1 },
        'concurrency',
        undefined,
        wide,
      );
    });

    fact('a denial by the subject takes nothing of the group', async ({ limiter }) => {
      const group = groupOf(SECONDLY);
      await take(limiter, 'a', { ...SECONDLY, burst: 1 }, 1, group);
      for (let attempt = 0; attempt < 10; attempt += 1) {
        await assertDenied(limiter, 'a', { ...SECONDLY, burst: 1 }, 'rate', 1_000, group);
      }
      assert.equal(await limiter.leases('group'), 1);
      await take(limiter, 'b', SECONDLY, 2, group);
      await assertDenied(limiter, 'c', SECONDLY, 'rate', 1_000, group);
    });

    // F167
    fact('new subjects gain no permits of the group', async ({ limiter, advance }) => {
      const group = groupOf(SECONDLY);
      let admitted = 0;
      for (let second = 0; second < 5; second += 1) {
        for (let n = 0; n < 10; n += 1) {
          const admission = await limiter.admit(`${second}:${n}`, SECONDLY, group);
          if (admission.outcome === 'denied') continue;
          admission.lease.release();
          admitted += 1;
        }
        await advance(1_000);
      }
      assert.equal(admitted, 3 + 4);
    });

    // F332: keys of one account have different limits: all share the account's bucket, and none
    // gives permits back that others took.
    fact('members that pay less have more of the same bucket', async ({ limiter, advance }) => {
      const member = { ...SECONDLY, burst: 100, requestsPerMinute: 6_000 };
      const whole = groupOf({ ...SECONDLY, burst: 4 });
      const half = groupOf({ ...SECONDLY, burst: 4, cost: 0.5 });
      const ask = async (group: Group) =>
        (await limiter.admit(group === half ? 'a' : 'b', member, group)).outcome === 'admitted';
      await take(limiter, 'a', member, 3, half);
      await take(limiter, 'b', member, 2, whole);
      await take(limiter, 'a', member, 1, half);
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await assertDenied(limiter, 'a', member, 'rate', 500, half);
        await assertDenied(limiter, 'b', member, 'rate', 1_000, whole);
      }
      let taken = 0;
      for (let step = 0; step < 60; step += 1) {
        await advance(500);
        for (const group of [half, whole, half]) {
          if (await ask(group)) taken += group === half ? 0.5 : 1;
        }
      }
      assert.equal(taken, 30);
    });

    // F392
    fact(
      'an admission can take several permits: all of them or none',
      async ({ limiter, advance }) => {
        const three = { ...SECONDLY, burst: 5, cost: 3 };
        await take(limiter, 'a', three, 1);
        await assertDenied(limiter, 'a', three, 'rate', 1_000);
        await take(limiter, 'a', { ...three, cost: 1 }, 2);
        await assertDenied(limiter, 'a', three, 'rate', 3_000);
        await advance(3_000);
        await take(limiter, 'a', three, 1);
        await assertDenied(limiter, 'a', { ...three, cost: 1 }, 'rate', 1_000);
      },
    );

    fact('groups do not share limits, whatever their names', async ({ limiter }) => {
      const odd = ['g', '', '}', '{', 'g}:l', 'g}:l:a', '1{k:g', 'ä'];
      for (const subject of odd) {
        const group = { subject, policy: SECONDLY };
        await take(limiter, `a:${subject}`, SECONDLY, 3, group);
        await assertDenied(limiter, `b:${subject}`, SECONDLY, 'rate', 1_000, group);
        assert.equal(await limiter.leases(subject), 3);
      }
    });

    fact('an invalid policy of a group throws a RangeError', async ({ limiter }) => {
      const group = groupOf({ ...SECONDLY, burst: 0 });
      await assert.rejects(async () => limiter.admit('a', SECONDLY, group), RangeError);
    });
  });

  describe(`${name}: subjects and policies`, () => {
    fact('subjects do not share limits, whatever their names', async ({ limiter }) => {
      const odd = ['a', 'A', 'a ', '', '}', '{', '{a}', 'a}:g', 'ä', '\u0000', 'a:b', '10.0.0.1'];
      for (const subject of odd) {
        await take(limiter, subject, SECONDLY, 3);
        await assertDenied(limiter, subject, SECONDLY, 'rate', 1_000);
        assert.equal(await limiter.leases(subject), 3);
      }
    });

    fact('a changed concurrency applies from the next call on', async ({ limiter }) => {
      await take(limiter, 'a', TWO_LEASES, 2);
      await take(limiter, 'a', { ...TWO_LEASES, concurrency: 3 }, 1);
      await assertDenied(limiter, 'a', { ...TWO_LEASES, concurrency: 1 }, 'concurrency');
    });

    fact('a raised burst applies from the next call on', async ({ limiter }) => {
      await take(limiter, 'a', SECONDLY, 3);
      await take(limiter, 'a', { ...SECONDLY, burst: 5 }, 2);
      await assertDenied(limiter, 'a', { ...SECONDLY, burst: 5 }, 'rate', 1_000);
    });

    fact('lowered limits lock no subject out', async ({ limiter }) => {
      const generous = { ...SECONDLY, burst: 600 };
      await take(limiter, 'a', generous, 600);
      await take(limiter, 'a', SECONDLY, 1);
      await assertDenied(limiter, 'a', SECONDLY, 'rate', 1_000);
    });

    fact('an invalid policy throws a RangeError', async ({ limiter }) => {
      const bad: Partial<Policy>[] = [
        { concurrency: 0 },
        { concurrency: 1.5 },
        { burst: 0 },
        { burst: Number.NaN },
        { requestsPerMinute: 0 },
        { requestsPerMinute: Infinity },
        { cost: 0 },
        { burst: 2, cost: 2.5 },
        { burst: 1e9, requestsPerMinute: 1 },
      ];
      for (const change of bad) {
        await assert.rejects(
          async () => limiter.admit('a', { ...SECONDLY, ...change }),
          RangeError,
        );
      }
      // The longest burst that is allowed.
      await take(limiter, 'a', { ...SECONDLY, burst: 1e9, requestsPerMinute: 60 }, 1);
      for (const limit of [0, -1, 2.5]) {
        await assert.rejects(async () => limiter.record('a', { limit, windowMs: 1 }), RangeError);
      }
      await assert.rejects(async () => limiter.record('a', { limit: 1, windowMs: 0 }), RangeError);
    });
  });

  describe(`${name}: sliding log`, () => {
    const THREE = { limit: 3, windowMs: 60_000 };

    // F47
    fact('counts down, then denies until the oldest event leaves the window', async (harness) => {
      const { limiter, advance } = harness;
      assert.deepEqual(await limiter.record('ip', THREE), { outcome: 'allowed', remaining: 2 });
      await advance(10_000);
      assert.deepEqual(await limiter.record('ip', THREE), { outcome: 'allowed', remaining: 1 });
      assert.deepEqual(await limiter.record('ip', THREE), { outcome: 'allowed', remaining: 0 });
      await advance(10_000);
      const denied = { outcome: 'denied', retryAfterMs: 40_000 };
      assert.deepEqual(await limiter.record('ip', THREE), denied);
      await advance(39_999);
      assert.deepEqual(await limiter.record('ip', THREE), { outcome: 'denied', retryAfterMs: 1 });
      await advance(1);
      assert.deepEqual(await limiter.record('ip', THREE), { outcome: 'allowed', remaining: 0 });
      // The second and third events came at 10 s, so they stay in the window for 10 s more.
      assert.deepEqual(await limiter.record('ip', THREE), {
        outcome: 'denied',
        retryAfterMs: 10_000,
      });
    });

    // F47
    fact('a limit of 30 a minute holds in every minute', async ({ limiter, advance }) => {
      const policy = { limit: 30, windowMs: 60_000 };
      const allowedAt: number[] = [];
      for (let timeMs = 0; timeMs < 200_000; timeMs += 730) {
        const decision = await limiter.record('ip', policy);
        if (decision.outcome === 'allowed') allowedAt.push(timeMs);
        await advance(730);
      }
      for (const [index, timeMs] of allowedAt.entries()) {
        const thirtyFirst = allowedAt[index + 30];
        assert.ok(thirtyFirst === undefined || thirtyFirst - timeMs >= 60_000);
      }
      assert.ok(allowedAt.length >= 4 * 30 - 10);
    });

    fact(
      'allows, of 100 simultaneous attempts, exactly as many as the limit',
      async ({ limiter }) => {
        const attempts = Array.from({ length: 100 }, async () => limiter.record('ip', THREE));
        const decisions = await Promise.all(attempts);
        assert.equal(decisions.filter(({ outcome }) => outcome === 'allowed').length, 3);
      },
    );

    fact('a lowered limit applies from the next call on', async ({ limiter, advance }) => {
      await limiter.record('ip', THREE);
      await advance(1_000);
      await limiter.record('ip', THREE);
      await advance(1_000);
      const one = { ...THREE, limit: 1 };
      assert.deepEqual(await limiter.record('ip', one), {
        outcome: 'denied',
        retryAfterMs: 59_000,
      });
    });

    fact('is independent of admissions of the same subject', async ({ limiter }) => {
      await take(limiter, 'a', SECONDLY, 3);
      assert.deepEqual(await limiter.record('a', THREE), { outcome: 'allowed', remaining: 2 });
      assert.equal(await limiter.leases('a'), 3);
    });
  });
}

function admittedOf(admissions: readonly Admission[]): Lease[] {
  return admissions.flatMap((admission) =>
    admission.outcome === 'admitted' ? [admission.lease] : [],
  );
}

function deniedOf(admissions: readonly Admission[]) {
  return admissions.filter((admission) => admission.outcome === 'denied');
}

/** Takes `count` leases, or fails. */
async function take(
  limiter: Limiter,
  subject: string,
  policy: Policy,
  count: number,
  group?: Group,
): Promise<Lease[]> {
  const leases: Lease[] = [];
  for (let taken = 0; taken < count; taken += 1) {
    const admission = await limiter.admit(subject, policy, group);
    if (admission.outcome === 'denied') {
      assert.fail(`denied by ${admission.limit} after ${taken} of ${count}`);
    }
    leases.push(admission.lease);
  }
  return leases;
}

async function assertDenied(
  limiter: Limiter,
  subject: string,
  policy: Policy,
  limit: 'concurrency' | 'rate',
  retryAfterMs?: number,
  group?: Group,
): Promise<void> {
  const admission = await limiter.admit(subject, policy, group);
  if (admission.outcome === 'admitted') assert.fail(`admitted, not denied by ${limit}`);
  assert.equal(admission.limit, limit);
  if (retryAfterMs !== undefined) assert.equal(admission.retryAfterMs, retryAfterMs);
}

async function remainingOf(
  limiter: Limiter,
  ...asked: Parameters<Limiter['admit']>
): Promise<number | undefined> {
  const admission = await limiter.admit(...asked);
  return admission.outcome === 'admitted' ? admission.remaining : undefined;
}
