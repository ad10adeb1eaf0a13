/** Requests whose limits cannot be counted, because the process that counts them has ended. */

import type { Request } from 'express';
import { expect, it } from '@jest/globals';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { KeyRecord } from '@gateway/balance-store';
import { generateCredential } from '../../../packages/balance-store/src/credential.js';
import { admitKey } from '../src/exchange/admission.js';
import { authenticate } from '../src/exchange/authentication.js';
import type { ExchangeParts } from '../src/exchange/exchange-parts.js';

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
