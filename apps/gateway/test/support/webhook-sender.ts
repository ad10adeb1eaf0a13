/**
 * Delivers events until it is killed. Arguments: `embedded` and a directory, or `postgres` and a
 * connection string; the receiver's address; the milliseconds before another process may deliver an
 * event that this process took.
 */

import { pino } from 'pino';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { DELIVERY_PATIENCE, Deliverer } from '../../src/observe/notifications/deliverer.js';
import { createWebhookClient } from '../../src/observe/notifications/webhook-client.js';
import { webhookSigner } from '../../src/observe/notifications/webhook-message.js';
import { SECRET } from './webhook-receiver.js';

const [kind = '', place = '', url = '', leaseMs = ''] = process.argv.slice(2);
const pepper = 'pepper of the tests';

new Deliverer({
  store:
    kind === 'embedded'
      ? await openEmbeddedStore({ dataDir: place, pepper })
      : await openPostgresStore({ connectionString: place, pepper }),
  client: createWebhookClient({ url, allowPrivate: true }),
  sign: webhookSigner([SECRET]),
  metrics: { count: () => undefined },
  log: pino({ level: 'silent' }),
  patience: { ...DELIVERY_PATIENCE, leaseMs: Number(leaseMs) },
});
