/** The form with which a person signs in with a secret. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer, Failure } from '../api/api.js';
import { FailureNote, TextField } from './parts.js';

export function SignInForm(props: {
  readonly title: string;
  /** The content between the title and the form. */
  readonly intro?: ComponentChildren;
  /** Why the person has to sign in again. */
  readonly message: string | undefined;
  readonly label: string;
  readonly hint: string;
  /** The error for a secret that the gateway does not know. */
  readonly unknown: string;
  /** The end of the error "The gateway could not be reached for …", such as "your balance". */
  readonly what: string;
  readonly signIn: (secret: string) => Promise<Answer<unknown>>;
}) {
  const { title, intro, message, label, hint, unknown, what, signIn } = props;
  const [secret, setSecret] = useState('');
  const [failure, setFailure] = useState<Failure>();
  const [isSending, setIsSending] = useState(false);

  async function submit() {
    if (secret.trim() === '' || isSending) return;
    setIsSending(true);
    setFailure(undefined);
    const answer = await signIn(secret.trim());
    setIsSending(false);
    if (!answer.ok) setFailure(answer.failure);
  }

  return (
    <div class="card sign-in">
      <h1>{title}</h1>
      {intro}
      {message !== undefined && failure === undefined && (
        <p class="note warning" role="status">
          {message}
        </p>
      )}
      {failure?.kind === 'unauthorized' && (
        <p class="note bad" role="alert">
          {unknown}
        </p>
      )}
      {failure !== undefined && failure.kind !== 'unauthorized' && (
        <FailureNote failure={failure} what={what} retry={() => void submit()} />
      )}
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <TextField
          label={label}
          type="password"
          required
          value={secret}
          onValue={setSecret}
          hint={hint}
        />
        <button type="submit" class="main" disabled={isSending}>
          {isSending ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </div>
  );
}
