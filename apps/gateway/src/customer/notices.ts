/**
 * `/v1/dashboard/notices`: at which shares of the account's balance and of its keys' caps the
 * customer wants a notice, and to which address they are also sent by mail. The events are
 * `balance.share` and `cap.share`.
 */

import { formatUsd } from '@gateway/billing';
import { z } from 'zod';
import { MINUTE_MS } from '../base/times.js';
import { NO_MAIL, noticeEmail, noticeShares } from '../endpoints/fields.js';
import * as schema from '../endpoints/schemas.js';
import { readJson } from '../http/json-body.js';
import { invalidQuery, refusalOfQuery } from '../http/query-refusal.js';
import type { CustomerParts } from './customer-parts.js';
import { holderOf, keyEndpoint } from './key-route.js';
import type { KeyEndpoint, ReadAnswer } from './key-route.js';
import { needsManage, refusalOfStopped } from './scope.js';
import { maySeeAccount } from './statement.js';

const notices = z.strictObject({
  shares: noticeShares,
  /** When absent, it stays. */
  email: noticeEmail.nullable().optional(),
});

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
      return { json: await noticesOf(key.accountId, parts) };
    },
);

const setNotices = keyEndpoint(
  {
    ...declared,
    method: 'put',
    id: 'setNotices',
    summary: 'Chooses these shares, in percent, none for no event, and an address for mail',
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
      const { shares, email } = input.data;
      if (typeof email === 'string' && !parts.sendsMail)
        return { refusal: invalidQuery('email', NO_MAIL) };
      const by = holderOf(key, req);
      const change = {
        noticeShares: shares,
        ...(email === undefined ? {} : { noticeEmail: email }),
      };
      await parts.store.updateAccount(key.accountId, change, by);
      return { json: await noticesOf(key.accountId, parts) };
    },
);

export const noticeEndpoints = [getNotices, setNotices] as const;

async function noticesOf(
  accountId: string,
  { store, sendsMail }: Pick<CustomerParts, 'store' | 'sendsMail'>,
) {
  const account = await store.getAccount(accountId);
  if (account === undefined) throw new Error('an authenticated key has no account');
  return {
    object: 'notices' as const,
    shares: account.noticeShares,
    full_usd: formatUsd(account.noticeBase),
    email: account.noticeEmail,
    sends_mail: sendsMail,
  };
}
