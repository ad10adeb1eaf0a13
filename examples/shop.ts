/**
 * A shop: sells a key with credit by the operators' API, and hears by webhook when it is used up.
 *
 *   ADMIN_TOKEN=… WEBHOOK_SECRET=whsec_… node shop.ts order-1 5.00
 *
 * The gateway has the same secret, `WEBHOOK_URL=http://127.0.0.1:3000/` and
 * `WEBHOOK_ALLOW_PRIVATE=true`.
 */

import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

interface Key {
  readonly account_id: string;
  readonly api_key: string;
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly account_id: string };
}

const { ADMIN_URL = 'http://127.0.0.1:8081', ADMIN_TOKEN = '', PORT = '3000' } = process.env;
const webhook = new Webhook(process.env['WEBHOOK_SECRET'] ?? '');
const [order = 'order-1', amount = '5.00'] = process.argv.slice(2);
/** Events that were handled: each is sent at least once. A shop keeps them in its database. */
const seen = new Set<string>();

const shop = createServer((request, response) => {
  void readBody(request).then((body) => {
    try {
      const headers = request.headers as Record<string, string>;
      const event = webhook.verify(body, headers) as Event;
      if (!seen.has(event.id)) handle(event);
      seen.add(event.id);
      response.writeHead(204).end();
    } catch {
      response.writeHead(401).end();
    }
  });
});
shop.listen(Number(PORT));
const sold = await sell();
console.log(`${order}: ${sold.api_key}`);

async function sell(): Promise<Key> {
  const response = await fetch(`${ADMIN_URL}/admin/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': 'application/json',
      // The same order makes one key, however often this is sent.
      'idempotency-key': order,
    },
    body: JSON.stringify({ name: order, balance_usd: amount }),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Key;
}

function handle({ type, data }: Event): void {
  if (data.account_id !== sold.account_id) return;
  if (type === 'credit.added') console.log(`${order}: credited`);
  if (type === 'balance.exhausted') console.log(`${order}: used up`);
}

async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
