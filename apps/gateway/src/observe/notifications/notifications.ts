/**
 * Starts the delivery of events by webhook and by mail, as far as they are configured, and the
 * deletion of old events. All run in the process that owns the ledger; with PostgreSQL, in each
 * replica.
 */

import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { BalanceStore, EventChannel, LedgerSummary } from '@gateway/balance-store';
import type { Config } from '../../config/config.js';
import type { DeliveryTarget } from './delivery-target.js';
import { startEventPruning } from './event-pruning.js';

export interface NotificationParts {
  readonly store: BalanceStore;
  readonly registry: Registry;
  readonly log: Logger;
  /** `undefined` before it was first read. */
  readonly summary: () => LedgerSummary | undefined;
}

export interface Notifications {
  /** Waits a few seconds for deliveries in progress. */
  stop(): Promise<void>;
}

export async function startNotifications(
  config: Pick<Config, 'webhook' | 'mail' | 'publicUrl' | 'customer'>,
  parts: NotificationParts,
): Promise<Notifications> {
  const targets = [await webhooksOf(config, parts), await mailOf(config, parts)].filter(
    (target) => target !== undefined,
  );
  const { store, registry, log } = parts;
  const idle = CHANNELS.filter((channel) => targets.every((target) => target.channel !== channel));
  const pruning = startEventPruning(store, log, { idle });
  if (targets.length === 0) return pruning;
  // Loaded only if events are delivered.
  const [{ Deliverer }, { addDeliveryMetrics }] = await Promise.all([
    import('./deliverer.js'),
    import('./delivery-metrics.js'),
  ]);
  const deliverers = targets.map((target) => {
    const metrics = addDeliveryMetrics(registry, target.channel);
    return new Deliverer({ store, target, metrics, log });
  });
  return {
    async stop() {
      await Promise.all([...deliverers, pruning].map((running) => running.stop()));
    },
  };
}

const CHANNELS = ['webhook', 'mail'] as const satisfies readonly EventChannel[];

async function webhooksOf(
  { webhook }: Pick<Config, 'webhook'>,
  { registry, summary }: NotificationParts,
): Promise<DeliveryTarget | undefined> {
  if (webhook === undefined) return undefined;
  const [{ webhookTarget }, { createWebhookClient }, { webhookSigner }, { addPendingWebhooks }] =
    await Promise.all([
      import('./webhook-target.js'),
      import('./webhook-client.js'),
      import('./webhook-message.js'),
      import('./delivery-metrics.js'),
    ]);
  addPendingWebhooks(registry, () => summary()?.oldestPendingEventAt);
  return webhookTarget(createWebhookClient(webhook), webhookSigner(webhook.secrets));
}

async function mailOf(
  { mail, publicUrl, customer }: Pick<Config, 'mail' | 'publicUrl' | 'customer'>,
  { store }: NotificationParts,
): Promise<DeliveryTarget | undefined> {
  if (mail === undefined) return undefined;
  const [{ mailTarget }, { createMailClient }] = await Promise.all([
    import('./mail-target.js'),
    import('./mail-client.js'),
  ]);
  const origin = { from: mail.from, publicUrl, operator: customer.operator?.name };
  return mailTarget(store, createMailClient(mail), origin);
}
