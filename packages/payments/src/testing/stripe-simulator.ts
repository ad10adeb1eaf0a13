/** The simulated Stripe as a server: its API, its pages and its outages. */

import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createApi, problem } from './api.js';
import { parseForm } from './form.js';
import { createNotifications } from './notifications.js';
import type { StripeEvents } from './notifications.js';
import { newId } from './objects.js';
import { createRecords } from './records.js';
import type { StripeActions } from './records.js';

export interface StripeSimulatorOptions {
  /** `sk_test_…` or `sk_live_…`. It determines the mode of the simulator. */
  readonly secretKey: string;
  /** Signs notifications. */
  readonly webhookSecret: string;
  /** Where each event is posted as it happens. Without it, the test delivers them. */
  readonly webhookUrl?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
}

export interface StripeSimulator extends StripeActions, StripeEvents {
  /** Origin of its API and of its pages. */
  readonly url: string;
  /** How many requests its API has carried out, by method and path without ids. */
  readonly requests: ReadonlyMap<string, number>;
  /**
   * The connection of the next request to a path is closed without a response, `before` or `after`
   * the request is carried out.
   */
  dropNext(path: string, moment: 'before' | 'after'): void;
  /** While it is down, its API answers with 503. Its pages still work. */
  setDown(isDown: boolean): void;
  close(): Promise<void>;
}

export async function startStripeSimulator({
  secretKey,
  webhookSecret,
  webhookUrl,
  now = Date.now,
}: StripeSimulatorOptions): Promise<StripeSimulator> {
  const livemode = secretKey.includes('_live_');
  const base = () => ({ livemode, created: Math.floor(now() / 1_000) });
  const notifications = createNotifications({ webhookSecret, webhookUrl, base });
  const records = createRecords(base, notifications.emit);
  let origin = '';
  const api = createApi(records, notifications, { base, origin: () => origin });
  const drops = new Map<string, 'before' | 'after'>();
  let isDown = false;

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(req.url ?? '/', origin);
    const body = await text(req);
    if (pathname.startsWith('/c/pay/')) {
      servePage(req.method ?? 'GET', pathname.slice('/c/pay/'.length), res);
      return;
    }
    const drop = drops.get(pathname);
    drops.delete(pathname);
    if (drop === 'before') {
      req.socket.destroy();
      return;
    }
    const method = req.method ?? 'GET';
    const form = parseForm(method === 'GET' ? search.slice(1) : body);
    const key = req.headers['idempotency-key']?.toString();
    const made = isDown
      ? problem(503, 'unavailable', 'Stripe is down', 'api_error')
      : req.headers.authorization === `Bearer ${secretKey}`
        ? api.answerOnce(method === 'POST' ? key : undefined, body, () =>
            api.answer(method, pathname, form),
          )
        : problem(401, 'api_key_invalid', 'Invalid API Key provided: sk_test_***');
    if (drop === 'after') {
      req.socket.destroy();
      return;
    }
    res.writeHead(made.status, {
      'content-type': 'application/json',
      'request-id': newId('req'),
      // Without retries by the SDK, a test of an outage does not have to wait for them.
      ...(isDown ? { 'stripe-should-retry': 'false' } : {}),
    });
    res.end(JSON.stringify(made.body));
  }

  /** The hosted page, with one button. */
  function servePage(method: string, checkoutId: string, res: ServerResponse): void {
    const session = records.sessions.get(checkoutId);
    if (session === undefined) {
      res.writeHead(404).end();
      return;
    }
    if (method === 'POST' && session.status === 'open') {
      if (session.mode === 'setup') records.actions.saveMethod(checkoutId);
      else records.actions.pay(checkoutId);
      res.writeHead(303, { location: session.success_url ?? '/' }).end();
      return;
    }
    const cents = session.amount_total ?? 0;
    const label = session.mode === 'setup' ? 'Save card' : `Pay $${(cents / 100).toFixed(2)}`;
    const button = `<form method="post"><button type="submit">${label}</button></form>`;
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    res.end(
      `<!doctype html><html lang="en"><title>Simulated Checkout</title>` +
        `<h1>Simulated Checkout</h1>${session.status === 'open' ? button : '<p>Done.</p>'}</html>`,
    );
  }

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      res.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;

  const { events, notify, sign } = notifications;
  return {
    url: origin,
    events,
    requests: api.requests,
    notify,
    sign,
    ...records.actions,
    dropNext: (path, moment) => {
      drops.set(path, moment);
    },
    setDown: (down) => {
      isDown = down;
    },
    async close() {
      await notifications.delivered();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
