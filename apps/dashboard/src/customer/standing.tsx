/** The head of the page: whose key it is, its balance, how long that lasts, if the key works. */

import { useEffect } from 'preact/hooks';
import { Amount, Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PERIOD_TEXTS } from '../shared/keys/key-parts.js';
import { Badge, DateOf, Headline, Loaded, Money, Time } from '../shared/controls/parts.js';
import type { Resource } from '../shared/api/resource.js';
import { DAY_MS } from '../shared/text/times.js';
import { parseUsd } from '../shared/text/usd.js';
import { countText } from '../shared/text/count-text.js';
import { ShareLink } from './links.js';
import { PromoCode } from './promo-code.js';
import { isLink } from './session.js';
import { ReturnNote, TopUpButton } from './top-up.js';
import { creditsSeen } from './use-payments.js';
import type { Payments } from './use-payments.js';

type Overview = Sent<'accountOverview'>;
type State = 'active' | 'cap used up' | 'empty' | 'disabled' | 'expired';

export function StandingCard(props: {
  readonly overview: Resource<Overview>;
  readonly payments: Resource<Payments | null>;
  /** The operator's shop, if there is one. */
  readonly topUpUrl: string | undefined;
  /** Whether what matters less is shown at first, too. */
  readonly isOpen: boolean;
}) {
  const { overview, payments, topUpUrl, isOpen } = props;
  const credits = creditsSeen.value;
  useEffect(() => {
    if (credits > 0) overview.reload();
  }, [credits]);
  const canPay = payments.value !== undefined && payments.value !== null;
  return (
    <section class="card" aria-label="Balance">
      {canPay && <ReturnNote payments={payments.value} />}
      <Loaded of={overview} what="your balance">
        {(value) => (
          <div class="stack">
            <div class="standing">
              <div>
                <First of={value} />
                <p>
                  {stateOf(value) === 'empty' && canPay ? PAYING_ADVICE : ADVICE[stateOf(value)]}
                  <UsedUpCap of={value.key} />
                  {isLink.value && ' You opened a read-only link to this key.'}
                </p>
              </div>
              <dl id="figures">
                {value.key.caps.slice(1).map((cap) => (
                  <Figure key={cap.period} name={`Cap of this key ${PERIOD_TEXTS[cap.period]}`}>
                    <CapLeft of={cap} />
                  </Figure>
                ))}
                {value.key.caps.length > 0 && (
                  <Amount name="Balance of the account" usd={value.balance_usd} />
                )}
                <Lasting of={value} />
              </dl>
              <div class="row">
                {canPay && (
                  <TopUpButton
                    balanceUsd={value.balance_usd}
                    limits={payments.value.limits}
                    onStarted={payments.reload}
                  />
                )}
                {!canPay && !(payments.isLoading && !isLink.value) && (
                  <TopUpLink address={topUpUrl} />
                )}
              </div>
            </div>
            <details key={String(isOpen)} open={isOpen}>
              <summary>
                Key <strong>{value.key.name}</strong> <span class="id quiet">{value.key.hint}</span>{' '}
                of the account <strong>{value.account_name}</strong>
              </summary>
              <div class="stack">
                <Owner of={value} />
                <Figures of={value} />
                {!isLink.value && (
                  <div class="row">
                    <PromoCode balanceUsd={value.balance_usd} />
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

/** What the holder can still spend: under the key's narrowest cap, or else the balance. */
function First({ of }: { readonly of: Overview }) {
  const [cap] = of.key.caps;
  const state = stateOf(of);
  return (
    <>
      <div class="row middle">
        <h2>{cap === undefined ? 'Balance' : 'Left for this key'}</h2>
        <Badge tone={TONES[state]}>{state}</Badge>
      </div>
      <p class="balance" id="balance">
        <Headline.Provider value={true}>
          <Money usd={cap === undefined ? of.balance_usd : cap.left_usd} />
        </Headline.Provider>
      </p>
      {cap !== undefined && (
        <p id="cap">
          <CapLeft of={cap} />
          {parseUsd(of.balance_usd) < parseUsd(cap.left_usd) && (
            <>
              , but the account has only <Money usd={of.balance_usd} />
            </>
          )}
        </p>
      )}
    </>
  );
}

type Cap = Overview['key']['caps'][number];

/** Such as "$3.20 of $20.00 left until 1 December; $16.80 used". */
function CapLeft({ of }: { readonly of: Cap }) {
  const { left_usd: left, cap_usd: cap, used_usd: used, renews_at: renewsAt } = of;
  return (
    <>
      <Money usd={left} /> of <Money usd={cap} /> left
      {renewsAt === null ? (
        ' in all'
      ) : (
        <>
          {' '}
          until <DateOf iso={renewsAt} />
        </>
      )}
      ; <Money usd={used} /> used
    </>
  );
}

function Figures({ of }: { readonly of: Overview }) {
  const { pace, key, allowance, expiring } = of;
  const days = String(pace.days);
  return (
    <dl class="grid">
      <Amount
        name={`Spent in ${days} days, ${of.is_shared ? 'all keys' : 'this key'}`}
        usd={pace.spent_usd}
      />
      {of.is_shared && (
        <Amount name={`Spent in ${days} days, this key`} usd={pace.spent_by_key_usd} />
      )}
      {allowance !== null && (
        <Figure name="Left of this month’s allowance">
          <Money usd={allowance.left_usd} /> of <Money usd={allowance.amount_usd} />, renewed on{' '}
          <DateOf iso={allowance.renews_at} />
        </Figure>
      )}
      {expiring.length > 0 && <Expiring of={of} />}
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
function Owner({ of: { is_shared: isShared, operator } }: { readonly of: Overview }) {
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

/** An address of mail, or one of the web. */
function Contact({ of }: { readonly of: string }) {
  return of.includes('://') ? (
    <a href={of} target="_blank" rel="noreferrer">
      {of}
    </a>
  ) : (
    <a href={`mailto:${of}`}>{of}</a>
  );
}

const MOST_DAYS = 999;

/** How long the balance lasts at the account's pace. The gateway computes the date. */
function Lasting({ of }: { readonly of: Overview }) {
  const { pace, lasts_until: until } = of;
  const days = until === null ? 0 : Math.floor((Date.parse(until) - Date.now()) / DAY_MS);
  return (
    <Figure name={`At the pace of the last ${String(pace.days)} days`}>
      {parseUsd(of.balance_usd) <= 0n ? (
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
  empty: 'bad',
  disabled: 'warning',
  expired: 'warning',
} as const;

const ADVICE: Readonly<Record<State, string>> = {
  active: 'This key works.',
  'cap used up':
    'Requests are refused: a cap of this key is used up. Whoever manages the keys can raise it.',
  empty:
    'Requests are refused until credit is added. Ask your operator for a top-up; the key then works again at once.',
  disabled:
    'Requests are refused although the balance is above zero: this key is suspended, or a response cost more than the balance. Ask your operator.',
  expired: 'This key has expired. Ask your operator for a later date or a new key.',
};

const PAYING_ADVICE =
  'Requests are refused until credit is added. Top up below; the key then works again at once.';

function stateOf({ key, balance_usd: balanceUsd }: Overview): State {
  if (key.is_active) return key.used_up_cap === null ? 'active' : 'cap used up';
  if (key.expires_at !== null && Date.parse(key.expires_at) <= Date.now()) return 'expired';
  return parseUsd(balanceUsd) <= 0n ? 'empty' : 'disabled';
}
