/** What a page shows until it knows whether the browser has a session. */

import { useEffect, useState } from 'preact/hooks';
import type { Answer, Failure } from '../api/api.js';
import { FailureNote } from './parts.js';

export function Restoring({ restore }: { readonly restore: () => Promise<Answer<unknown>> }) {
  const [failure, setFailure] = useState<Failure>();
  async function attempt() {
    setFailure(undefined);
    const answer = await restore();
    if (!answer.ok) setFailure(answer.failure);
  }
  useEffect(() => {
    void attempt();
  }, []);
  return failure === undefined ? (
    <p class="loading" role="status">
      Loading…
    </p>
  ) : (
    <FailureNote failure={failure} what="your session" retry={() => void attempt()} />
  );
}
