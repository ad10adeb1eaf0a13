/** When an upstream account takes requests. */

import { expect, it } from '@jest/globals';
import { createAccountStanding } from '../../src/upstream/accounts/account-standing.js';
import type {
  AccountStanding,
  StandingRequest,
} from '../../src/upstream/accounts/account-standing.js';

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
  expect(standing.wait(ONE).ms).toBe(60_000);
  expect(standing.wait(requestOf('one', { bodyBytes: 100_001 })).ms).toBe(60_000);
  for (const other of [
    requestOf('one', { bodyBytes: 99_999 }),
    requestOf('one', { model: 'other' }),
    requestOf('one', { operation: 'count_tokens' }),
    TWO,
  ])
    expect(standing.wait(other).ms).toBe(0);
  expect(standing.state()).toBe('available');
  now = 61_000;
  expect(standing.wait(ONE).ms).toBe(0);
});

it('a 429 holds back all customers once two met it, or another account served the request, but never smaller requests', () => {
  for (const confirm of ['another customer', 'another account'] as const) {
    let now = 0;
    const standing = createAccountStanding(() => now);
    standing.refused(ONE, 'limit', 60_000);
    now = 10_000;
    if (confirm === 'another customer') standing.refused(TWO, 'limit', 30_000);
    else standing.servedElsewhere(ONE, 'limit');
    expect(standing.wait(THREE).ms).toBe(confirm === 'another customer' ? 30_000 : 50_000);
    expect(standing.wait(requestOf('three', { bodyBytes: 50_000 })).ms).toBe(0);
    expect(standing.state()).toBe('cooling');
    now = 60_000;
    expect([standing.wait(THREE).ms, standing.state()]).toEqual([0, 'available']);
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
  expect(standing.wait(THREE).ms).toBe(60_000);
  expect(standing.wait(requestOf('flood', { model: 'model-9999' })).ms).toBe(60_000);
  expect(standing.wait(requestOf('flood', { model: 'model-0' })).ms).toBe(0);
});

it('a refusal of the credential is believed when another account served the request, or a second customer met it while nothing was served', () => {
  let now = 0;
  const standing = createAccountStanding(() => now);
  for (let n = 0; n < 3; n += 1) standing.refused(ONE, 'account');
  expect(standing.isAvoided(ONE)).toBe(false);
  standing.answered(ONE, now);
  standing.refused(TWO, 'permission');
  expect(standing.isAvoided(ONE)).toBe(false);
  now = 61_000;
  standing.refused(THREE, 'permission');
  expect([standing.isAvoided(ONE), standing.state()]).toEqual([false, 'available']);
  standing.refused(ONE, 'permission');
  expect([standing.isAvoided(ONE), standing.state()]).toEqual([true, 'refused']);
  now = 121_000;
  expect([standing.isAvoided(ONE), standing.state()]).toEqual([false, 'refused']);
  standing.answered(ONE, now);
  expect(standing.state()).toBe('available');
  standing.servedElsewhere(ONE, 'account');
  expect([standing.isAvoided(ONE), standing.state()]).toEqual([true, 'refused']);
  // It is used if no other account takes the request.
  expect(standing.wait(TWO).ms).toBe(0);
});

it('a 403 says nothing about the account, even if another account served the request', () => {
  const standing = createAccountStanding(() => 0);
  standing.refused(ONE, 'permission');
  standing.servedElsewhere(ONE, 'permission');
  expect([standing.isAvoided(ONE), standing.state()]).toEqual([false, 'available']);
});

it('an account that is left out stays so when it answers a request that was sent before', () => {
  let now = 2_000;
  const standing = createAccountStanding(() => now);
  standing.servedElsewhere(ONE, 'account');
  standing.unreachable();
  now = 4_000;
  standing.answered(ONE, 1_000);
  expect([standing.isAvoided(ONE), standing.wait(TWO).ms]).toEqual([true, 3_000]);
  standing.answered(ONE, now);
  expect([standing.isAvoided(ONE), standing.wait(TWO).ms]).toEqual([false, 0]);
});

it('an account that refused stays refused until its minute ends, whatever it answers otherwise', () => {
  let now = 0;
  const standing = createAccountStanding(() => now);
  standing.servedElsewhere(ONE, 'account');
  now = 10_000;
  standing.servedElsewhere(ONE, 'unknown');
  expect([standing.isAvoided(ONE), standing.state()]).toEqual([true, 'refused']);
  now = 59_999;
  expect(standing.isAvoided(ONE)).toBe(true);
  now = 60_000;
  standing.servedElsewhere(ONE, 'unknown');
  expect([standing.isAvoided(ONE), standing.state()]).toEqual([true, 'cooling']);
});

it('an overload counts for its model and operation only, once another account served the request, or a second customer met it', () => {
  for (const confirm of ['another account', 'another customer'] as const) {
    let now = 0;
    const standing = createAccountStanding(() => now);
    for (let n = 0; n < 3; n += 1) standing.refused(ONE, 'overload');
    expect([standing.isAvoided(TWO), standing.state()]).toEqual([false, 'available']);
    if (confirm === 'another account') standing.servedElsewhere(ONE, 'overload');
    else standing.refused(TWO, 'overload');
    expect([standing.isAvoided(THREE), standing.state()]).toEqual([true, 'cooling']);
    for (const other of [{ model: 'other' }, { operation: 'count_tokens' }] as const)
      expect(standing.isAvoided(requestOf('one', other))).toBe(false);
    // It is used if no other account takes the request.
    expect(standing.wait(THREE).ms).toBe(0);
    now = 5_000;
    expect([standing.isAvoided(THREE), standing.state()]).toEqual([false, 'available']);
  }
});

it('after an overload, one request at a time finds out whether the account serves again', () => {
  let now = 0;
  const standing = createAccountStanding(() => now);
  standing.servedElsewhere(ONE, 'overload');
  now = 5_000;
  standing.sent(TWO);
  expect(standing.isAvoided(THREE)).toBe(true);
  // A failure that its request may have caused lets the next one find out.
  standing.refused(TWO, 'overload');
  expect(standing.isAvoided(THREE)).toBe(false);
  standing.sent(THREE);
  expect(standing.isAvoided(TWO)).toBe(true);
  // An error about the request says nothing about the model.
  standing.answered(THREE, now);
  expect(standing.isAvoided(TWO)).toBe(false);
  standing.sent(ONE);
  now = 14_999;
  expect(standing.isAvoided(TWO)).toBe(true);
  // A request may take minutes.
  now = 15_000;
  expect(standing.isAvoided(TWO)).toBe(false);
  standing.sent(TWO);
  standing.served(TWO, now);
  for (let n = 0; n < 3; n += 1) standing.sent(TWO);
  expect(standing.isAvoided(THREE)).toBe(false);
});

it('after it could not be reached, or refused its credential, one request at a time finds out as well', () => {
  for (const [fail, ms] of [
    [(standing: AccountStanding) => standing.unreachable(), 5_000],
    [(standing: AccountStanding) => standing.servedElsewhere(ONE, 'account'), 60_000],
  ] as const) {
    let now = 0;
    const standing = createAccountStanding(() => now);
    fail(standing);
    now = ms;
    expect([standing.isAvoided(ONE), standing.wait(ONE).ms]).toEqual([false, 0]);
    standing.sent(ONE);
    const other = requestOf('two', { model: 'other' });
    expect([standing.isAvoided(other), standing.wait(other).ms]).toEqual([true, 0]);
    standing.answered(ONE, now);
    expect(standing.isAvoided(other)).toBe(false);
  }
});

it('a 429 that names no time holds back nothing', () => {
  const standing = createAccountStanding(() => 0);
  for (const customer of [ONE, TWO]) standing.refused(customer, 'limit');
  standing.servedElsewhere(ONE, 'limit');
  expect([standing.wait(ONE).ms, standing.isAvoided(ONE), standing.state()]).toEqual([
    0,
    false,
    'available',
  ]);
});

it('of a limit of days, one request a minute finds out whether it was raised; an answer ends it', () => {
  const days = 3 * 86_400_000;
  let now = 0;
  const standing = createAccountStanding(() => now);
  standing.refused(ONE, 'limit', days);
  standing.servedElsewhere(ONE, 'limit');
  now = 59_999;
  expect(standing.wait(TWO)).toEqual({ ms: days - now, cause: 'limit' });
  now = 60_000;
  expect(standing.wait(TWO).ms).toBe(0);
  standing.sent(TWO);
  expect(standing.wait(THREE).ms).toBe(days - now);
  standing.refused(TWO, 'limit', days - now);
  now = 119_999;
  expect(standing.wait(THREE).ms).toBeGreaterThan(0);
  now = 120_000;
  standing.sent(THREE);
  standing.served(requestOf('three', { bodyBytes: 99_999 }), now);
  expect(standing.wait(TWO).ms).toBeGreaterThan(0);
  standing.served(THREE, now);
  for (const each of [ONE, TWO, THREE]) expect(standing.wait(each).ms).toBe(0);
});
