/** Where an operator signs in with an admin token. */

import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api.js';
import { FailureNote, TextField } from '../shared/parts.js';
import { signIn } from './session.js';

export function SignIn({ message }: { readonly message: string | undefined }) {
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState<Failure>();
  const [isSending, setIsSending] = useState(false);

  async function submit() {
    if (token.trim() === '' || isSending) return;
    setIsSending(true);
    setFailure(undefined);
    const answer = await signIn(token.trim());
    setIsSending(false);
    if (!answer.ok) setFailure(answer.failure);
  }

  return (
    <div class="card sign-in">
      <h1>Operator's console</h1>
      {message !== undefined && failure === undefined && (
        <p class="note warning" role="status">
          {message}
        </p>
      )}
      {failure?.kind === 'unauthorized' && (
        <p class="note bad" role="alert">
          This is not an admin token of this gateway.
        </p>
      )}
      {failure !== undefined && failure.kind !== 'unauthorized' && (
        <FailureNote failure={failure} what="the log-in" />
      )}
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <TextField
          label="Admin token"
          type="password"
          required
          value={token}
          onValue={setToken}
          hint="The value of ADMIN_TOKEN, or of one of ADMIN_TOKENS. It is exchanged for a session of at most 12 hours."
        />
        <button type="submit" class="main" disabled={isSending}>
          {isSending ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </div>
  );
}
