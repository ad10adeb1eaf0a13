/** The head of the page: the balance, how long it lasts, and whether the key works. */

import { useEffect } from 'preact/hooks';
import { Figure } from '../shared/figures.js';
import { Badge, DateOf, FailureNote, Loaded, Money, Time } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import type { Resource } from '../shared/resource.js';
import { lastDays } from '../shared/times.js';
import { formatUsd, parseUsd } from '../shared/usd.js';
import { ShareLink } from './links.js';
import { PromoCode } from './promo-code.js';
import { call, describeGateway, isLink } from './session.js';
import type { Sent } from './session.js';
import { ReturnNote, TopUpButton } from './top-up.js';
import { creditsSeen } from './use-payments.js';
import type { Payments } from './use-payments.js';

const PACE_DAYS = 7;

interface Standing {
  readonly balanceUsd: string;
  readonly state: State;
  readonly expiresAt: string | null;
  readonly lastChangeAt: string;
}

type State = 'active' | 'used up' | 'disabled' | 'expired';

export function StandingCard(props: {
  readonly isManager: boolean;
  readonly payments: Resource<Payments | null>;
}) {
  const { isManager, payments } = props;
  const standing = useResource('balance', loadStanding);
  const credits = creditsSeen.value;
  useEffect(() => {
    if (credits > 0) standing.reload();
  }, [credits]);
  const days = lastDays(PACE_DAYS, Date.now());
  const of = isManager ? 'account' : 'key';
  const pace = useResource(`pace of ${of}`, (signal) =>
    call('GET', '/v1/dashboard/usage/summary', {
      query: { by: 'day', from: days[0], of },
      signal,
    }),
  );
  const unread = pace.failure === undefined ? '…' : 'unknown';
  const canPay = payments.value !== undefined && payments.value !== null;
  return (
    <section class="card" aria-label="Balance">
      {canPay && <ReturnNote payments={payments.value} />}
      <Loaded of={standing} what="your balance">
        {({ balanceUsd, state, expiresAt, lastChangeAt }) => (
          <div class="stack">
            <div>
              <div class="row middle">
                <h2>Balance</h2>
                <Badge tone={TONES[state]}>{state}</Badge>
              </div>
              <p class="balance" id="balance">
                <Money usd={balanceUsd} />
              </p>
              <p>{state === 'used up' && canPay ? PAYING_ADVICE : ADVICE[state]}</p>
              {isLink.value && <p class="quiet">You opened a read-only link to this key.</p>}
            </div>
            <dl class="grid">
              <Figure name={`At the pace of the last ${String(PACE_DAYS)} days`}>
                {pace.value === undefined ? unread : lasting(balanceUsd, pace.value.data)}
              </Figure>
              <Figure
                name={`${isManager ? 'Spent by all keys' : 'Spent by this key'}, ${String(PACE_DAYS)} days`}
              >
                {pace.value === undefined ? unread : <Money usd={spentOf(pace.value.data)} />}
              </Figure>
              <Figure name="Key expires">
                {expiresAt === null ? 'never' : <DateOf iso={expiresAt} />}
              </Figure>
              <Figure name="Last charge, or creation">
                <Time iso={lastChangeAt} />
              </Figure>
            </dl>
            {pace.failure !== undefined && (
              <FailureNote
                failure={pace.failure}
                what={`the usage of the last ${String(PACE_DAYS)} days`}
                retry={pace.reload}
              />
            )}
            <div class="row">
              {canPay && (
                <TopUpButton
                  balanceUsd={balanceUsd}
                  limits={payments.value.limits}
                  onStarted={payments.reload}
                />
              )}
              {!canPay && !(payments.isLoading && !isLink.value) && <TopUpLink />}
              {!isLink.value && <PromoCode balanceUsd={balanceUsd} />}
              {!isLink.value && <ShareLink />}
            </div>
          </div>
        )}
      </Loaded>
    </section>
  );
}

/** A link to the operator's shop, if there is one. */
function TopUpLink() {
  const gateway = useResource('gateway', describeGateway);
  const address = gateway.value?.top_up_url;
  return address === undefined ? null : (
    <a class="button main no-print" href={address} target="_blank" rel="noreferrer">
      Top up
    </a>
  );
}

const TONES = {
  active: 'good',
  'used up': 'bad',
  disabled: 'warning',
  expired: 'warning',
} as const;

const ADVICE: Readonly<Record<State, string>> = {
  active: 'This key works.',
  'used up':
    'Requests are refused until credit is added. Ask your operator for a top-up; the key then works again at once.',
  disabled:
    'Requests are refused although the balance is above zero: this key is suspended, or a response cost more than the balance. Ask your operator.',
  expired: 'This key has expired. Ask your operator for a later date or a new key.',
};

const PAYING_ADVICE =
  'Requests are refused until credit is added. Top up below; the key then works again at once.';

async function loadStanding(signal: AbortSignal) {
  const answer = await call('GET', '/v1/dashboard/balance', { signal });
  return answer.ok ? { ...answer, value: standingOf(answer.value, answer.text) } : answer;
}

function standingOf(balance: Sent<'Balance'>, text: string): Standing {
  const balanceUsd = exactBalance(text);
  const { is_active: isActive, expires_at: expiresAt } = balance;
  return {
    balanceUsd,
    state: isActive ? 'active' : reasonOf(balanceUsd, expiresAt),
    expiresAt,
    lastChangeAt: balance.last_synced_at,
  };
}

/** Reads the balance from the text of the answer: as a JSON number it would lose digits. */
function exactBalance(text: string): string {
  const [, digits = ''] = /"balance_usd":\s*(-?\d+(?:\.\d+)?)/.exec(text) ?? [];
  return formatUsd(parseUsd(digits));
}

function reasonOf(balanceUsd: string, expiresAt: string | null): State {
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) return 'expired';
  return parseUsd(balanceUsd) <= 0n ? 'used up' : 'disabled';
}

function spentOf(sums: readonly Sent<'UsageSum'>[]): string {
  return formatUsd(sums.reduce((sum, { charged_usd }) => sum + parseUsd(charged_usd), 0n));
}

const MOST_DAYS = 999n;

function lasting(balanceUsd: string, sums: readonly Sent<'UsageSum'>[]): string {
  const spent = parseUsd(spentOf(sums));
  const balance = parseUsd(balanceUsd);
  if (balance <= 0n) return 'nothing left';
  if (spent <= 0n) return 'no use in these days';
  const days = (balance * BigInt(PACE_DAYS)) / spent;
  if (days > MOST_DAYS) return `over ${String(MOST_DAYS)} days`;
  return days === 0n ? 'less than a day' : `about ${String(days)} ${days === 1n ? 'day' : 'days'}`;
}
