/**
 * The head of the page: what is left of the key's budgets and caps or else of the balance, until
 * when, and whether the key works.
 */

import { useEffect } from 'preact/hooks';
import type { Sent } from '../shared/api/gateway-types.js';
import { PERIOD_TEXTS } from '../shared/keys/key-parts.js';
import { Badge, DateOf, Headline, Loaded, Money, Time } from '../shared/controls/parts.js';
import type { Resource } from '../shared/api/resource.js';
import { DAY_MS } from '../shared/text/times.js';
import { parseUsd } from '../shared/text/usd.js';
import { countText } from '../shared/text/count-text.js';
import { LimitBars, LimitHeadline, limitsOf, showsAccount } from './limits.js';
import type { Limit } from './limits.js';
import { Contact } from './contact.js';
import { isLink } from './session.js';
import { ReturnNote, TopUpButton } from './top-up.js';
import { creditsSeen } from './use-payments.js';
import type { Payments } from './use-payments.js';

type Overview = Sent<'accountOverview'>;
type State = keyof typeof TONES;

export function StandingCard(props: {
  readonly overview: Resource<Overview>;
  readonly payments: Resource<Payments | null>;
  /** The operator's shop, if there is one. */
  readonly topUpUrl: string | undefined;
  /** Whether only what is left is shown, in one line. */
  readonly isLine: boolean;
}) {
  const { overview, payments, topUpUrl, isLine } = props;
  const credits = creditsSeen.value;
  useEffect(() => {
    if (credits > 0) overview.reload();
  }, [credits]);
  const paying = payments.value ?? undefined;
  const ofAccount = overview.value === undefined || showsAccount(overview.value);
  const balance = overview.value?.balance_usd ?? null;
  return (
    <section class={isLine ? 'card line' : 'card'} aria-label={ofAccount ? 'Balance' : 'Budget'}>
      {paying !== undefined && <ReturnNote payments={paying} />}
      <Loaded of={overview} what="your balance">
        {(value) => (
          <div class="stack">
            <div class="standing">
              <First of={value} isLine={isLine} canPay={ofAccount && paying !== undefined} />
              {ofAccount && balance !== null && (
                <div class="row">
                  {paying !== undefined && (
                    <TopUpButton
                      balanceUsd={balance}
                      limits={paying.limits}
                      onStarted={payments.reload}
                    />
                  )}
                  {paying === undefined && !(payments.isLoading && !isLink.value) && (
                    <TopUpLink address={topUpUrl} />
                  )}
                </div>
              )}
            </div>
            {!isLine && <Limits of={value} />}
          </div>
        )}
      </Loaded>
    </section>
  );
}

/**
 * What stands first instead of the balance: of the limits that refuse requests, the one with the
 * least left. Where the balance is not shown, one that only notifies will do.
 */
function leadingLimit(of: Overview): Limit | undefined {
  const [first] = limitsOf(of);
  return first?.refuses === true || !showsAccount(of) ? first : undefined;
}

/** What the holder can still spend: of the narrowest limit, or else of the balance. */
function First(props: {
  readonly of: Overview;
  readonly isLine: boolean;
  readonly canPay: boolean;
}) {
  const { of, isLine, canPay } = props;
  const limit = leadingLimit(of);
  const state = stateOf(of);
  const { balance_usd: balance } = of;
  const ofAccount = showsAccount(of) && balance !== null;
  const name = ofAccount ? 'Balance' : `Spent in ${String(of.pace.days)} days`;
  const advice = state === 'empty' && canPay ? PAYING_ADVICE : ADVICE[state];
  return (
    <div class="stack tight">
      <div class="row middle">
        <h2>{limit?.name ?? name}</h2>
        {(!isLine || state !== 'active') && <Badge tone={TONES[state]}>{state}</Badge>}
        {isLine && <FirstFigure of={of} limit={limit} />}
      </div>
      {!isLine && (
        <p class={limit === undefined ? 'sentence' : undefined}>
          <FirstFigure of={of} limit={limit} isSentence={ofAccount} />
          {limit === undefined && balance !== null && ofAccount && (
            <span id="figures">
              <Lasting of={of} balance={balance} />
            </span>
          )}
        </p>
      )}
      {!isLine && limit !== undefined && <BesidesLimit of={of} limit={limit} />}
      {(!isLine || state !== 'active') && (
        <p class="quiet">
          {advice}
          <UsedUpCap of={of.key} />
          <UsedUpBudget of={of.key} />
          {isLink.value && ' You opened a read-only link to this key.'}
        </p>
      )}
    </div>
  );
}

function FirstFigure(props: {
  readonly of: Overview;
  readonly limit: Limit | undefined;
  readonly isSentence?: boolean;
}) {
  const { of, limit, isSentence = false } = props;
  const { balance_usd: balance } = of;
  if (limit !== undefined) return <LimitHeadline of={limit} />;
  const usd = showsAccount(of) && balance !== null ? balance : of.pace.spent_by_key_usd;
  return (
    <>
      {isSentence && 'You have '}
      <span class="balance" id="balance">
        <Headline.Provider value={true}>
          <Money usd={usd} />
        </Headline.Provider>
      </span>
    </>
  );
}

