/** Opens the customer's page of an account in a tab of its own, by a link that can only read. */

import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api/api.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { FailureNote } from '../shared/controls/parts.js';
import { call, session } from './session.js';

const LINK_SECONDS = 3_600;
const MOST_KEYS = 100;

export function CustomersView({ account }: { readonly account: Sent<'account'> }) {
  const [failure, setFailure] = useState<Failure>();
  const { value: state } = session;
  const clientUrl = state.name === 'signed in' ? state.operator.client_url : null;
  // Without its address, a link can still be made for each key, and put together by hand.
  if (clientUrl === null || account.usable_keys === 0) return null;

  async function open() {
    // Opened before the answers arrive: browsers block a window that no click asked for.
    const tab = window.open('', '_blank');
    const made = await linkOf(account.id);
    setFailure(made.ok ? undefined : made.failure);
    if (made.ok && tab !== null) {
      tab.opener = null;
      tab.location.replace(`${clientUrl ?? ''}${made.value.path}`);
    } else tab?.close();
  }

  return (
    <>
      <button type="button" onClick={() => void open()}>
        See what the customer sees
      </button>
      {failure !== undefined && <FailureNote failure={failure} what="the customer's page" />}
    </>
  );
}

/** A link of the key that sees most: one that manages, if there is one. */
async function linkOf(accountId: string) {
  const query = { account_id: accountId, limit: MOST_KEYS };
  const keys = await call('GET /admin/keys', { query });
  if (!keys.ok) return keys;
  const usable = keys.value.data.filter(({ standing }) => standing === 'active');
  const key = usable.find(({ scope }) => scope === 'manage') ?? usable[0] ?? keys.value.data[0];
  return call('POST /admin/keys/:key_id/links', {
    path: { key_id: key?.id ?? '' },
    body: { expires_in_seconds: LINK_SECONDS },
  });
}
