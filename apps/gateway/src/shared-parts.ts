/**
 * The parts that a gateway has once, for all of its processes: ledger, upkeep, admin API,
 * simulator.
 */

import type { Registry } from 'prom-client';
import type { BalanceStore } from '@gateway/balance-store';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import { createAdminApp } from './admin-app.js';
import type { AdminServices } from './admin-app.js';
import { memoryLimit, memoryProblem } from './body-memory.js';
import type { Config } from './config.js';
import { openDataDir } from './data-dir.js';
import type { DataDir } from './data-dir.js';
import { createHttpServer, drain, listen, urlOf } from './http-server.js';
import { openStoreWhenReachable, peppersOf } from './open-store.js';
import type { Log } from './log.js';
import { addLedgerMetrics } from './telemetry/ledger-metrics.js';
import { startRetirementWatch } from './notifications/model-retirement.js';
import { startLedgerUpkeep } from './ledger-upkeep.js';
import { createLivePrices } from './settings/live-prices.js';
import type { LivePrices } from './settings/live-prices.js';
import { createReloader } from './settings/reloader.js';
import type { Reloader, SettingsReport } from './settings/reloader.js';
import { readPriceTable, readSettings } from './settings/settings.js';
import type { Settings, SettingsDefaults } from './settings/settings.js';
import { readUpstreams } from './settings/upstreams-file.js';
import { addSettingsMetrics } from './telemetry/settings-metrics.js';
import { startNotifications } from './notifications/notifications.js';
import { forgettingWithKeys } from './response-memory/forget-with-keys.js';
import type { ResponseMemory } from './response-memory/response-memory.js';
import { loadPage } from './pages/page-files.js';
import { createAuditJobs } from './operations/audit-jobs.js';
import { openMetricsOf } from './telemetry/open-metrics.js';
import { createTrafficReader } from './telemetry/traffic-today.js';
import type { WorkerMetrics } from './workers/rpc-interfaces.js';
import { createReadLinks } from './read-links.js';
import { openPayments } from './payments/open-payments.js';
import { openProviderReports } from './provider-reports/open-provider-reports.js';
import { startPaymentUpkeep } from './payments/payment-upkeep.js';
import type { Payments } from './payments/payments.js';
import { listUpstreamModels } from './upstream/list-models.js';

export interface SharedParts {
  readonly store: BalanceStore;
  readonly prices: LivePrices;
  /** Only with the embedded ledger. */
  readonly dataDir: DataDir | undefined;
  /** The settings that were read at the start. */
  readonly settings: Settings;
  readonly payments: Payments | undefined;
  readonly isSimulated: boolean;
  /** Makes it possible to read the settings again. Call it when all processes serve. */
  openReloader(processes: SettingsProcesses): Reloader;
  /** Serves the admin API, if there is a token for it. @returns its address */
  openAdmin(services: AdminParts): Promise<string>;
  closeAdmin(): Promise<void>;
  /** Completes pending writes, then closes the ledger. */
  closeLedger(): Promise<void>;
  closeSimulator(): Promise<void>;
}

/** The processes that serve clients. */
export interface SettingsProcesses {
  readonly apply: (settings: Settings) => Promise<void>;
  readonly workerVersions: () => Promise<SettingsReport['workers']>;
}

export interface AdminParts extends Pick<AdminServices, 'metrics' | 'activity' | 'reloader'> {
  /** The metrics of each process of this gateway that responds. */
  readonly readMetrics: () => Promise<readonly WorkerMetrics[]>;
}

/** Longer admin requests only read (audits) or can be repeated, so ending them loses nothing. */
const ADMIN_DRAIN_MS = 5_000;
const SIMULATOR_KEY = 'simulator';

export async function openSharedParts(
  config: Config,
  { log }: Log,
  registry: Registry,
  responses: ResponseMemory | undefined,
): Promise<SharedParts> {
  const memory = memoryProblem(config, memoryLimit());
  if (memory !== undefined) log.warn(memory);
  // Checks the files before the ledger is opened. All settings are read below, once the simulator's
  // address is known.
  readPriceTable(config);
  if (config.upstreamsPath !== undefined) readUpstreams(config.upstreamsPath);
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const store = forgettingWithKeys(await openStoreWhenReachable(config, dataDir, log), responses);
  try {
    return await openPartsOf({ store, dataDir }, config, log, registry);
  } catch (error) {
    // Otherwise its connections would keep this process alive.
    await store.close();
    throw error;
  }
}

