/** Measures how soon a key that had no credit is accepted after the notification of a payment. */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { callHeaders } from '../headers.mjs';

const MOST_MS = 60_000;
const BODY = JSON.stringify({
  model: 'claude-haiku-4-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Hello' }],
});

/**
 * @param {object} options
 * @param {string} options.credential - of a key without credit
 * @param {readonly { readonly url: string }[]} options.replicas - the first gets the notification
 * @param {{ readonly body: string, readonly headers: Readonly<Record<string, string>> }}
 *   options.notification - of the first payment for the key
 * @returns the milliseconds from the gateway's 200 for the notification until every gateway has
 *   answered a request of the key with 200
 */
export async function timeUntilUsable({ credential, replicas, notification }) {
  for (const { url } of replicas) {
    const status = await ask(url, credential);
    if (status !== 401) throw new Error(`a key without credit got a ${status}`);
  }
  const notified = await post(`${replicas[0].url}/webhooks/stripe`, notification);
  if (notified !== 200) throw new Error(`the notification got a ${notified}`);
  const startedAt = performance.now();
  const sinceThen = () => performance.now() - startedAt;
  await Promise.all(
    replicas.map(async ({ url }) => {
      while ((await ask(url, credential)) !== 200) {
        if (sinceThen() > MOST_MS) throw new Error('a key with credit was not accepted');
        await sleep(5);
      }
    }),
  );
  return sinceThen();
}

const ask = (url, credential) =>
  post(`${url}/v1/messages`, { headers: callHeaders(credential), body: BODY });

async function post(url, { headers, body }) {
  const response = await request(url, { method: 'POST', headers, body });
  await response.body.dump();
  return response.statusCode;
}
