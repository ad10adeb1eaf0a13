/** What operators set of an account: each setting as it is shown, and as it is typed. */

import type { ComponentChildren } from 'preact';
import type { AdminCalls, Sent } from '../shared/api/gateway-types.js';
import { SHARES_RULE, percents, readShares } from '../shared/text/notice-shares.js';
import { Money } from '../shared/controls/parts.js';
import { separatorProblem, positive } from '../shared/text/usd.js';
import { decimalText, readDecimal, typedText } from '../shared/text/numbers.js';

type Account = Sent<'account'>;
export type AccountChange = NonNullable<
  AdminCalls['PATCH /admin/accounts/:account_id']['given']['body']
>;

interface Described {
  readonly name: string;
  /** The unit of the field, or empty. */
  readonly unit: string;
  readonly hint: string;
}

/** A setting that was typed. */
interface Typed {
  readonly change: AccountChange;
  /** As it would be typed. */
  readonly text: string;
  readonly shown: ComponentChildren;
}

interface Setting extends Described {
  readonly of: (account: Account) => Typed;
  /** @returns why it cannot be read, as a text */
  readonly read: (text: string) => Typed | string;
}

function setting<Of extends keyof Account & keyof AccountChange>(
  member: Of,
  described: Described,
  values: {
    readonly read: (text: string) => Account[Of] | undefined;
    readonly text: (value: Account[Of]) => string;
    readonly shown: (value: Account[Of]) => ComponentChildren;
    readonly problem: (text: string) => string;
  },
): Setting {
  const typed = (value: Account[Of]): Typed => ({
    change: { [member]: value },
    text: values.text(value),
    shown: values.shown(value),
  });
  return {
    ...described,
    of: (account) => typed(account[member]),
    read(text) {
      const value = values.read(text);
      return value === undefined ? values.problem(text) : typed(value);
    },
  };
}

function amount(
  member: 'low_balance_usd' | 'allowance_usd',
  described: Omit<Described, 'unit'>,
): Setting {
  return setting(
    member,
    { ...described, unit: 'USD' },
    {
      read: (text) => (text.trim() === '' ? null : positive(text)),
      text: (usd) => typedText(usd ?? ''),
      shown: (usd) => (usd === null ? 'none' : <Money usd={usd} />),
      problem: (text) =>
        separatorProblem(text) ?? `${described.name}: an amount such as 5, or empty.`,
    },
  );
}

const ANSWERS = [
  ['yes', true],
  ['no', false],
  ['', null],
] as const;

function answerOf(value: boolean | null): string {
  return ANSWERS.find(([, each]) => each === value)?.[0] ?? '';
}

/** The name of a table of prices begins with a letter. */
function isFactor(prices: string): boolean {
  return /^\d/.test(prices);
}

export const ACCOUNT_SETTINGS: readonly Setting[] = [
  amount('low_balance_usd', {
    name: 'Low-balance notice at',
    hint: 'A notification is sent when the balance falls to this amount. Empty: none.',
  }),
  setting(
    'notice_shares',
    {
      name: 'Notices at',
      unit: 'percent used',
      hint: 'Events are written when these shares of the balance, or of a key’s cap, are used. The customer can change them.',
    },
    {
      read: readShares,
      text: (shares) => shares.join(', '),
      shown: percents,
      problem: () => `Notices: ${SHARES_RULE}`,
    },
  ),
  setting(
    'notice_email',
    {
      name: 'Notices by mail to',
      unit: '',
      hint: 'One address, which the customer can change. Empty: none. Refused without SMTP_URL.',
    },
    {
      read: (typed) => (typed.trim() === '' ? null : typed.trim()),
      text: (value) => value ?? '',
      shown: (value) => value ?? 'nobody',
      problem: () => '',
    },
  ),
  setting(
    'prices',
    {
      name: 'Prices',
      unit: '',
      hint: `A factor on your prices, such as ${typedText('0.9')}, or the name of a table in CUSTOMER_PRICES. A change applies from the next request on. Empty: as for others.`,
    },
    {
      read: (typed) =>
        isFactor(typed.trim()) ? readDecimal(typed) : typed.trim() === '' ? null : typed.trim(),
      text: (value) => (isFactor(value ?? '') ? typedText(value ?? '') : (value ?? '')),
      shown: (value) =>
        isFactor(value ?? '') ? decimalText(value ?? '') : (value ?? 'as for others'),
      problem: () => `Prices: a factor such as ${typedText('0.9')}, the name of a table, or empty.`,
    },
  ),
  setting(
    'members_see_balance',
    {
      name: 'Members see the balance',
      unit: '',
      hint: 'yes: in calls and on their page. no: in neither. Empty: in calls only.',
    },
    {
      read: (typed) => ANSWERS.find(([answer]) => answer === typed.trim().toLowerCase())?.[1],
      text: answerOf,
      shown: (value) => answerOf(value) || 'in calls only',
      problem: () => 'Members see the balance: yes, no, or empty.',
    },
  ),
  amount('allowance_usd', {
    name: 'Allowance of each month',
    hint: 'Free credit, which expires at the end of the month (UTC). A change applies from the next month on. Empty: none.',
  }),
];
