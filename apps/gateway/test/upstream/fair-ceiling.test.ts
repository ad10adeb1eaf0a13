/** Customers' accounts share the ceiling of an upstream account fairly. The time is simulated. */

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { CeilingLimits } from '../../src/config/upstream-target.js';
import { FairCeiling } from '../../src/upstream/accounts/fair-ceiling.js';

const MAX_WAIT_MS = 3_000;
const KEY = { accountId: 'account', keyId: 'key' };

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
});
afterEach(() => {
  jest.useRealTimers();
});

function open(limits: Partial<CeilingLimits>): FairCeiling {
  return new FairCeiling(
    { requestsPerMinute: undefined, tokensPerMinute: undefined, ...limits },
    { maxWaitMs: MAX_WAIT_MS, now: Date.now },
  );
}

interface Seen {
  passed: number;
  late: number;
  tokens: number;
  readonly waits: number[];
}

/**
 * Keeps `parallel` requests of a key waiting: whenever one has passed, or was refused because it
 * waited too long, the next one is sent. Without `account`, the key has an account of its own.
 */
function drive(
  ceiling: FairCeiling,
  {
    key,
    account = key,
    parallel,
    tokens = 0,
  }: { key: string; account?: string; parallel: number; tokens?: number },
): Seen {
  const seen: Seen = { passed: 0, late: 0, tokens: 0, waits: [] };
  const run = async (): Promise<void> => {
    for (;;) {
      const since = Date.now();
      const { outcome } = await ceiling.pass({ accountId: account, keyId: key }, tokens);
      seen[outcome] += 1;
      if (outcome === 'passed') {
        seen.tokens += tokens;
        seen.waits.push(Date.now() - since);
      }
    }
  };
  for (let index = 0; index < parallel; index += 1) void run();
  return seen;
}

const MINUTES = 5;
const elapse = () => jest.advanceTimersByTimeAsync(MINUTES * 60_000);

function p99(waits: readonly number[]): number {
  return [...waits].sort((a, b) => a - b)[Math.floor(waits.length * 0.99)]!;
}

describe('three accounts', () => {
  // F103: one key asks for more than its share: the others get theirs, within 10 % of equal, and
  // wait briefly.
  it('get equal shares of the requests, however many each sends at once, and those that send few wait briefly', async () => {
    const ceiling = open({ requestsPerMinute: 600 });
    const greedy = drive(ceiling, { key: 'greedy', parallel: 100 });
    const patient = ['a', 'b'].map((key) => drive(ceiling, { key, parallel: 1 }));
    await elapse();
    const shares = [greedy, ...patient].map(({ passed }) => passed);
    const equal = shares.reduce((sum, share) => sum + share, 0) / 3;
    for (const share of shares) expect(Math.abs(share / equal - 1)).toBeLessThan(0.1);
    // The ceiling is used up, and not exceeded by more than its burst of two seconds.
    expect(3 * equal).toBeGreaterThanOrEqual(600 * MINUTES);
    expect(3 * equal).toBeLessThanOrEqual(600 * MINUTES + 21);
    // With 10 requests a second for three keys, each key has a turn every 300 ms.
    for (const { waits, late } of patient) {
      expect(p99(waits)).toBeLessThanOrEqual(400);
      expect(late).toBe(0);
    }
    expect(greedy.late).toBeGreaterThan(0);
    expect(Math.max(...greedy.waits)).toBeLessThanOrEqual(MAX_WAIT_MS);
  });

  // F103
  it('get equal shares of the tokens, however large their requests are', async () => {
    const ceiling = open({ tokensPerMinute: 600_000 });
    const all = [
      drive(ceiling, { key: 'large', parallel: 50, tokens: 5_000 }),
      drive(ceiling, { key: 'small', parallel: 50, tokens: 250 }),
      drive(ceiling, { key: 'middle', parallel: 50, tokens: 1_000 }),
    ];
    await elapse();
    const equal = all.reduce((sum, { tokens }) => sum + tokens, 0) / 3;
    for (const { tokens } of all) expect(Math.abs(tokens / equal - 1)).toBeLessThan(0.1);
    expect(3 * equal).toBeLessThanOrEqual(600_000 * MINUTES + 20_000 + 5_000);
  });
});

