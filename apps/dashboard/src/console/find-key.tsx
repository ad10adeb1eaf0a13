/** Finds the key of a credential. Neither the page nor the gateway keeps the credential. */

import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api/api.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { FailureNote, TextField } from '../shared/controls/parts.js';
import { to } from '../shared/api/router.js';
import { call } from './session.js';

export function FindKey() {
  const [credential, setCredential] = useState('');
  const [found, setFound] = useState<Sent<'key'>>();
  const [failure, setFailure] = useState<Failure>();

  async function find() {
    const answer = await call('POST /admin/keys/find', { body: { api_key: credential.trim() } });
    setFound(answer.ok ? answer.value : undefined);
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) setCredential('');
  }

  return (
    <section class="card" aria-label="Find by credential">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (credential.trim() !== '') void find();
        }}
      >
        <TextField
          label="Whose credential is this?"
          type="password"
          placeholder="paste a key"
          value={credential}
          onValue={setCredential}
        />
        <button type="submit">Find</button>
      </form>
      <div role="status">
        {found !== undefined && (
          <p>
            It is "{found.name}" (<span class="id">{found.id}</span>) of{' '}
            <a href={to(['accounts', found.account_id])}>this account</a>.
          </p>
        )}
      </div>
      {failure?.kind === 'refused' && failure.status === 404 && (
        <p role="alert">No key of this gateway has this credential.</p>
      )}
      {failure !== undefined && !(failure.kind === 'refused' && failure.status === 404) && (
        <FailureNote failure={failure} what="the key" />
      )}
    </section>
  );
}
