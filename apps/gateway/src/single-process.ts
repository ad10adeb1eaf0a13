/**
 * Starts a gateway in one process: opens every part that the configuration names and connects them.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BalanceStore } from '@gateway/balance-store';
import type { PriceTable } from '@gateway/billing';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { openSharedParts } from './shared-parts.js';
import type { Config } from './config.js';
import type { DataDir } from './data-dir.js';
import { startClientServer } from './client-server.js';
import type { ClientServer, ClientServerParts } from './client-server.js';
import { openLog } from './log.js';
import { openResponseMemory } from './response-memory/open-response-memory.js';
import type { Services } from './services.js';
import type { Reloader } from './settings/reloader.js';
import { createRegistry } from './telemetry/registry.js';

export interface RunningGateway {
  readonly url: string;
  readonly adminUrl: string;
  readonly store: BalanceStore;
  readonly prices: PriceTable;
  readonly log: Logger;
  /** Present if the ledger is embedded, that is, without `DATABASE_URL`. */
  readonly dataDir: DataDir | undefined;
  readonly isSimulated: boolean;
  /** Reads the settings again, and logs the outcome. */
  readonly reload: Reloader['reload'];
  /**
   * Announces the stop for the configured time. Then stops accepting connections, waits for a
   * limited time until the requests on open ones are finished and charged, and closes everything.
   *
   * @returns `abandoned`, how many requests were still in progress then
   */
  stop(): Promise<{ readonly abandoned: number }>;
}

export async function startGateway(
  config: Config,
  options: Pick<ClientServerParts, 'beforeListening'> = {},
): Promise<RunningGateway & { readonly services: Services }> {
  const { log, writeLine } = openLog(config.logLevel, { isShared: false });
  const registry = createRegistry();
  const responses = await openResponseMemory(config, log);
  const shared = await openSharedParts(config, { log, writeLine }, registry, responses);
  const { store, prices, dataDir, isSimulated } = shared;
  let server: ClientServer | undefined;

  async function stop(): Promise<{ readonly abandoned: number }> {
    if (config.drainDelayMs > 0) {
      server?.announceStop();
      await sleep(config.drainDelayMs);
    }
    return close();
  }

  async function close(): Promise<{ readonly abandoned: number }> {
    const drained = (await server?.drain()) ?? { abandoned: 0 };
    await shared.closeAdmin();
    await shared.closeLedger();
    await server?.close();
    await shared.closeSimulator();
    log.flush();
    return drained;
  }

  try {
    server = await startClientServer(config, {
      ...options,
      log,
      writeLine,
      store,
      settings: shared.settings,
      registry,
      payments: shared.payments,
      responses,
      async openLimiter(metrics) {
        if (config.redisUrls.length === 0) return createMemoryLimiter();
        const { openRedisLimiter } = await import('./open-redis-limiter.js');
        const redis = {
          urls: config.redisUrls,
          timeoutMs: config.redisTimeoutMs,
          processes: config.replicas,
        };
        return openRedisLimiter(redis, log, metrics);
      },
    });
    const { url, services, applySettings } = server;
    const reloader = shared.openReloader({
      apply: (settings) => Promise.resolve(applySettings(settings)),
      workerVersions: () => Promise.resolve([]),
    });
    const adminUrl = await shared.openAdmin({
      metrics: registry,
      readMetrics: async () => [await registry.getMetricsAsJSON()],
      activity: services.activity,
      reloader,
    });
    const { reload } = reloader;
    return { url, adminUrl, store, prices, log, dataDir, isSimulated, services, reload, stop };
  } catch (error) {
    await close();
    throw error;
  }
}
