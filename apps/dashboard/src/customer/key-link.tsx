/** What a link that shows a key opens: first a button, because opening it works once. */

import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api/api.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { CodeBlock, FailureNote } from '../shared/controls/parts.js';
import { openKeyLink, signIn } from './session.js';

export function KeyLinkCard({ link }: { readonly link: string }) {
  const [shown, setShown] = useState<Sent<'openedKeyLink'>>();
  const [failure, setFailure] = useState<Failure>();
  const [isSending, setIsSending] = useState(false);

  async function open() {
    if (isSending) return;
    setIsSending(true);
    setFailure(undefined);
    const answer = await openKeyLink(link);
    setIsSending(false);
    if (answer.ok) setShown(answer.value);
    else setFailure(answer.failure);
  }

  async function enter(key: string) {
    const answer = await signIn(key);
    if (!answer.ok) setFailure(answer.failure);
  }

  const refused = failure?.kind === 'unauthorized' ? failure.message : undefined;
  return (
    <div class="card sign-in">
      <h1>Your API key</h1>
      {refused !== undefined && (
        <p class="note bad" role="alert">
          {refused}
        </p>
      )}
      {failure !== undefined && failure.kind !== 'unauthorized' && (
        <FailureNote failure={failure} what="your key" />
      )}
      {shown === undefined ? (
        <div class="stack">
          <p>
            This page shows your key once. Have a place for it ready, such as a password manager,
            before you go on.
          </p>
          <button type="button" class="main" disabled={isSending} onClick={() => void open()}>
            {isSending ? 'Asking…' : 'Show my key'}
          </button>
        </div>
      ) : (
        <div class="stack">
          <p>
            This is the key “{shown.name}”. It is not shown again: copy it now. Whoever has it can
            spend your budget.
          </p>
          <CodeBlock text={shown.api_key} what="the key" />
          <button type="button" class="main" onClick={() => void enter(shown.api_key)}>
            I have kept it: show my usage
          </button>
        </div>
      )}
    </div>
  );
}
