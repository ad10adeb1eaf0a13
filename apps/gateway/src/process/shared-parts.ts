/**
 * The parts that a gateway has once, for all of its processes: ledger, upkeep, admin API,
 * simulator.
 */

import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { BalanceStore } from '@gateway/balance-store';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import { memoryLimit, memoryProblem } from '../config/body-memory.js';
import { readEnvironment } from '../config/config.js';
import type { Config } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import type { DataDir } from '../config/data-dir.js';
import { misspeltVariables } from '../config/describe-variables.js';
import { createLivePrices } from '../config/live-prices.js';
import type { LivePrices } from '../config/live-prices.js';
import { createReloader } from '../config/reloader.js';
import type { Reloader, SettingsReport } from '../config/reloader.js';
import { readPriceTable, readSettings } from '../config/settings.js';
import type { Settings, SettingsDefaults } from '../config/settings.js';
import { readUpstreams } from '../config/upstreams-file.js';
import { isSimulated } from '../config/upstream-target.js';
import { forgettingWithKeys } from '../exchange/response-memory/forget-with-keys.js';
import type { ResponseMemory } from '../exchange/response-memory/response-memory.js';
import { createHttpServer, drain, listen, urlOf } from '../http/http-server.js';
import { loadPage } from '../http/pages/page-files.js';
import { startLedgerUpkeep } from '../ledger/ledger-upkeep.js';
import { openStoreWhenReachable, peppersOf } from '../ledger/open-store.js';
import { createReadLinks } from '../ledger/read-links.js';
import { addLedgerMetrics } from '../observe/ledger-metrics.js';
import { startRetirementWatch } from '../observe/notifications/model-retirement.js';
import { startNotifications } from '../observe/notifications/notifications.js';
import { openMetricsOf } from '../observe/open-metrics.js';
import type { WorkerMetrics } from '../observe/registry.js';
import { addSettingsMetrics } from '../observe/settings-metrics.js';
import { createTrafficReader } from '../observe/traffic-today.js';
import { createAuditJobs } from '../operator/operations/audit-jobs.js';
import { openPayments } from '../payments/open-payments.js';
import { startPaymentUpkeep } from '../payments/payment-upkeep.js';
import type { Payments } from '../payments/payments.js';
import { listUpstreamModels } from '../upstream/list-models.js';
import { openProviderReports } from '../upstream/provider-reports/open-provider-reports.js';
import { createAdminApp } from './admin-app.js';
import type { AdminParts } from './admin-app.js';

export interface SharedParts {
  readonly store: BalanceStore;
  readonly prices: LivePrices;
  /** Only with the embedded ledger. */
  readonly dataDir: DataDir | undefined;
  /** The settings that were read at the start. */
  readonly settings: Settings;
  readonly payments: Payments | undefined;
  readonly isSimulated: boolean;
  /**
   * Serves the admin API, if there is a token for it, and makes it possible to read the settings
   * again. Call it when all processes serve.
   */
  openAdmin(clients: ClientProcesses): Promise<{
    /** Empty without a token. */
    readonly adminUrl: string;
    readonly reload: Reloader['reload'];
  }>;
  closeAdmin(): Promise<void>;
  /** Completes pending writes, then closes the ledger. */
  closeLedger(): Promise<void>;
  closeSimulator(): Promise<void>;
}

/** The processes that serve clients: this one, or workers. */
export interface ClientProcesses extends Pick<AdminParts, 'metrics' | 'activity'> {
  readonly url: string;
  /** The metrics of each process of this gateway that responds. */
  readonly readMetrics: () => Promise<readonly WorkerMetrics[]>;
  readonly applySettings: (settings: Settings) => Promise<void>;
  readonly workerVersions: () => Promise<SettingsReport['workers']>;
  /** Makes `/readyz` answer 503. Requests are accepted as before, until `drain`. */
  announceStop(): void;
  /** @returns `abandoned`, how many requests were in progress at the deadline */
  drain(): Promise<{ readonly abandoned: number }>;
  /** Call it after the ledger was closed, which may still be writing charges. */
  close(): Promise<void>;
}

/** Longer admin requests only read (audits) or can be repeated, so ending them loses nothing. */
const ADMIN_DRAIN_MS = 5_000;
const SIMULATOR_KEY = 'simulator';

export async function openSharedParts(
  config: Config,
  {
    log,
    registry,
    responses,
  }: {
    readonly log: Logger;
    readonly registry: Registry;
    readonly responses: ResponseMemory | undefined;
  },
): Promise<SharedParts> {
  const memory = memoryProblem(config, memoryLimit());
  if (memory !== undefined) log.warn(memory);
  for (const problem of misspeltVariables(readEnvironment(process.env))) log.warn(problem);
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
  log: Logger,
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
  const upkeep = startLedgerUpkeep(store, log, config.requestRecord);
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
    isSimulated: isSimulated(initial.upstream),
    async openAdmin({ readMetrics, applySettings, workerVersions, metrics, activity }) {
      const reloader = createReloader({
        env: process.env,
        initial,
        read: (next) => readSettings(next, defaults),
        async apply(next) {
          settings = next;
          prices.replace(next);
          await applySettings(next);
        },
        workerVersions,
        log,
        onReload: settingsMetrics.reloaded,
      });
      const { reload } = reloader;
      if (settings.adminTokens.length === 0) {
        log.warn('no admin token is set (ADMIN_TOKEN, ADMIN_TOKENS): no admin API and no metrics');
        return { adminUrl: '', reload };
      }
      const traffic = createTrafficReader(readMetrics, Date.now);
      const server = createHttpServer(
        createAdminApp({
          reloader,
          metrics,
          activity,
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
          get isSimulated() {
            return isSimulated(settings.upstream);
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
      await listen(server, {
        host: config.adminHost,
        port: config.adminPort,
        variable: 'ADMIN_PORT',
      });
      closeAdmin = async () => {
        traffic.stop();
        await drain(server, { deadlineMs: ADMIN_DRAIN_MS });
      };
      return { adminUrl: urlOf(server), reload };
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