// F171: many keys of one account wait at the ceiling of an upstream account: the account gets one
// share; within it, its keys get equal shares.
it('an account gains nothing by having more keys', async () => {
  const ceiling = open({ requestsPerMinute: 600 });
  const single = drive(ceiling, { key: 'single', parallel: 10 });
  const many = Array.from({ length: 24 }, (_, n) =>
    drive(ceiling, { key: `key ${String(n)}`, account: 'many', parallel: 1 }),
  );
  await elapse();
  const ofMany = many.reduce((sum, { passed }) => sum + passed, 0);
  expect(Math.abs(single.passed / ofMany - 1)).toBeLessThan(0.1);
});

// F171
it('the keys of an account share its part, however many requests each has waiting', async () => {
  const ceiling = open({ requestsPerMinute: 600 });
  const account = 'account';
  const greedy = drive(ceiling, { key: 'greedy', account, parallel: 100 });
  const patient = drive(ceiling, { key: 'patient', account, parallel: 2 });
  await elapse();
  expect(Math.abs(greedy.passed / patient.passed - 1)).toBeLessThan(0.1);
  expect(patient.late).toBe(0);
});

it('one account alone may use all of the ceiling', async () => {
  const ceiling = open({ requestsPerMinute: 600 });
  const alone = drive(ceiling, { key: 'alone', parallel: 10 });
  await elapse();
  expect(alone.passed).toBeGreaterThanOrEqual(600 * MINUTES);
});

it('an account gains no larger share by having been idle', async () => {
  const ceiling = open({ requestsPerMinute: 600 });
  const busy = drive(ceiling, { key: 'busy', parallel: 20 });
  await elapse();
  const before = busy.passed;
  const late = drive(ceiling, { key: 'idle before', parallel: 20 });
  await elapse();
  expect(Math.abs(late.passed / (busy.passed - before) - 1)).toBeLessThan(0.1);
});

it('a request larger than the bucket passes, and the next one waits until the bucket holds a token again', async () => {
  const ceiling = open({ tokensPerMinute: 60_000 });
  expect(ceiling.pass(KEY, 4_000)).toEqual({ outcome: 'passed' });
  // The bucket is at -2,000 tokens and gains 1,000 a second, so it is above zero after a little
  // more than two seconds.
  const next = ceiling.pass(KEY, 1);
  await jest.advanceTimersByTimeAsync(1_990);
  expect(ceiling.waiting).toBe(1);
  await jest.advanceTimersByTimeAsync(20);
  expect(await next).toEqual({ outcome: 'passed' });
});

it('a usage above the expected tokens delays the next request', () => {
  const ceiling = open({ tokensPerMinute: 60_000 });
  expect(ceiling.pass(KEY, 1_900)).toEqual({ outcome: 'passed' });
  ceiling.correct(200);
  expect(ceiling.pass(KEY, 1)).toBeInstanceOf(Promise);
});

it('a usage below the expected tokens lets a waiting request pass at once', async () => {
  const ceiling = open({ tokensPerMinute: 60_000 });
  expect(ceiling.pass(KEY, 100_000)).toEqual({ outcome: 'passed' });
  const next = ceiling.pass(KEY, 1);
  expect(ceiling.waiting).toBe(1);
  ceiling.correct(-99_000);
  expect(ceiling.waiting).toBe(0);
  expect(await next).toEqual({ outcome: 'passed' });
});

it('leaves no timer when nobody waits any more', async () => {
  const ceiling = open({ tokensPerMinute: 60_000 });
  expect(ceiling.pass(KEY, 1_000_000)).toEqual({ outcome: 'passed' });
  const next = ceiling.pass(KEY, 1);
  await jest.advanceTimersByTimeAsync(MAX_WAIT_MS - 1);
  expect(jest.getTimerCount()).toBeGreaterThan(0);
  await jest.advanceTimersByTimeAsync(1);
  expect(await next).toMatchObject({ outcome: 'late' });
  expect(jest.getTimerCount()).toBe(0);
});
