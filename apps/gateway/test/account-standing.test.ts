/** When an upstream account takes requests. */

import { expect, it } from '@jest/globals';
import { createAccountStanding } from '../src/upstream/accounts/account-standing.js';

const RATE_LIMITED = {
  outcome: 'replace',
  refusal: { status: 529, type: 'overloaded_error', message: 'busy', retryAfterSeconds: 60 },
  operatorMustAct: false,
  fault: 'upstream 429',
} as const;

it('an account that is left out stays so when it answers a request that was sent before', () => {
  let now = 1_000;
  const standing = createAccountStanding(() => now);
  const sentBefore = now;
  now = 2_000;
  standing.failed(RATE_LIMITED);
  now = 30_000;
  standing.answered(sentBefore);
  expect([standing.state(), standing.waitMs()]).toEqual(['cooling', 32_000]);
  now = 62_000;
  expect([standing.state(), standing.waitMs()]).toEqual(['available', 0]);
});

it('a shorter wait does not shorten a longer one, and an account that refused stays refused until its wait ends', () => {
  let now = 0;
  const standing = createAccountStanding(() => now);
  standing.failed({ ...RATE_LIMITED, operatorMustAct: true });
  now = 10_000;
  standing.unreachable();
  expect([standing.state(), standing.waitMs()]).toEqual(['refused', 50_000]);
  now = 60_000;
  standing.failed(RATE_LIMITED);
  now = 70_000;
  standing.unreachable();
  expect([standing.state(), standing.waitMs()]).toEqual(['cooling', 50_000]);
  standing.answered(now);
  standing.unreachable();
  expect([standing.state(), standing.waitMs()]).toEqual(['cooling', 5_000]);
});

it('an account that refused is available again once it answers a later request', () => {
  let now = 1_000;
  const standing = createAccountStanding(() => now);
  standing.failed({ ...RATE_LIMITED, operatorMustAct: true });
  now = 61_000;
  expect([standing.state(), standing.waitMs()]).toEqual(['refused', 0]);
  standing.answered(now);
  expect(standing.state()).toBe('available');
});
