/** The server of the admin API, and the settings that are in force in it. */

import { readBookkeeping } from '../config/bookkeeping.js';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import { parseUsd } from '@gateway/billing';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { readChangedVariables, writeChange } from '../config/changed-variables.js';
import type { ChangedVariables } from '../config/changed-variables.js';
import type { Config } from '../config/config.js';
import { createLiveCosts } from '../config/live-prices.js';
import type { LivePrices } from '../config/live-prices.js';
import { createReloader } from '../config/reloader.js';
import type { Reloader } from '../config/reloader.js';
import { readSettings } from '../config/settings.js';
import type { Settings, SettingsDefaults } from '../config/settings.js';
import { isSimulated } from '../config/upstream-target.js';
import { createHttpServer, drain, listen, urlOf } from '../http/http-server.js';
import { loadPage } from '../http/pages/page-files.js';
import type { PageFiles } from '../http/pages/page-files.js';
import type { LedgerUpkeep } from '../ledger/ledger-upkeep.js';
import { peppersOf } from '../ledger/open-store.js';
import { createKeyLinks } from '../ledger/key-links.js';
import { createReadLinks } from '../ledger/read-links.js';
import { openMetricsOf } from '../observe/open-metrics.js';
import { addOperationMetrics } from '../observe/operation-metrics.js';
import type { OperationMetrics } from '../observe/operation-metrics.js';
import { addSettingsMetrics } from '../observe/settings-metrics.js';
import { createTrafficReader } from '../observe/traffic-today.js';
import type { TrafficReader } from '../observe/traffic-today.js';
import { createConsoleLinks } from '../operator/console/console-links.js';
import { isLoopback } from '../http/origin.js';
import { createAuditJobs } from '../operator/operations/audit-jobs.js';
import { OPERATION_NAMES } from '../operator/operations/operations.js';
import type { OperationName } from '../operator/operations/operations.js';
import type { Payments } from '../payments/payments.js';
import { createCredentialWatch } from '../upstream/credential-watch.js';
import type { CredentialWatch } from '../upstream/credential-watch.js';
import { listUpstreamModels } from '../upstream/list-models.js';
import { openProviderReports } from '../upstream/provider-reports/open-provider-reports.js';
import { createAdminApp } from './admin-app.js';
import type { AdminParts } from './admin-app.js';
import type { ClientProcesses } from './client-processes.js';
import { keyLinkMailer } from './mail-key-link.js';

export interface AdminServerParts {
  readonly store: BalanceStore;
  readonly prices: LivePrices;
  readonly upkeep: LedgerUpkeep;
  readonly payments: Payments | undefined;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Longer admin requests only read (audits) or can be repeated, so ending them loses nothing. */
const DRAIN_MS = 5_000;

/** Until another replica has what an operator changed. */
const FOLLOW_MS = 2_000;

export interface OpenAdmin {
  /** Empty without a token. */
  readonly adminUrl: string;
  /** Reads the settings again, and logs the outcome. */
  readonly reload: Reloader['reload'];
  /**
   * @returns the address of a link that signs in to the console once, with the first admin token.
   * `undefined` if there is no console, or none at a loopback address.
   */
  readonly makeConsoleLink: () => string | undefined;
}

export class AdminServer {
  readonly #config: Config;
  readonly #defaults: SettingsDefaults;
  readonly #parts: AdminServerParts;
  readonly #metrics: ReturnType<typeof addSettingsMetrics>;
  readonly #operations: OperationMetrics<OperationName>;
  #settings: Settings;
  readonly #changed: ChangedVariables;
  #follower: NodeJS.Timeout | undefined;
  readonly #links = createConsoleLinks(Date.now);
  readonly #credentials: CredentialWatch;
  #consolePage: PageFiles | undefined;
  #close = (): Promise<void> => Promise.resolve();

  constructor(
    config: Config,
    {
      initial,
      initiallyChanged,
      defaults,
    }: {
      readonly initial: Settings;
      readonly initiallyChanged: ChangedVariables;
      readonly defaults: SettingsDefaults;
    },
    parts: AdminServerParts,
  ) {
    this.#config = config;
    this.#defaults = defaults;
    this.#parts = parts;
    this.#settings = initial;
    this.#changed = initiallyChanged;
    this.#metrics = addSettingsMetrics(parts.registry, initial.version);
    this.#operations = addOperationMetrics(parts.registry, OPERATION_NAMES);
    const { log } = parts;
    this.#credentials = createCredentialWatch({ proxies: config.proxies, log, now: Date.now });
  }

