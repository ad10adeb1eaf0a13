/**
 * What a mail says when a share of a budget, or all of it, is used: to the member whose budget it
 * is, or to those who answer for it.
 */

import { budgetRenewal } from '@gateway/balance-store';
import type { BudgetRecord, StoredEvent } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';
import { isMailAddress } from '../../base/mail-address.js';
import { eventDetails } from './event-details.js';

/** What a mail says, without what all mails end with. */
export interface Notice {
  readonly subject: string;
  readonly lines: readonly string[];
}

export interface AboutBudget {
  readonly budget: BudgetRecord;
  /** `spender`: the member whose budget it is; otherwise its contact or the account. */
  readonly to: 'spender' | 'others';
}

/** The name of the budget is not in it: a holder of a key may have chosen it. */
export function budgetNotice(event: StoredEvent, { budget, to }: AboutBudget): Notice {
  const details = eventDetails(event.data);
  const of = (name: string): string => details[name] ?? 'unknown';
  const [amount, used] = [of('amount_usd'), of('used_usd')];
  const isYours = to === 'spender';
  const whose = isYours ? 'your budget' : 'a budget';
  const isReached = event.type === 'budget.reached';
  const what = isReached ? `${whose} is used up` : `${of('share')} % of ${whose} is used`;
  const first = what.charAt(0).toUpperCase() + what.slice(1);
  return {
    subject: first,
    lines: [
      `${first}${PERIODS[budget.period] ?? ''}.${isReached ? afterwards(budget) : ''}`,
      '',
      `Used: ${used} USD of ${amount} USD`,
      `Left: ${leftOf(amount, used)} USD`,
      renewal(budget, event.createdAt),
      ...(isYours ? [askFor(budget.contact)] : []),
      `Budget: ${budget.id}`,
      ...(isYours ? [] : subjectLine(budget, event)),
    ],
  };
}

const PERIODS: Readonly<Record<string, string>> = {
  day: ' for this day',
  week: ' for this week',
  month: ' for this month',
};

function afterwards({ action, period }: BudgetRecord): string {
  if (action === 'notify') return ' Requests go on.';
  return period === 'once' ? ' Requests are refused.' : ' Requests are refused until it renews.';
}

function leftOf(amount: string, used: string): string {
  const left = parseUsd(amount) - parseUsd(used);
  return formatUsd(left < 0n ? 0n : left);
}

function renewal(budget: BudgetRecord, at: Date): string {
  const end = budgetRenewal(budget, at);
  if (end === null) return 'It does not renew.';
  const text = new Intl.DateTimeFormat('en-GB', {
    timeZone: budget.zone,
    dateStyle: 'long',
    timeStyle: 'short',
  }).format(end);
  // A budget that ends does not begin again.
  const isEnd = budget.period === 'once' || end.getTime() === budget.until?.getTime();
  return `It ${isEnd ? 'ends' : 'renews'} on ${text} (${budget.zone}).`;
}

function askFor(contact: string | null): string {
  if (contact === null) return 'To get more, ask the person who gave you your key.';
  return isMailAddress(contact)
    ? `To get more, ask ${contact}.`
    : 'Your page says whom to ask for more.';
}

/** Whose use of the budget it is, by its id. Tags and runs are texts that clients chose. */
function subjectLine({ scope, subject: only }: BudgetRecord, { data }: StoredEvent): string[] {
  const label = { member: 'Member', group: 'Group', key: 'Key' }[scope as 'member'] as
    string | undefined;
  const id = data['subject'] === '' ? only : data['subject'];
  return label === undefined || id == null ? [] : [`${label}: ${id}`];
}
