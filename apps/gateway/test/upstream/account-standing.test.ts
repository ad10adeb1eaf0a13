/** When an upstream account takes requests. */

import { expect, it } from '@jest/globals';
import { createAccountStanding } from '../../src/upstream/accounts/account-standing.js';
import type { StandingRequest } from '../../src/upstream/accounts/account-standing.js';

function requestOf(accountId: string, more: Partial<StandingRequest> = {}): StandingRequest {
  return { accountId, operation: 'messages', model: 'model', bodyBytes: 100_000, ...more };
}
const ONE = requestOf('one');
const TWO = requestOf('two');
const THREE = requestOf('three');

it('a 429 holds back requests of the same customer, model and operation that are at least as large, for its time', () => {
  let now = 1_000;
  const standing = createAccountStanding(() => now);
  standing.refused(ONE, 'limit', 60_000);
  expect(standing.waitMs(ONE)).toBe(60_000);
  expect(standing.waitMs(requestOf('one', { bodyBytes: 100_001 }))).toBe(60_000);
  for (const other of [
    requestOf('one', { bodyBytes: 99_999 }),
    requestOf('one', { model: 'other' }),
    requestOf('one', { operation: 'count_tokens' }),
    TWO,
  ])
    expect(standing.waitMs(other)).toBe(0);
  expect(standing.state()).toBe('available');
  now = 61_000;
  expect(standing.waitMs(ONE)).toBe(0);
});

it('a 429 holds back all customers once two met it, or another account served the request, but never smaller requests', () => {
  for (const confirm of ['another customer', 'another account'] as const) {
    let now = 0;
    const standing = createAccountStanding(() => now);
    standing.refused(ONE, 'limit', 60_000);
    now = 10_000;
    if (confirm === 'another customer') standing.refused(TWO, 'limit', 30_000);
    else standing.servedElsewhere(ONE, 'limit');
    expect(standing.waitMs(THREE)).toBe(confirm === 'another customer' ? 30_000 : 50_000);
    expect(standing.waitMs(requestOf('three', { bodyBytes: 50_000 }))).toBe(0);
    expect(standing.state()).toBe('cooling');
    now = 60_000;
    expect([standing.waitMs(THREE), standing.state()]).toEqual([0, 'available']);
  }
});

it('remembers a bounded number of limits, and forgets first those that count for one customer', () => {
  const standing = createAccountStanding(() => 0);
  standing.refused(ONE, 'limit', 60_000);
  standing.servedElsewhere(ONE, 'limit');
  for (let n = 0; n < 10_000; n += 1) {
    const model = `model-${String(n)}`;
    standing.refused(requestOf('flood', { model, bodyBytes: n }), 'limit', 60_000);
  }
  expect(standing.waitMs(THREE)).toBe(60_000);
  expect(standing.waitMs(requestOf('flood', { model: 'model-9999' }))).toBe(60_000);
  expect(standing.waitMs(requestOf('flood', { model: 'model-0' }))).toBe(0);
});

it('a refusal of the credential is believed when another account served the request, or a second customer met it while nothing was served', () => {
  let now = 0;
  const standing = createAccountStanding(() => now);
  for (let n = 0; n < 3; n += 1) standing.refused(ONE, 'account');
  expect(standing.isAvoided()).toBe(false);
  standing.answered(now);
  standing.refused(TWO, 'permission');
  expect(standing.isAvoided()).toBe(false);
  now = 61_000;
  standing.refused(THREE, 'permission');
  expect([standing.isAvoided(), standing.state()]).toEqual([false, 'available']);
  standing.refused(ONE, 'permission');
  expect([standing.isAvoided(), standing.state()]).toEqual([true, 'refused']);
  now = 121_000;
  expect([standing.isAvoided(), standing.state()]).toEqual([false, 'refused']);
  standing.answered(now);
  expect(standing.state()).toBe('available');
  standing.servedElsewhere(ONE, 'account');
  expect([standing.isAvoided(), standing.state()]).toEqual([true, 'refused']);
  // It is used if no other account takes the request.
  expect(standing.waitMs(TWO)).toBe(0);
});

it('a 403 says nothing about the account, even if another account served the request', () => {
  const standing = createAccountStanding(() => 0);
  standing.refused(ONE, 'permission');
  standing.servedElsewhere(ONE, 'permission');
  expect([standing.isAvoided(), standing.state()]).toEqual([false, 'available']);
});

it('an account that is left out stays so when it answers a request that was sent before', () => {
  let now = 2_000;
  const standing = createAccountStanding(() => now);
  standing.servedElsewhere(ONE, 'account');
  standing.unreachable();
  now = 4_000;
  standing.answered(1_000);
  expect([standing.isAvoided(), standing.waitMs(TWO)]).toEqual([true, 3_000]);
  standing.answered(now);
  expect([standing.isAvoided(), standing.waitMs(TWO)]).toEqual([false, 0]);
});

it('an account that refused stays refused until its minute ends, whatever it answers otherwise', () => {
  let now = 0;
  const standing = createAccountStanding(() => now);
  standing.servedElsewhere(ONE, 'account');
  now = 10_000;
  standing.servedElsewhere(ONE, 'unknown');
  expect([standing.isAvoided(), standing.state()]).toEqual([true, 'refused']);
  now = 59_999;
  expect(standing.isAvoided()).toBe(true);
  now = 60_000;
  standing.servedElsewhere(ONE, 'unknown');
  expect([standing.isAvoided(), standing.state()]).toEqual([true, 'cooling']);
});
