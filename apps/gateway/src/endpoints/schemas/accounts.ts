/** Accounts and what their holders see of them. */

import { z } from 'zod';
import { BUDGET_SCOPES, CAP_PERIODS } from '@gateway/balance-store';
import type { AccountRecord, UnspentCredit } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { SETTING_NAMES, settingMembers } from '../account-settings.js';
import type { ResultOf } from '../endpoint.js';
import { cellsOf, linesOf, membersFrom, pageColumnsOf, viewFor } from '../resource.js';
import {
  count,
  firstCredit,
  isoOf,
  metadataText,
  orNull,
  originText,
  text,
  time,
  usd,
} from './basics.js';

const seenBy = membersFrom<AccountRecord>();

/** Its holders see an overview instead. */
export const accountMembers = {
  object: seenBy.operators(z.literal('account'), () => 'account' as const),
  id: seenBy.operators(text, ({ id }) => id, 'id'),
  name: seenBy.operators(text, ({ name }) => name, 'name'),
  external_id: seenBy.operators(orNull(text), ({ externalId }) => externalId, 'external id'),
  metadata: seenBy.operators(z.record(text, text), ({ metadata }) => metadata, 'metadata'),
  state: seenBy.operators(
    z.enum(['active', 'suspended', 'closed']).meta({
      description:
        'suspended: none of its keys works, also those that are created meanwhile; closed: its ' +
        'keys are revoked, and it gets neither money nor keys',
    }),
    ({ state }) => state,
    'state',
  ),
  balance_usd: seenBy.operators(usd, ({ balance }) => formatUsd(balance), 'balance'),
  ...settingMembers,
  spent_usd: seenBy.operators(usd, ({ spent }) => formatUsd(spent), 'spent'),
  credited_usd: seenBy.operators(usd, ({ credited }) => formatUsd(credited), 'credited'),
  adjusted_usd: seenBy.operators(usd, ({ adjusted }) => formatUsd(adjusted), 'adjusted'),
  expired_usd: seenBy.operators(usd, ({ expired }) => formatUsd(expired), 'expired'),
  written_off_usd: seenBy.operators(usd, ({ writtenOff }) => formatUsd(writtenOff), 'written off'),
  /** Keys that are neither suspended, alone or with the account, nor revoked nor expired. */
  usable_keys: seenBy.operators(count, ({ usableKeys }) => usableKeys, 'usable keys'),
  created_at: seenBy.operators(time, ({ createdAt }) => createdAt.toISOString(), 'created'),
  last_charged_at: seenBy.operators(
    orNull(time),
    ({ lastChargedAt }) => isoOf(lastChargedAt),
    'last charge',
    'never',
  ),
} as const;

export const { schema: account, view: accountView } = viewFor('operators', accountMembers, {
  id: 'Account',
});

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

export function unspentView({ lots, other }: UnspentCredit) {
  return {
    lots: lots.map((lot) => ({
      entry_id: lot.entryId,
      source: lot.source,
      expires_at: isoOf(lot.expiresAt),
      remaining_usd: formatUsd(lot.remaining),
    })),
    other_usd: formatUsd(other),
  };
}

/** An account in the command line, with the credits in its balance if they were read. */
export const accountLines = linesOf<
  typeof accountMembers,
  Partial<Pick<ResultOf<typeof accountWithCredits>, 'unspent'>>
>(accountMembers, [
  'id',
  'name',
  'external_id',
  ['metadata', metadataText],
  'state',
  'balance_usd',
  [
    'credits in it',
    ({ unspent }) =>
      unspent?.lots.map((lot) => `${lot.remaining_usd} ${originText(lot)}`).join('; ') || undefined,
  ],
  ...SETTING_NAMES,
  'credited_usd',
  'adjusted_usd',
  'expired_usd',
  'spent_usd',
  'written_off_usd',
  'usable_keys',
  'created_at',
  'last_charged_at',
]);

/** A list of accounts in the command line. */
export const accountCells = cellsOf(
  accountMembers,
  ['id', 'name', 'external_id', 'state', 'usable_keys', 'balance_usd', 'spent_usd'],
  ['external_id', 'usable_keys', 'spent_usd', 'state', 'id'],
);

/** A list of accounts in the console. */
export const accountColumns = pageColumnsOf(accountMembers, [
  'name',
  'balance_usd',
  'spent_usd',
  'usable_keys',
  'last_charged_at',
  'created_at',
]);

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

/** The budgets that count the requests of a key. */
const budgets = z
  .array(
    z.strictObject({
      name: text,
      scope: z.enum(BUDGET_SCOPES),
      group_name: orNull(text).meta({ description: 'null unless a group shares the budget' }),
      amount_usd: usd.meta({ description: 'with raises' }),
      raises: z
        .array(z.strictObject({ amount_usd: usd, until: time }))
        .meta({ description: 'those that are part of amount_usd, and when each ends' }),
      used_usd: usd,
      held_usd: usd.meta({ description: 'the part of left_usd held for requests in flight' }),
      left_usd: usd,
      action: z.enum(['refuse', 'notify']),
      then_name: orNull(text).meta({ description: 'the reserve that pays when it is empty' }),
      starts_at: orNull(time),
      renews_at: orNull(time).meta({ description: 'when it begins anew or ends; null: never' }),
      contact: orNull(text).meta({ description: 'whom to ask for more' }),
    }),
  )
  .meta({
    description:
      'the budgets that count requests of the key, in their current period: those that refuse ' +
      'requests, then those that only notify, each with the least left first; one that is used ' +
      'up comes after the reserve that pays for it',
  });

/** What the key of a member is not sent if `members_see_balance` is false. */
const ofOwner = (amount: typeof usd) =>
  orNull(amount).meta({ description: 'null: the account hides its money from this key' });

export const accountOverview = z
  .strictObject({
    object: z.literal('account_overview'),
    operator: orNull(z.strictObject({ name: text, contact: orNull(text) })).meta({
      description: 'contact: an address of mail, or one that begins with https:// or http://',
    }),
    account_name: text,
    member: orNull(text).meta({ description: 'the name of the member whose key it is' }),
    budgets,
    balance_usd: ofOwner(usd),
    members_see_balance: settingMembers.members_see_balance.schema,
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
      used_up_budget: orNull(
        z.strictObject({
          name: text,
          amount_usd: usd,
          renews_at: orNull(time).meta({ description: 'null: never' }),
          contact: orNull(text),
        }),
      ).meta({ description: 'the budget for which each request of an active key is refused' }),
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
      .strictObject({ days: count, spent_usd: ofOwner(usd), spent_by_key_usd: usd })
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
    budgets,
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
