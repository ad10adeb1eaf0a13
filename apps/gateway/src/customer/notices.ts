/**
 * `/v1/dashboard/notices`: at which shares of the account's balance and of its keys' caps the
 * customer wants a notice. The events are `balance.share` and `cap.share`.
 */

import type { AccountRecord } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { z } from 'zod';
import { MINUTE_MS } from '../base/times.js';
import { noticeShares } from '../endpoints/fields.js';
import * as schema from '../endpoints/schemas.js';
import { readJson } from '../http/json-body.js';
import { refusalOfQuery } from '../http/query-refusal.js';
import type { CustomerParts } from './customer-parts.js';
import { holderOf, keyEndpoint } from './key-route.js';
import type { KeyEndpoint, ReadAnswer } from './key-route.js';
import { needsManage, refusalOfStopped } from './scope.js';
import { maySeeAccount } from './statement.js';

const notices = z.strictObject({ shares: noticeShares });

const declared = {
  path: '/v1/dashboard/notices',
  credential: 'bearer',
  result: schema.notices,
  name: 'notices',
  limit: { limit: 60, windowMs: MINUTE_MS },
} satisfies Partial<KeyEndpoint>;

const getNotices = keyEndpoint(
  {
    ...declared,
    method: 'get',
    id: 'getNotices',
    summary: 'At which shares of the balance and of caps an event is written',
  },
  (parts) =>
    async (key): Promise<ReadAnswer> => {
      if (!(await maySeeAccount(key, parts))) return { refusal: needsManage('notices') };
      return { json: noticesView(await accountOf(key.accountId, parts)) };
    },
);

const setNotices = keyEndpoint(
  {
    ...declared,
    method: 'put',
    id: 'setNotices',
    summary: 'Chooses these shares, in percent; none for no event',
    body: notices,
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      if (!(await maySeeAccount(key, parts))) return { refusal: needsManage('notices') };
      const stopped = await refusalOfStopped('notices', key, parts);
      if (stopped !== undefined) return { refusal: stopped };
      const unreadable = await readJson(req);
      if (unreadable !== undefined) return { refusal: unreadable };
      const input = notices.safeParse(req.body);
      if (!input.success) return { refusal: refusalOfQuery(input.error) };
      const by = holderOf(key, req);
      await parts.store.updateAccount(key.accountId, { noticeShares: input.data.shares }, by);
      return { json: noticesView(await accountOf(key.accountId, parts)) };
    },
);

export const noticeEndpoints = [getNotices, setNotices] as const;

async function accountOf(
  accountId: string,
  { store }: Pick<CustomerParts, 'store'>,
): Promise<AccountRecord> {
  const account = await store.getAccount(accountId);
  if (account === undefined) throw new Error('an authenticated key has no account');
  return account;
}

function noticesView({ noticeShares: shares, noticeBase }: AccountRecord) {
  return { object: 'notices' as const, shares, full_usd: formatUsd(noticeBase) };
}
