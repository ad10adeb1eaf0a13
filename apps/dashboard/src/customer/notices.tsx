/** At which shares of the balance and of its keys' caps the customer wants a notice. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import { Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { SHARES_RULE, percents, readShares } from '../shared/text/notice-shares.js';
import { Loaded, Money, TextField } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { call } from './session.js';

export function Notices() {
  const notices = useResource('notices', (signal) => call('GET /v1/dashboard/notices', { signal }));
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section class="card" aria-label="Notices">
      <Loaded of={notices} what="the notices">
        {(value) => (
          <div class="stack">
            <h2>Notices</h2>
            <p>
              When these shares of the balance, or of a key’s cap, are used, the operator’s system
              is notified, once each. A credit begins anew.
              {value.sends_mail &&
                ' With an address, you get these notices by mail, and when the balance is used up or an automatic top-up fails.'}
            </p>
            <dl class="grid">
              <Figure name="Used">{percents(value.shares)}</Figure>
              <Figure name="Balance after the last credit">
                <Money usd={value.full_usd} />
              </Figure>
              {value.sends_mail && <Figure name="Mail to">{value.email ?? 'nobody'}</Figure>}
            </dl>
            <div class="row no-print">
              <button
                type="button"
                onClick={() => {
                  setIsOpen(true);
                }}
              >
                Change
              </button>
            </div>
            {isOpen && (
              <NoticesDialog
                notices={value}
                onDone={notices.reload}
                onClose={() => {
                  setIsOpen(false);
                }}
              />
            )}
          </div>
        )}
      </Loaded>
    </section>
  );
}

const USUAL = '50, 80, 90, 100';

function NoticesDialog(props: {
  readonly notices: Sent<'notices'>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { notices, ...callbacks } = props;
  const { shares, email } = notices;
  const [address, setAddress] = useState(email ?? '');
  const newAddress = address.trim() === '' ? null : address.trim();
  const [text, setText] = useState(shares.length === 0 ? USUAL : shares.join(', '));
  const typed = readShares(text);
  return (
    <ActionDialog
      title="Notices"
      fields={
        <>
          <TextField
            label="Percent used, separated by commas"
            value={text}
            onValue={setText}
            hint="Nothing for no notices."
          />
          {notices.sends_mail && (
            <TextField
              label="Mail to"
              value={address}
              onValue={setAddress}
              hint="One address, such as person@example.com. Nothing for no mail."
            />
          )}
        </>
      }
      problem={typed === undefined ? SHARES_RULE : undefined}
      changes={() => [
        { what: 'Notices at', before: percents(shares), after: percents(typed ?? []) },
        ...(newAddress === email
          ? []
          : [{ what: 'Mail to', before: email ?? 'nobody', after: newAddress ?? 'nobody' }]),
      ]}
      confirm="Change the notices"
      run={() =>
        call('PUT /v1/dashboard/notices', {
          body: {
            shares: typed ?? [],
            ...(newAddress === email ? {} : { email: newAddress }),
          },
        })
      }
      done={() => <p>The notices are changed.</p>}
      {...callbacks}
    />
  );
}
