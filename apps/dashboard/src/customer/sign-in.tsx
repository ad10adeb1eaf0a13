/** Where the holder of a key signs in with it. */

import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api.js';
import { FailureNote, TextField } from '../shared/parts.js';
import { returned } from './paying.js';
import { signIn, signInMessage } from './session.js';

export function SignIn() {
  const [key, setKey] = useState('');
  const [keepForTab, setKeepForTab] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const [isSending, setIsSending] = useState(false);

  async function submit() {
    if (key.trim() === '' || isSending) return;
    setIsSending(true);
    setFailure(undefined);
    const answer = await signIn(key.trim(), { keepForTab });
    setIsSending(false);
    if (!answer.ok) setFailure(answer.failure);
  }

  return (
    <div class="card sign-in">
      <h1>Usage and balance</h1>
      <p class="quiet">
        Sign in with an API key of this gateway to see what is left and where it goes.
      </p>
      {returned.value !== undefined && (
        <p class="note plain" role="status">
          You are back from the payment page. Sign in again to see your balance; a payment is
          credited without that, too.
        </p>
      )}
      {signInMessage.value !== undefined && failure === undefined && (
        <p class="note warning" role="status">
          {signInMessage.value}
        </p>
      )}
      {failure !== undefined && <KeyFailure failure={failure} retry={() => void submit()} />}
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <TextField
          label="API key"
          type="password"
          required
          value={key}
          onValue={setKey}
          hint="It is sent to this gateway only, and is never part of an address."
        />
        <label class="switch">
          <input
            type="checkbox"
            checked={keepForTab}
            onChange={(event) => {
              setKeepForTab(event.currentTarget.checked);
            }}
          />{' '}
          Keep me signed in in this tab
        </label>
        <button type="submit" class="main" disabled={isSending}>
          {isSending ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </div>
  );
}

function KeyFailure({ failure, retry }: { readonly failure: Failure; readonly retry: () => void }) {
  if (failure.kind !== 'unauthorized') {
    return <FailureNote failure={failure} what="your balance" retry={retry} />;
  }
  return (
    <p class="note bad" role="alert">
      This gateway does not know this key. Check that you copied all of it, or ask your operator.
    </p>
  );
}
