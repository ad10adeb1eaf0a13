/** A receiver of webhooks that verifies each one with the official library. */

import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const NEXT_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

export interface ReceivedWebhook {
  /** The id in the header, by which a receiver recognizes an event that is sent again. */
  readonly id: string;
  readonly timestamp: string;
  readonly body: string;
  readonly message: {
    readonly id: string;
    readonly type: string;
    readonly timestamp: string;
    readonly data: Readonly<Record<string, string | null>>;
  };
}

export interface WebhookReceiver {
  readonly url: string;
  /** Every request with a valid signature, in the order of arrival. */
  readonly received: readonly ReceivedWebhook[];
  /** Requests that the library did not verify. */
  readonly forged: () => number;
  close(): Promise<void>;
}

/** @param respond - Returns the status, or writes a response by itself. */
export async function startWebhookReceiver(
  respond: (
    webhook: ReceivedWebhook,
    response: ServerResponse,
  ) => number | undefined | Promise<number | undefined> = () => 204,
): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  let forged = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
    const headers = request.headers as Record<string, string>;
    let message: ReceivedWebhook['message'];
    try {
      message = new Webhook(SECRET).verify(body, headers) as ReceivedWebhook['message'];
    } catch {
      forged += 1;
      response.writeHead(401).end();
      return;
    }
    const [id, timestamp] = [headers['webhook-id']!, headers['webhook-timestamp']!];
    const webhook = { id, timestamp, body, message };
    received.push(webhook);
    const status = await respond(webhook, response);
    if (status !== undefined) response.writeHead(status).end('words of the receiver');
  }

  const server = createServer((request, response) => {
    // A sender that is killed breaks off its request.
    handle(request, response).catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}/hooks?from=gateway`,
    received,
    forged: () => forged,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
