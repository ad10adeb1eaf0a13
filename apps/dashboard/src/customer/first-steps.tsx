/** What a new customer sees first: how to connect, until the first request has arrived. */

import { useEffect } from 'preact/hooks';
import { to } from '../shared/api/router.js';
import { Connect } from './connect.js';
import { call } from './session.js';

/** How often it is asked whether a request has arrived. */
const LOOK_MS = 4_000;

export function FirstSteps({ reload }: { readonly reload: () => void }) {
  useEffect(() => {
    let isEnded = false;
    const timer = setInterval(() => {
      if (document.visibilityState !== 'visible') return;
      void call('GET /v1/dashboard/account', {}).then((answer) => {
        if (!isEnded && answer.ok && answer.value.key.last_charged_at !== null) reload();
      });
    }, LOOK_MS);
    return () => {
      isEnded = true;
      clearInterval(timer);
    };
  }, []);
  return (
    <>
      <p class="note plain" role="status">
        <span>
          <strong>Waiting for your first request.</strong> Connect your program as shown below. This
          page turns green when it arrives.
        </span>
      </p>
      <Connect isFirst />
    </>
  );
}

export function Arrived() {
  return (
    <p class="note good" role="status">
      <span>
        <strong>Connected.</strong> Your first request has arrived.{' '}
        <a href={to(['requests'], { range: 'hour' })}>See what it cost</a>
      </span>
    </p>
  );
}