async function openPartsOf(
  { store, dataDir }: Pick<SharedParts, 'store' | 'dataDir'>,
  config: Config,
  log: Log['log'],
  registry: Registry,
): Promise<SharedParts> {
  const simulator =
    config.upstream === undefined && config.upstreamsPath === undefined
      ? await startUpstreamSimulator({ apiKey: SIMULATOR_KEY })
      : undefined;
  const defaults: SettingsDefaults = {
    adminToken: dataDir?.secret('admin-token'),
    upstream:
      simulator === undefined
        ? undefined
        : { url: simulator.url, apiKey: SIMULATOR_KEY, isLocal: true },
    pepper: peppersOf(config).pepper,
  };
  const initial = readSettings(config, defaults);
  let settings = initial;
  const prices = createLivePrices(initial);
  const settingsMetrics = addSettingsMetrics(registry, initial.version);
  const upkeep = startLedgerUpkeep(store, log);
  const retirements = startRetirementWatch({ prices, store, log, now: Date.now });
  addLedgerMetrics(registry, {
    summary: () => upkeep.summary,
    isReachable: () =>
      store.ping().then(
        () => true,
        () => false,
      ),
    charging: () => store.charging(),
    dataDir,
  });
  const notifications = await startNotifications(config, {
    store,
    registry,
    log,
    summary: () => upkeep.summary,
  });
  // Log-ins are rare, so each replica counts its own.
  const limiter = createMemoryLimiter();
  const payments = await openPayments(config, { ledger: store, registry, log });
  const paymentUpkeep = payments === undefined ? undefined : startPaymentUpkeep(payments, log);
  let closeAdmin = (): Promise<void> => Promise.resolve();

  return {
    store,
    prices,
    dataDir,
    settings: initial,
    payments,
    isSimulated: simulator !== undefined,
    openReloader: ({ apply, workerVersions }) =>
      createReloader({
        env: process.env,
        initial,
        read: (next) => readSettings(next, defaults),
        async apply(next) {
          settings = next;
          prices.replace(next);
          await apply(next);
        },
        workerVersions,
        log,
        onReload: settingsMetrics.reloaded,
      }),
    async openAdmin({ readMetrics, ...services }) {
      if (settings.adminTokens.length === 0) {
        log.warn('no admin token is set (ADMIN_TOKEN, ADMIN_TOKENS): no admin API and no metrics');
        return '';
      }
      const traffic = createTrafficReader(readMetrics, Date.now);
      const server = createHttpServer(
        createAdminApp({
          ...services,
          openMetrics:
            config.tracing === undefined
              ? undefined
              : async () => openMetricsOf(await readMetrics()),
          store,
          prices,
          upstreamModels: () => listUpstreamModels(settings.upstream, config.proxies),
          get defaultLimits() {
            return settings.keyLimits;
          },
          lowBalance: config.lowBalance,
          payments,
          reports: (account) => openProviderReports(config, settings.upstream)(account),
          overdraft: config.overdraft,
          operator: config.operator,
          sendsEvents: config.webhook !== undefined,
          settings: () => settings,
          readLinks: createReadLinks(peppersOf(config)),
          get adminTokens() {
            return settings.adminTokens;
          },
          consolePage: loadPage('console', config.pagesDir, log),
          limiter,
          live: {
            ledger: () => upkeep.summary,
            traffic: () => traffic.read(),
            audits: createAuditJobs(store, Date.now, log),
          },
          now: Date.now,
          log,
        }),
      );
      await listen(server, { host: config.adminHost, port: config.adminPort });
      const url = urlOf(server);
      closeAdmin = async () => {
        traffic.stop();
        await drain(server, { deadlineMs: ADMIN_DRAIN_MS });
      };
      return url;
    },
    closeAdmin: () => closeAdmin(),
    async closeLedger() {
      await paymentUpkeep?.stop();
      await notifications.stop();
      await retirements.stop();
      await upkeep.stop();
      await store.close();
    },
    async closeSimulator() {
      await simulator?.close();
    },
  };
}
