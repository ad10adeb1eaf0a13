/** Budgets in words: whose spending they bound, for how long, and what was used. */

import { DateOf, Money } from '../controls/parts.js';
import { dateText } from '../text/times.js';
import { usdText } from '../text/usd.js';
import { Bar } from './bar.js';
import type { Budget, OwnBudget } from './member-requests.js';

export const PERIODS = [
  ['month', 'each month'],
  ['week', 'each week, from Monday'],
  ['day', 'each day'],
  ['once', 'once'],
] as const;

export const ACTIONS = [
  ['refuse', 'requests are refused'],
  ['notify', 'only an event is written'],
] as const;

export function actionText({ action }: Pick<Budget, 'action'>): string {
  return ACTIONS.find(([each]) => each === action)?.[1] ?? action;
}

/** What happens when a budget is used up. */
export function afterText({ action, then, then_name: name }: Budget): string {
  if (then === null) return actionText({ action });
  return `then ${name ?? then}${action === 'refuse' ? '' : `; ${actionText({ action })}`}`;
}

export function periodText(of: Pick<Budget, 'period' | 'time_zone' | 'until'>): string {
  const { period, time_zone: zone, until } = of;
  const text = PERIODS.find(([each]) => each === period)?.[1] ?? period;
  return [
    period === 'once' ? text : `${text} (${zone})`,
    ...(until === null ? [] : [`until ${dateText(until)}`]),
  ].join(', ');
}

/** Whose spending a budget bounds. */
export function whoseText(budget: Budget): string {
  const { scope, subject, subject_name: name, within_group_name: group } = budget;
  const { only_for: owner, only_for_name: ownerName } = budget;
  if (scope === 'account') return 'the whole account';
  if (scope === 'reserve') return 'budgets that it pays for';
  if (subject === null) return `each ${scope}${group == null ? '' : ` of ${group}`}`;
  return `${scope} ${name ?? subject}${owner === null ? '' : ` of ${ownerName ?? owner}`}`;
}

const NOW = { day: 'today', week: 'this week', month: 'this month' } as const;

/** Such as `3.10 USD of 5 USD today`. */
export function useText({ used_usd, amount_usd, period }: OwnBudget): string {
  const when = period === 'once' ? 'in all' : NOW[period];
  return `${usdText(used_usd)} of ${usdText(amount_usd)} ${when}`;
}

/** What a member or a group used of each budget of its own. */
export function Uses(props: {
  /** Of whom the budgets are. */
  readonly of: string;
  readonly budgets: readonly OwnBudget[] | undefined;
}) {
  const { of, budgets = [] } = props;
  if (budgets.length === 0) return null;
  return (
    <div class="uses">
      {budgets.map((budget) => (
        <div key={budget.budget_id} class="use" title={budget.name}>
          <Bar name={`${budget.name}: ${of}`} used={budget.used_usd} amount={budget.amount_usd} />
          <span>
            <Money usd={budget.used_usd} /> of <Money usd={budget.amount_usd} />{' '}
            {budget.period === 'once' ? <Until of={budget} /> : NOW[budget.period]}
          </span>
        </div>
      ))}
    </div>
  );
}

function Until({ of: { until } }: { readonly of: OwnBudget }) {
  return until === null ? (
    <>in all</>
  ) : (
    <>
      until <DateOf iso={until} />
    </>
  );
}
