/**
 * The head of the page: whose key it is, what is left of its budgets and caps or else of the
 * balance, and whether the key works.
 */

import { useEffect } from 'preact/hooks';
import { Amount, Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PERIOD_TEXTS } from '../shared/keys/key-parts.js';
import { Badge, DateOf, Headline, Loaded, Money, Time } from '../shared/controls/parts.js';
import type { Resource } from '../shared/api/resource.js';
import { DAY_MS } from '../shared/text/times.js';
import { parseUsd } from '../shared/text/usd.js';
import { countText } from '../shared/text/count-text.js';
import { LimitBars, LimitHeadline, limitsOf, showsAccount } from './limits.js';
import type { Limit } from './limits.js';
import { ShareLink } from './links.js';
import { PromoCode } from './promo-code.js';
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
  /** Whether all budgets and caps are shown, not only the nearest one. */
  readonly hasLimits: boolean;
  /** Whether what matters less is shown at first, too. */
  readonly isOpen: boolean;
}) {
  const { overview, payments, topUpUrl, hasLimits, isOpen } = props;
  const credits = creditsSeen.value;
  useEffect(() => {
    if (credits > 0) overview.reload();
  }, [credits]);
  const paying = payments.value ?? undefined;
  const ofAccount = overview.value === undefined || showsAccount(overview.value);
  const balance = overview.value?.balance_usd ?? null;
  return (
    <section class="card" aria-label={ofAccount ? 'Balance' : 'Budget'}>
      {paying !== undefined && <ReturnNote payments={paying} />}
      <Loaded of={overview} what="your balance">
        {(value) => (
          <div class="stack">
            <div class="standing">
              <div>
                <First of={value} />
                <p>
                  {stateOf(value) === 'empty' && ofAccount && paying !== undefined
                    ? PAYING_ADVICE
                    : ADVICE[stateOf(value)]}
                  <UsedUpCap of={value.key} />
                  <UsedUpBudget of={value.key} />
                  {isLink.value && ' You opened a read-only link to this key.'}
                </p>
              </div>
              {balance !== null && (ofAccount || value.members_see_balance === true) && (
                <dl id="figures">
                  {(!ofAccount || leadingLimit(value) !== undefined) && (
                    <Amount name="Balance of the account" usd={balance} />
                  )}
                  <Lasting of={value} balance={balance} />
                </dl>
              )}
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
            {hasLimits && <Limits of={value} />}
            <details key={String(isOpen)} open={isOpen}>
              <summary>
                Key <strong>{value.key.name}</strong> <span class="id quiet">{value.key.hint}</span>{' '}
                {value.member !== null && (
                  <>
                    of <strong>{value.member}</strong>, in{' '}
                  </>
                )}
                {value.member === null && 'of '}the account <strong>{value.account_name}</strong>
              </summary>
              <div class="stack">
                <Owner of={value} />
                <Figures of={value} />
                {!isLink.value && (
                  <div class="row">
                    {ofAccount && balance !== null && <PromoCode balanceUsd={balance} />}
                    <ShareLink />
                  </div>
                )}
              </div>
            </details>
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
function First({ of }: { readonly of: Overview }) {
  const limit = leadingLimit(of);
  const state = stateOf(of);
  const { balance_usd: balance } = of;
  const [name, usd] =
    showsAccount(of) && balance !== null
      ? ['Balance', balance]
      : [`Spent in ${String(of.pace.days)} days`, of.pace.spent_by_key_usd];
  return (
    <>
      <div class="row middle">
        <h2>{limit?.name ?? name}</h2>
        <Badge tone={TONES[state]}>{state}</Badge>
      </div>
      {limit === undefined ? (
        <p class="balance" id="balance">
          <Headline.Provider value={true}>
            <Money usd={usd} />
          </Headline.Provider>
        </p>
      ) : (
        <LimitHeadline of={limit} />
      )}
      {limit !== undefined && balance !== null && parseUsd(balance) < parseUsd(limit.left) && (
        <p>
          The account has{' '}
          {showsAccount(of) || of.members_see_balance === true ? (
            <>
              only <Money usd={balance} />
            </>
          ) : (
            'less'
          )}{' '}
          left.
        </p>
      )}
    </>
  );
}

function Limits({ of }: { readonly of: Overview }) {
  const limits = limitsOf(of);
  return limits.length === 0 ? null : <LimitBars of={limits} />;
}

function Figures({ of }: { readonly of: Overview }) {
  const { pace, key, allowance, expiring } = of;
  const days = String(pace.days);
  const ofAccount = showsAccount(of);
  return (
    <dl class="grid">
      {ofAccount && pace.spent_usd !== null && (
        <Amount
          name={`Spent in ${days} days, ${of.is_shared ? 'all keys' : 'this key'}`}
          usd={pace.spent_usd}
        />
      )}
      {(of.is_shared || !ofAccount) && (
        <Amount name={`Spent in ${days} days, this key`} usd={pace.spent_by_key_usd} />
      )}
      {ofAccount && allowance !== null && (
        <Figure name="Left of this month’s allowance">
          <Money usd={allowance.left_usd} /> of <Money usd={allowance.amount_usd} />, renewed on{' '}
          <DateOf iso={allowance.renews_at} />
        </Figure>
      )}
      {ofAccount && expiring.length > 0 && <Expiring of={of} />}
      <Figure name="Key expires">
        {key.expires_at === null ? 'never' : <DateOf iso={key.expires_at} />}
      </Figure>
      <Figure name="Last used">
        <Time iso={key.last_charged_at} />
      </Figure>
    </dl>
  );
}

/** Whose balance it is, and who runs the gateway. The names of key and account stand above. */
function Owner({ of }: { readonly of: Overview }) {
  const { operator } = of;
  const isShared = of.is_shared && showsAccount(of);
  if (!isShared && operator === null) return null;
  return (
    <p class="owner">
      {isShared && 'The balance of the account is shared with other keys. '}
      {operator !== null && (
        <>
          Your operator is {operator.name}
          {operator.contact !== null && (
            <>
              : <Contact of={operator.contact} />
            </>
          )}
          .
        </>
      )}
    </p>
  );
}

/** An address of mail, one of the web, or another text. */
function Contact({ of }: { readonly of: string }) {
  if (/^https?:\/\//.test(of)) {
    return (
      <a href={of} target="_blank" rel="noreferrer">
        {of}
      </a>
    );
  }
  return /^\S+@\S+$/.test(of) ? <a href={`mailto:${of}`}>{of}</a> : <>{of}</>;
}

const MOST_DAYS = 999;

/** How long the balance lasts at the account's pace. The gateway computes the date. */
function Lasting({ of, balance }: { readonly of: Overview; readonly balance: string }) {
  const { pace, lasts_until: until } = of;
  const days = until === null ? 0 : Math.floor((Date.parse(until) - Date.now()) / DAY_MS);
  return (
    <Figure name={`At the pace of the last ${String(pace.days)} days`}>
      {parseUsd(balance) <= 0n ? (
        'nothing left'
      ) : until === null ? (
        'no use in these days'
      ) : days > MOST_DAYS ? (
        `over ${String(MOST_DAYS)} days`
      ) : (
        <data value={until} title={until}>
          {days < 1 ? 'less than a day' : `about ${countText(days, 'day')}`}, until{' '}
          <DateOf iso={until} />
        </data>
      )}
      {of.expiring.length > 0 && until !== null && (
        <span class="when">without credit that expires unspent</span>
      )}
    </Figure>
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

/** More than this is a list that belongs to the ledger. */
const MOST_EXPIRING = 3;

function Expiring({ of: { expiring } }: { readonly of: Overview }) {
  return (
    <Figure name="Credit that expires">
      {expiring.slice(0, MOST_EXPIRING).map(({ remaining_usd: usd, expires_at: at }) => (
        <div key={at + usd}>
          <Money usd={usd} /> expires on <DateOf iso={at} />
        </div>
      ))}
      {expiring.length > MOST_EXPIRING && `and ${String(expiring.length - MOST_EXPIRING)} more`}
    </Figure>
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
