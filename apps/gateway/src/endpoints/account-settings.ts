/**
 * What operators set of an account, besides its names and metadata: each setting is declared once.
 * The inputs of the admin API, the options of the command line, the records in responses and what
 * the command line prints of them follow.
 */

import type { AccountChange, AccountRecord, AccountSettings } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { z } from 'zod';
import { accountPrices, amountUsd, help, noticeEmail, noticeShares } from './fields.js';
import { membersFrom } from './resource.js';
import type { Member } from './resource.js';
import { orNull, text, usd } from './schemas/basics.js';

interface Setting {
  /** Its name in the ledger. */
  readonly of: keyof AccountSettings;
  readonly input: z.ZodType;
  /** What the command line says about its option. */
  readonly says: string;
  readonly shown: z.ZodType;
  /** What people call it, without a unit. */
  readonly label: string;
  /** What people read instead of null or an empty list; `none` when absent. */
  readonly ifNull?: string;
}

export const ACCOUNT_SETTINGS = {
  low_balance_usd: {
    of: 'lowBalance',
    input: amountUsd,
    says: 'write an event when the balance falls to this',
    shown: orNull(usd),
    label: 'low balance',
  },
  prices: {
    of: 'prices',
    input: accountPrices,
    says: 'a factor on your prices, such as 0.9, or a table of CUSTOMER_PRICES',
    shown: orNull(text).meta({
      description: 'its own prices: a factor, or the name of a table of CUSTOMER_PRICES',
    }),
    label: 'prices',
  },
  allowance_usd: {
    of: 'allowance',
    input: amountUsd,
    says: 'free credit of each month, which expires at its end; a change applies to the next one',
    shown: orNull(usd).meta({
      description: 'promotional credit of each month (UTC), which expires at its end',
    }),
    label: 'allowance of each month',
  },
  notice_shares: {
    of: 'noticeShares',
    input: noticeShares,
    says: 'write events when these percents of the balance or a cap are used, such as 50,80',
    shown: z
      .array(z.int())
      .meta({ description: 'percent of the balance or a cap at which an event is written' }),
    label: 'notices at (%)',
  },
  notice_email: {
    of: 'noticeEmail',
    input: noticeEmail,
    says: 'send these notices to this address by mail',
    shown: orNull(text).meta({
      description: 'where these notices are sent by mail, and that the balance is used up',
    }),
    label: 'notices to',
  },
  members_see_balance: {
    of: 'membersSeeBalance',
    input: z.boolean(),
    says: 'whether keys of members show its money: yes, also on the page; no, not in calls either',
    shown: orNull(z.boolean()).meta({
      description:
        'whether keys of members show its money: true, in GET /v1/dashboard/account and on the ' +
        'page; false, in neither; null, in the call only',
    }),
    label: 'members see the balance',
    ifNull: 'in calls only',
  },
} as const satisfies Readonly<Record<string, Setting>>;

type Settings = typeof ACCOUNT_SETTINGS;
type Name = keyof Settings;

/** One that is null when it is not set can be removed by null. */
type Removable<Of extends Setting> = Of['shown'] extends z.ZodNullable
  ? z.ZodNullable<Of['input']>
  : Of['input'];

/** The settings of a new account, as members of an input. */
export const newSettings = membersOf<{ [Of in Name]: z.ZodOptional<Settings[Of]['input']> }>(
  ({ input, says }) => input.optional().register(help, { says }),
);

/** Changes of settings, as members of an input. */
export const changedSettings = membersOf<{
  [Of in Name]: z.ZodOptional<Removable<Settings[Of]>>;
}>(({ input, shown, says }) => {
  const removable = shown instanceof z.ZodNullable ? input.nullable() : input;
  return removable.optional().register(help, { says: `${says}, or none` });
});

const seenBy = membersFrom<AccountRecord>();

/** Settings as members of an account. */
export const settingMembers = membersOf<{
  [Of in Name]: Member<AccountRecord, Settings[Of]['shown'], 'operators'>;
}>(({ of, shown, label, ifNull = 'none' }) =>
  seenBy.operators(
    shown,
    ({ [of]: value }) => (typeof value === 'bigint' ? formatUsd(value) : value),
    label,
    ifNull,
  ),
);

/** The names of the settings, in the order in which the command line prints them. */
export const SETTING_NAMES = Object.keys(ACCOUNT_SETTINGS) as readonly Name[];

/** What an input sets, as the ledger takes it. */
export function settingsIn(
  input: Readonly<Partial<z.output<z.ZodObject<typeof changedSettings>>>>,
): Omit<AccountChange, 'name'> {
  return membersOf(
    (_, name) => input[name],
    ({ of }) => of,
  );
}

/** @typeParam Members - What `valueOf` makes of each setting, under its name or under `nameOf`. */
function membersOf<Members>(
  valueOf: (setting: Setting, name: Name) => unknown,
  nameOf: (setting: Setting, name: Name) => string = (_, name) => name,
): Members {
  const settings = Object.entries(ACCOUNT_SETTINGS) as [Name, Setting][];
  return Object.fromEntries(
    settings.map(([name, setting]) => [nameOf(setting, name), valueOf(setting, name)]),
  ) as Members;
}
