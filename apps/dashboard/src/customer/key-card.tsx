/** Whose key it is, who runs the gateway, and what else is known of the key and its account. */

import { Amount, Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { DateOf, Money, Time } from '../shared/controls/parts.js';
import { Contact } from './contact.js';
import { showsAccount } from './limits.js';
import { ShareLink } from './links.js';
import { PromoCode } from './promo-code.js';
import { isLink } from './session.js';

type Overview = Sent<'accountOverview'>;

export function KeyCard({ of }: { readonly of: Overview }) {
  const { key, member, balance_usd: balance } = of;
  return (
    <section class="card" aria-label="Key">
      <p>
        Key <strong>{key.name}</strong> <span class="id quiet">{key.hint}</span>{' '}
        {member !== null && (
          <>
            of <strong>{member}</strong>, in{' '}
          </>
        )}
        {member === null && 'of '}the account <strong>{of.account_name}</strong>
      </p>
      <Owner of={of} />
      <Figures of={of} />
      {!isLink.value && (
        <div class="row">
          {showsAccount(of) && balance !== null && <PromoCode balanceUsd={balance} />}
          <ShareLink />
        </div>
      )}
    </section>
  );
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