  /**
   * Serves the admin API, if there is a token for it, and makes it possible to read the settings
   * again. Call it when all processes serve.
   */
  async open(clients: ClientProcesses): Promise<OpenAdmin> {
    const reloader = this.#createReloader(clients);
    const { reload } = reloader;
    this.#follower = followChanges(reloader, this.#parts.log);
    if (this.#settings.adminTokens.length === 0) {
      this.#parts.log.warn(
        'no admin token is set (ADMIN_TOKEN, ADMIN_TOKENS): no admin API and no metrics',
      );
      return { adminUrl: '', reload, makeConsoleLink: () => undefined };
    }
    this.#consolePage = loadPage('console', this.#config.pagesDir, this.#parts.log);
    const traffic = createTrafficReader(clients.readMetrics, Date.now);
    const parts = this.#appParts(clients, reloader, () => traffic.read());
    const server = createHttpServer(createAdminApp(parts));
    const { adminHost: host, adminPort: port } = this.#config;
    await listen(server, { host, port, variable: 'ADMIN_PORT' });
    this.#close = async () => {
      traffic.stop();
      await drain(server, { deadlineMs: DRAIN_MS, clientStallMs: DRAIN_MS });
    };
    const adminUrl = urlOf(server);
    return { adminUrl, reload, makeConsoleLink: () => this.#makeConsoleLink(adminUrl) };
  }

  /** Asks in the background whether the upstream accepts the credentials, and logs the answer. */
  checkCredentials(): void {
    this.#credentials.check(this.#settings.upstream);
  }

  close(): Promise<void> {
    this.#credentials.stop();
    clearInterval(this.#follower);
    return this.#close();
  }

  #makeConsoleLink(adminUrl: string): string | undefined {
    const [first] = this.#settings.adminTokens;
    const isLocal = isLoopback(new URL(adminUrl).hostname);
    return first === undefined || this.#consolePage === undefined || !isLocal
      ? undefined
      : adminUrl + this.#links.make(first).path;
  }

  #createReloader({ applySettings, workerVersions }: ClientProcesses): Reloader {
    const { store } = this.#parts;
    return createReloader({
      env: this.#config.env,
      initial: this.#settings,
      initiallyChanged: this.#changed,
      readChanged: () => readChangedVariables(store),
      writeChange: (before, change) => writeChange(store, before, change),
      read: (next) => readSettings(next, this.#defaults),
      apply: async (next) => {
        const isChanged = !isDeepStrictEqual(next.upstream, this.#settings.upstream);
        this.#settings = next;
        this.#parts.prices.replace(next);
        await applySettings(next);
        if (isChanged) this.checkCredentials();
      },
      workerVersions,
      log: this.#parts.log,
      onReload: this.#metrics.reloaded,
    });
  }

  #appParts(
    { url, readMetrics, metrics, activity }: ClientProcesses,
    reloader: Reloader,
    readTraffic: () => ReturnType<TrafficReader['read']>,
  ): AdminParts {
    const config = this.#config;
    const { store, prices, upkeep, payments, log } = this.#parts;
    const settings = (): Settings => this.#settings;
    const costs = createLiveCosts(settings);
    const { failed: operationFailed } = this.#operations;
    return {
      operationFailed,
      settingsDesk: reloader,
      metrics,
      activity,
      openMetrics:
        config.tracing === undefined ? undefined : async () => openMetricsOf(await readMetrics()),
      store,
      prices,
      costsAt: costs.at,
      costsAtHome: costs.atHome,
      upstreamModels: () => listUpstreamModels(settings().upstream, config.proxies),
      get defaultLimits() {
        return settings().keyLimits;
      },
      get lowBalance() {
        const { lowBalanceUsd } = settings();
        return lowBalanceUsd === undefined ? undefined : parseUsd(lowBalanceUsd);
      },
      payments,
      reports: (account) => openProviderReports(config, settings().upstream)(account),
      overdraft: config.exchange.overdraft,
      operator: config.customer.operator,
      booksZone: config.customer.booksZone,
      bookkeeping: readBookkeeping(config),
      sendsEvents: config.webhook !== undefined,
      sendsMail: config.customer.sendsMail,
      settings,
      readLinks: createReadLinks(peppersOf(config)),
      keyLinks: createKeyLinks(peppersOf(config)),
      publicUrl: config.publicUrl,
      mailKeyLink: keyLinkMailer(config),
      get adminTokens() {
        return settings().adminTokens;
      },
      get isSimulated() {
        return isSimulated(settings().upstream);
      },
      clientUrl: config.publicUrl ?? (isLoopback(new URL(url).hostname) ? url : undefined),
      consoleLinks: this.#links,
      consolePage: this.#consolePage,
      // Log-ins are rare, so each replica counts its own.
      limiter: createMemoryLimiter(),
      live: {
        ledger: () => upkeep.summary,
        traffic: readTraffic,
        credentials: () => this.#credentials.latest(),
        audits: createAuditJobs(store, Date.now, log, () => {
          operationFailed('startAudit');
        }),
      },
      now: Date.now,
      log,
    };
  }
}

/** Looks for changes that an operator made in another replica, or by the command line. */
function followChanges({ follow }: Reloader, log: Logger): NodeJS.Timeout {
  let isFollowing = false;
  return setInterval(() => {
    if (isFollowing) return;
    isFollowing = true;
    void follow()
      .catch((error: unknown) => {
        // The next time may succeed, and an outage of the database is in the log already.
        if (!(error instanceof StoreUnavailableError)) log.error({ err: error }, 'settings');
      })
      .finally(() => {
        isFollowing = false;
      });
  }, FOLLOW_MS).unref();
}