/** The balance of the account, which may be less than what the limit leaves. */
function BesidesLimit({ of, limit }: { readonly of: Overview; readonly limit: Limit }) {
  const { balance_usd: balance } = of;
  if (balance === null) return null;
  const isLess = parseUsd(balance) < parseUsd(limit.left);
  const isShown = showsAccount(of) || of.members_see_balance === true;
  if (!isShown) return isLess ? <p>The account has less left.</p> : null;
  return (
    <p id="figures">
      The account has {isLess && 'only '}
      <Headline.Provider value={true}>
        <Money usd={balance} />
      </Headline.Provider>
      {isLess && ' left'}
      <Lasting of={of} balance={balance} />
    </p>
  );
}

function Limits({ of }: { readonly of: Overview }) {
  const limits = limitsOf(of);
  return limits.length === 0 ? null : <LimitBars of={limits} />;
}

const MOST_DAYS = 999;
const WEEK_DAYS = 7;

/** How long the balance lasts at the account's pace, as the gateway says, and what expires. */
function Lasting({ of, balance }: { readonly of: Overview; readonly balance: string }) {
  const { pace, lasts_until: until, expiring } = of;
  const days = until === null ? 0 : Math.floor((Date.parse(until) - Date.now()) / DAY_MS);
  const [first] = expiring;
  const paceText =
    pace.days === WEEK_DAYS ? 'this week’s pace' : `the pace of the last ${String(pace.days)} days`;
  if (parseUsd(balance) <= 0n) return <>: nothing is left.</>;
  return (
    <span>
      {until === null ? (
        `; nothing was used in ${String(pace.days)} days`
      ) : (
        <>
          ; at {paceText} it lasts{' '}
          {days > MOST_DAYS ? (
            `over ${String(MOST_DAYS)} days`
          ) : (
            <data value={until} title={until}>
              {days < 1 ? 'less than a day' : `about ${countText(days, 'day')}`}, until{' '}
              <DateOf iso={until} />
            </data>
          )}
        </>
      )}
      {first !== undefined && (
        <>
          ;{' '}
          <Headline.Provider value={true}>
            <Money usd={first.remaining_usd} />
          </Headline.Provider>{' '}
          expires on <DateOf iso={first.expires_at} />
        </>
      )}
      .
    </span>
  );
}

function UsedUpCap({ of: { used_up_cap: cap } }: { readonly of: Overview['key'] }) {
  if (cap === null) return null;
  return (
    <>
      {' '}
      The cap is <Money usd={cap.cap_usd} /> {PERIOD_TEXTS[cap.period]}
      {cap.renews_at !== null && (
        <>
          ; it begins anew on <Time iso={cap.renews_at} />
        </>
      )}
      .
    </>
  );
}

function UsedUpBudget({ of: { used_up_budget: budget } }: { readonly of: Overview['key'] }) {
  if (budget === null) return null;
  return (
    <>
      {' '}
      {budget.name}: <Money usd={budget.amount_usd} />
      {budget.renews_at !== null && (
        <>
          , until <Time iso={budget.renews_at} />
        </>
      )}
      .
      {budget.contact !== null && (
        <>
          {' '}
          Ask <Contact of={budget.contact} /> for more.
        </>
      )}
    </>
  );
}

function TopUpLink({ address }: { readonly address: string | undefined }) {
  return address === undefined ? null : (
    <a class="button main no-print" href={address} target="_blank" rel="noreferrer">
      Top up
    </a>
  );
}

const TONES = {
  active: 'good',
  'cap used up': 'bad',
  'budget used up': 'bad',
  empty: 'bad',
  disabled: 'warning',
  refused: 'warning',
  expired: 'warning',
} as const;

const ADVICE: Readonly<Record<State, string>> = {
  active: 'This key works.',
  'cap used up':
    'Requests are refused: a cap of this key is used up. Whoever manages the keys can raise it.',
  'budget used up': 'Requests are refused: a budget is used up.',
  empty:
    'Requests are refused until credit is added. Ask your operator for a top-up; the key then works again at once.',
  disabled:
    'Requests are refused although the balance is above zero: this key is suspended, or a response cost more than the balance. Ask your operator.',
  refused:
    'Requests are refused: this key is suspended, or the account has nothing left. Ask your operator.',
  expired: 'This key has expired. Ask your operator for a later date or a new key.',
};

const PAYING_ADVICE =
  'Requests are refused until credit is added. Top up below; the key then works again at once.';

function stateOf({ key, balance_usd: balanceUsd }: Overview): State {
  if (key.is_active && key.used_up_cap !== null) return 'cap used up';
  if (key.is_active) return key.used_up_budget === null ? 'active' : 'budget used up';
  if (key.expires_at !== null && Date.parse(key.expires_at) <= Date.now()) return 'expired';
  // The account hides its money.
  if (balanceUsd === null) return 'refused';
  return parseUsd(balanceUsd) <= 0n ? 'empty' : 'disabled';
}
