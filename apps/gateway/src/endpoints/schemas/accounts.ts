/** Accounts and what their holders see of them. */

import { z } from 'zod';
import { CAP_PERIODS } from '@gateway/balance-store';
import { shownSettings } from '../account-settings.js';
import { count, firstCredit, orNull, text, time, usd } from './basics.js';

export const account = z
  .strictObject({
    object: z.literal('account'),
    id: text,
    name: text,
    external_id: orNull(text),
    metadata: z.record(text, text),
    state: z.enum(['active', 'suspended']).meta({
      description: 'suspended: none of its keys works, also those that are created meanwhile',
    }),
    balance_usd: usd,
    ...shownSettings,
    spent_usd: usd,
    credited_usd: usd,
    adjusted_usd: usd,
    expired_usd: usd,
    written_off_usd: usd,
    usable_keys: count,
    created_at: time,
    last_charged_at: orNull(time),
  })
  .meta({ id: 'Account' });

export const accountWithCredits = account
  .extend({
    unspent: z.strictObject({
      lots: z.array(
        z.strictObject({
          entry_id: text,
          source: z.enum(['paid', 'promotional']),
          expires_at: orNull(time),
          remaining_usd: usd,
        }),
      ),
      other_usd: usd,
    }),
  })
  .meta({ id: 'AccountWithCredits' });

/** The caps of a key that are set. */
const caps = z
  .array(
    z.strictObject({
      period: z.enum(CAP_PERIODS),
      cap_usd: usd,
      used_usd: usd,
      left_usd: usd,
      renews_at: orNull(time).meta({ description: 'null for the period total' }),
    }),
  )
  .meta({ description: 'the caps of the key, the one with the least left first' });

export const accountOverview = z
  .strictObject({
    object: z.literal('account_overview'),
    operator: orNull(z.strictObject({ name: text, contact: orNull(text) })).meta({
      description: 'contact: an address of mail, or one that begins with https:// or http://',
    }),
    account_name: text,
    balance_usd: usd,
    is_shared: z.boolean().meta({ description: 'other keys spend the same balance' }),
    may_see_account: z.boolean().meta({
      description: 'the key may read the charges of all keys, and the statement',
    }),
    key: z.strictObject({
      id: text,
      name: text,
      hint: text,
      scope: z.enum(['use', 'manage']),
      is_active: z.boolean(),
      used_up_cap: orNull(
        z.strictObject({
          period: z.enum(CAP_PERIODS),
          cap_usd: usd,
          renews_at: orNull(time).meta({ description: 'null for the period total' }),
        }),
      ).meta({ description: 'the cap for which each request of an active key is refused' }),
      caps,
      expires_at: orNull(time),
      last_charged_at: orNull(time),
    }),
    allowance: orNull(z.strictObject({ amount_usd: usd, left_usd: usd, renews_at: time })).meta({
      description: 'credit of each month, which is used first and is not carried over',
    }),
    expiring: z.array(z.strictObject({ remaining_usd: usd, expires_at: time })).meta({
      description: 'the unspent part of each credit that expires, the next one first',
    }),
    pace: z
      .strictObject({ days: count, spent_usd: usd, spent_by_key_usd: usd })
      .meta({ description: 'what all keys of the account spent in these days, today included' }),
    lasts_until: orNull(time).meta({
      description:
        'when the balance is used up at this pace, without credit that expires before it can be ' +
        'spent; null if nothing was spent',
    }),
  })
  .meta({ id: 'AccountOverview' });

export const newAccount = account
  .extend({ first_credit: orNull(firstCredit), replayed: z.boolean() })
  .meta({ id: 'NewAccount' });

export const balance = z
  .strictObject({
    object: z.literal('balance'),
    balance_usd: z.number(),
    expires_at: orNull(time),
    is_active: z.boolean(),
    last_synced_at: time,
    caps,
  })
  .meta({ id: 'Balance' });

export const notices = z
  .strictObject({
    object: z.literal('notices'),
    shares: z.array(z.int()).meta({ description: 'in percent, ascending' }),
    full_usd: usd.meta({
      description: 'the balance after the last credit, of which a share is used',
    }),
    email: orNull(text).meta({ description: 'where notices are sent by mail' }),
    sends_mail: z.boolean().meta({ description: 'false: email cannot be set' }),
  })
  .meta({ id: 'Notices' });
