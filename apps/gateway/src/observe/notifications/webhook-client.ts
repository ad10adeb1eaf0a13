/**
 * Posts webhooks to the receiver. It follows no redirect and uses no proxy. Only the status of the
 * response counts, so almost nothing else of it is read.
 */

import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { errorCode } from '../../base/error-code.js';
import { PrivateAddressError, publicConnector } from './address-guard.js';
import type { SendOutcome } from './delivery-target.js';

export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookClient {
  send(request: WebhookRequest, signal: AbortSignal): Promise<SendOutcome>;
  close(): Promise<void>;
}

export interface WebhookReceiver {
  readonly url: string;
  /** Whether the receiver may be inside a private network. */
  readonly allowPrivate: boolean;
}

/** From connecting to the response head. */
export const SEND_TIMEOUT_MS = 15_000;
/**
 * A connection is reused if the response body is not larger than this and arrives within a second.
 */
const MAX_RESPONSE_BYTES = 4 * 1024;
const RESPONSE_PATIENCE_MS = 1_000;

export function createWebhookClient(
  { url, allowPrivate }: WebhookReceiver,
  timeoutMs = SEND_TIMEOUT_MS,
): WebhookClient {
  const { origin, pathname, search } = new URL(url);
  const agent = new Agent({
    pipelining: 1,
    allowH2: false,
    connect: allowPrivate ? { timeout: timeoutMs } : publicConnector(timeoutMs),
  });

  return {
    async send({ headers, body }, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const response = await agent.request({
          origin,
          path: pathname + search,
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'farthing' },
          body,
          signal: AbortSignal.any([timeout, signal]),
        });
        await discard(response.body);
        return outcomeOf(response.statusCode);
      } catch (error) {
        if (signal.aborted) return { outcome: 'stopped' };
        if (timeout.aborted) return failed(`no response within ${String(timeoutMs / 1000)} s`);
        return failed(reasonOf(error));
      }
    },
    close: () => agent.destroy(),
  };
}

async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  const signal = AbortSignal.timeout(RESPONSE_PATIENCE_MS);
  // The status decides the outcome. An error in the rest of the response only ends the connection.
  await body.dump({ limit: MAX_RESPONSE_BYTES, signal }).catch(() => undefined);
}

function outcomeOf(status: number): SendOutcome {
  if (status >= 200 && status < 300) return { outcome: 'delivered' };
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : '';
  return failed(`the receiver responded with ${String(status)}${redirect}`);
}

function reasonOf(error: unknown): string {
  if (error instanceof PrivateAddressError) return error.message;
  return `no valid response from the receiver: ${errorCode(error) ?? 'unknown error'}`;
}

function failed(reason: string): SendOutcome {
  return { outcome: 'failed', reason };
}
