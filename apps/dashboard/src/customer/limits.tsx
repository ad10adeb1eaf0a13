/** The budgets and the caps that count the requests of a key, and what is left of each. */

import type { Sent } from '../shared/api/gateway-types.js';
import { DateOf, Headline, Money } from '../shared/controls/parts.js';
import { PERIOD_TEXTS } from '../shared/keys/key-parts.js';
import { Bar } from '../shared/members/bar.js';
import { parseUsd } from '../shared/text/usd.js';

type Overview = Sent<'accountOverview'>;

export interface Limit {
  readonly name: string;
  /** Whose spending it counts besides that of the key, if it is not the reader's own. */
  readonly sharedBy: string | undefined;
  readonly amount: string;
  readonly used: string;
  readonly left: string;
  /** Part of what is left. */
  readonly held: string;
  readonly renewsAt: string | null;
  readonly refuses: boolean;
  /** The reserve that pays when it is used up. */
  readonly then: string | null;
  /** Those that are part of the amount. */
  readonly raises: readonly { readonly amount_usd: string; readonly until: string }[];
}

/** As the gateway sorts budgets: one whose reserve pays now comes after those that can refuse. */
export function limitsOf({ key, budgets }: Overview): readonly Limit[] {
  const caps = key.caps.map((cap) => ({
    name: `Cap of this key ${PERIOD_TEXTS[cap.period]}`,
    sharedBy: undefined,
    amount: cap.cap_usd,
    used: cap.used_usd,
    left: cap.left_usd,
    held: '0',
    renewsAt: cap.renews_at,
    refuses: true,
    then: null,
    raises: [],
  }));
  const others = budgets.map((budget) => ({
    name: budget.name,
    sharedBy: sharedBy(budget),
    amount: budget.amount_usd,
    used: budget.used_usd,
    left: budget.left_usd,
    held: budget.held_usd,
    renewsAt: budget.renews_at,
    refuses: budget.action === 'refuse',
    then: budget.then_name,
    raises: budget.raises,
  }));
  return [...caps, ...others].sort(
    (a, b) =>
      Number(b.refuses) - Number(a.refuses) ||
      Number(isPaidFor(a)) - Number(isPaidFor(b)) ||
      Number(parseUsd(a.left) - parseUsd(b.left)),
  );
}

function isPaidFor({ left, then }: Limit): boolean {
  return then !== null && left === '0';
}

function sharedBy({ scope, group_name: group }: Overview['budgets'][number]): string | undefined {
  if (scope === 'account') return 'shared by the whole account';
  if (scope === 'reserve') return 'pays when others are used up';
  return group === null ? undefined : `shared by ${group}`;
}

/**
 * Whether the page shows the money of the account. To a person who spends within limits, it is
 * another's; a key without limits has no other figure that says how long it works.
 */
export function showsAccount(overview: Overview): boolean {
  const { may_see_account: seesAccount, member } = overview;
  return seesAccount || (member === null && limitsOf(overview).length === 0);
}

/** Such as "$3.20 of $20.00 left until Dec 1, 2026", with the first amount as the headline. */
export function LimitHeadline({ of }: { readonly of: Limit }) {
  return (
    <span class="balance" id="balance">
      <Headline.Provider value={true}>
        <Money usd={of.left} />{' '}
        <span class="rest">
          of <Money usd={of.amount} /> left
          <Until of={of} />
        </span>
      </Headline.Provider>
    </span>
  );
}

function Until({ of: { renewsAt } }: { readonly of: Limit }) {
  if (renewsAt === null) return <> in all</>;
  return (
    <>
      {' '}
      until <DateOf iso={renewsAt} />
    </>
  );
}

export function LimitBars({ of: limits }: { readonly of: readonly Limit[] }) {
  return (
    <ul class="limits" aria-label="Budgets and caps">
      {limits.map((limit, index) => (
        <li key={index}>
          <strong>{limit.name}</strong>
          {limit.sharedBy !== undefined && <span class="quiet"> {limit.sharedBy}</span>}
          <Bar name={limit.name} used={limit.used} amount={limit.amount} />
          <p>
            <Money usd={limit.used} /> of <Money usd={limit.amount} /> used,{' '}
            <Money usd={limit.left} /> left
            <Until of={limit} />
            {limit.held !== '0' && (
              <span class="when">
                <Money usd={limit.held} /> of it held for requests in flight
              </span>
            )}
            {limit.raises.map((raise) => (
              <span key={raise.until} class="when">
                <Money usd={raise.amount_usd} /> more until <DateOf iso={raise.until} />
              </span>
            ))}
            {limit.then !== null && <span class="when">Then {limit.then} pays.</span>}
            {!limit.refuses && <span class="when">Requests go on when it is used up.</span>}
          </p>
        </li>
      ))}
    </ul>
  );
}
