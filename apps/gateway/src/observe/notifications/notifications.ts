/**
 * Starts the delivery of events, if a receiver is configured, and the deletion of old ones. Both
 * run in the process that owns the ledger; with PostgreSQL, in each replica.
 */

import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { BalanceStore, LedgerSummary } from '@gateway/balance-store';
import type { Config } from '../../config/config.js';
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
  { webhook }: Pick<Config, 'webhook'>,
  { store, registry, log, summary }: NotificationParts,
): Promise<Notifications> {
  const pruning = startEventPruning(store, log, { isDelivering: webhook !== undefined });
  if (webhook === undefined) return pruning;
  // Loaded only if a receiver is configured.
  const [{ Deliverer }, { createWebhookClient }, { webhookSigner }, { addWebhookMetrics }] =
    await Promise.all([
      import('./deliverer.js'),
      import('./webhook-client.js'),
      import('./webhook-message.js'),
      import('./webhook-metrics.js'),
    ]);
  const deliverer = new Deliverer({
    store,
    client: createWebhookClient(webhook),
    sign: webhookSigner(webhook.secrets),
    metrics: addWebhookMetrics(registry, () => summary()?.oldestPendingEventAt),
    log,
  });
  return {
    async stop() {
      await Promise.all([deliverer.stop(), pruning.stop()]);
    },
  };
}
