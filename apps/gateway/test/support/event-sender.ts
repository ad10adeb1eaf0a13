/**
 * Takes events once, and delivers them until it is killed. Arguments: `embedded` and a directory,
 * or `postgres` and a connection string; the address of the receiver of webhooks, or of a mail
 * server; the milliseconds before another process may deliver an event that this process took.
 */

import { pino } from 'pino';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { Deliverer } from '../../src/observe/notifications/deliverer.js';
import { createWebhookClient } from '../../src/observe/notifications/webhook-client.js';
import { createMailClient } from '../../src/observe/notifications/mail-client.js';
import { mailTarget } from '../../src/observe/notifications/mail-target.js';
import { webhookSigner } from '../../src/observe/notifications/webhook-message.js';
import { webhookTarget } from '../../src/observe/notifications/webhook-target.js';
import { smtpUrl } from '../../src/config/mail-config.js';
import { ORIGIN, SENDER } from './mail-server.js';
import { takingOnce } from './take-once.js';
import { SECRET } from './webhook-receiver.js';

const [kind = '', place = '', url = '', leaseMs = ''] = process.argv.slice(2);
const pepper = 'pepper of the tests';

const store =
  kind === 'embedded'
    ? await openEmbeddedStore({ dataDir: place, pepper })
    : await openPostgresStore({ connectionString: place, pepper });

new Deliverer({
  store: takingOnce(store, Number(leaseMs)),
  target: url.startsWith('smtp:')
    ? mailTarget(store, createMailClient({ server: smtpUrl.parse(url), from: SENDER }), ORIGIN)
    : webhookTarget(createWebhookClient({ url, allowPrivate: true }), webhookSigner([SECRET])),
  metrics: { count: () => undefined },
  log: pino({ level: 'silent' }),
});
