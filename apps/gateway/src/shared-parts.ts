/**
 * The parts of which a gateway has one, however many processes serve: ledger, upkeep, admin API,
 * simulator.
 */

import type { Registry } from 'prom-client';
import type { BalanceStore } from '@gateway/balance-store';
import type { PriceTable } from '@gateway/billing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import { createAdminApp } from './admin-app.js';
import type { AdminServices } from './admin-app.js';
import type { Config } from './config.js';
import { openDataDir } from './data-dir.js';
import type { DataDir } from './data-dir.js';
import { createHttpServer, drain, listen, urlOf } from './http-server.js';
import { openStoreWhenReachable } from './open-store.js';
import type { Log } from './log.js';
import { loadPriceTable } from './load-prices.js';
import { addLedgerMetrics } from './telemetry/ledger-metrics.js';
import { startLedgerUpkeep } from './ledger-upkeep.js';
import type { UpstreamTarget } from './upstream/open-upstream.js';

export interface SharedParts {
  readonly store: BalanceStore;
  readonly prices: PriceTable;
  /** Present when the embedded default is in use. */
  readonly dataDir: DataDir | undefined;
  readonly upstream: UpstreamTarget;
  readonly isSimulated: boolean;
  /** Serves the admin API, if there is a token for it. @returns its address */
  openAdmin(services: Pick<AdminServices, 'metrics' | 'activity'>): Promise<string>;
  closeAdmin(): Promise<void>;
  /** Writes what is pending, then closes the ledger. */
  closeLedger(): Promise<void>;
  closeSimulator(): Promise<void>;
}

/** Only reads (audits) take longer, so cutting them off loses nothing. */
const ADMIN_DRAIN_MS = 5_000;
const SIMULATOR_KEY = 'simulator';

export async function openSharedParts(
  config: Config,
  { log }: Log,
  registry: Registry,
): Promise<SharedParts> {
  const prices = loadPriceTable(config.priceTablePath);
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const store = await openStoreWhenReachable(config, dataDir, log);
  const simulator =
    config.upstream === undefined
      ? await startUpstreamSimulator({ apiKey: SIMULATOR_KEY })
      : undefined;
  const upkeep = startLedgerUpkeep(store, log);
  addLedgerMetrics(registry, {
    summary: () => upkeep.summary,
    isReachable: () =>
      store.ping().then(
        () => true,
        () => false,
      ),
  });
  let closeAdmin = (): Promise<void> => Promise.resolve();

  return {
    store,
    prices,
    dataDir,
    upstream: config.upstream ?? { url: simulator?.url ?? '', apiKey: SIMULATOR_KEY },
    isSimulated: simulator !== undefined,
    async openAdmin(services) {
      const adminToken = config.adminToken ?? dataDir?.secret('admin-token');
      if (adminToken === undefined) {
        log.warn('ADMIN_TOKEN is not set: no admin API and no metrics');
        return '';
      }
      const server = createHttpServer(
        createAdminApp({
          ...services,
          store,
          prices,
          defaultLimits: config.keyLimits,
          adminToken,
          metricsToken: config.metricsToken,
          log,
        }),
      );
      await listen(server, { host: config.adminHost, port: config.adminPort });
      const url = urlOf(server);
      closeAdmin = async () => {
        await drain(server, { deadlineMs: ADMIN_DRAIN_MS });
      };
      return url;
    },
    closeAdmin: () => closeAdmin(),
    async closeLedger() {
      await upkeep.stop();
      await store.close();
    },
    async closeSimulator() {
      await simulator?.close();
    },
  };
}
