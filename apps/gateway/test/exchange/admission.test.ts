/** Limits of keys and of their account, and limits that cannot be counted. */

import type { Request } from 'express';
import { expect, it } from '@jest/globals';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { KeyRecord } from '@gateway/balance-store';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import type { Policy } from '@gateway/rate-limiter';
import { generateCredential } from '../../../../packages/balance-store/src/credential.js';
import { admitKey } from '../../src/exchange/admission.js';
import { authenticate } from '../../src/exchange/authentication.js';
import type { ExchangeParts } from '../../src/exchange/exchange-parts.js';

/** Keys of one account with a burst of 10 and one request a second, on a clock that stands. */
function account() {
  const parts = {
    store: { readStanding: (id: string) => Promise.resolve({ standing: standings.get(id) }) },
    limiter: createMemoryLimiter({ now: () => 0 }),
    accountLimits: { concurrency: 1_000, burst: 10, requestsPerMinute: 60 },
  } as unknown as ExchangeParts;
  const standings = new Map<string, KeyRecord['standing']>();
  return (id: string, limits: Partial<Policy>, standing: KeyRecord['standing'] = 'active') => {
    standings.set(id, standing);
    const own = { concurrency: 1_000, burst: 10, requestsPerMinute: 60, ...limits };
    const of = { id, accountId: 'acct', limits: own, standing, expiresAt: null };
    const key = of as unknown as KeyRecord;
    return {
      /** @returns how many of so many requests were admitted */
      async ask(count: number): Promise<number> {
        let admitted = 0;
        for (let n = 0; n < count; n += 1) {
          const { outcome } = await admitKey(key, 'paid', parts);
          if (outcome === 'admitted') admitted += 1;
        }
        return admitted;
      },
    };
  };
}

// F332
it.each<Partial<Policy>>([
  { requestsPerMinute: 600 },
  { burst: 100 },
  { burst: 100, requestsPerMinute: 6_000 },
  { burst: 2 },
])('a key with %j does not undo the limits of its account', async (limits) => {
  const keyOf = account();
  const other = keyOf('other', limits);
  const usual = [1, 2, 3, 4, 5].map((n) => keyOf(`usual ${String(n)}`, {}));
  let ofOther = 0;
  let ofUsual = 0;
  for (let round = 0; round < 10; round += 1) {
    ofOther += await other.ask(1);
    for (const key of usual) ofUsual += await key.ask(1);
  }
  expect(ofOther).toBeGreaterThan(0);
  expect(ofUsual).toBeLessThanOrEqual(10);
});

it('a key with higher limits than its account has its own', async () => {
  const keyOf = account();
  expect(await keyOf('large', { burst: 70, requestsPerMinute: 600 }).ask(100)).toBe(70);
  // The 70 took a tenth of a permit each.
  expect(await keyOf('usual', {}).ask(100)).toBe(3);
});

// F334: a suspended or expired key is used on, by a thief for example: it takes no permits, so the
// account's other keys keep theirs.
it.each(['suspended', 'expired'] as const)(
  'a key that is %s takes no permits',
  async (standing) => {
    const keyOf = account();
    expect(await keyOf('stopped', { burst: 100 }, standing).ask(50)).toBe(0);
    expect(await keyOf('usual', {}).ask(50)).toBe(10);
  },
);

const ended = () => Promise.reject(new StoreUnavailableError('the process has ended'));
const parts = {
  store: { findKeyByCredential: () => Promise.resolve(undefined) },
  limiter: { admit: ended, record: ended },
  accountLimits: { concurrency: 1, burst: 1, requestsPerMinute: 1 },
} as unknown as ExchangeParts;
const UNAVAILABLE = { outcome: 'refused', refusal: { status: 503, retryAfterSeconds: 5 } };

it('a request with a key is refused with 503, and may be sent again', async () => {
  const key = { id: 'key_1', limits: { concurrency: 1, burst: 1, requestsPerMinute: 1 } };
  const admission = await admitKey(key as unknown as KeyRecord, 'paid', parts);
  expect(admission).toMatchObject(UNAVAILABLE);
});

it('so is a request with an unknown key', async () => {
  const authorization = `Bearer ${generateCredential()}`;
  const req = { method: 'GET', ip: '192.0.2.1', headers: { authorization } };
  const authentication = await authenticate(req as unknown as Request, parts, {
    credential: 'bearer',
    takesLink: false,
  });
  expect(authentication).toMatchObject(UNAVAILABLE);
});
