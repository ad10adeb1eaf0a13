/** The server for clients. Each process that serves has one; several processes may share a port. */

import { isDeepStrictEqual } from 'node:util';
import { parsePriceSchedule } from '@gateway/billing';
import type { PriceTable } from '@gateway/billing';
import type { Limiter } from '@gateway/rate-limiter';
import { createActivity } from '../base/activity.js';
import { createByteBudget } from '../base/byte-budget.js';
import { enableMinorCollections, freeMemoryWhenIdle } from '../base/heap-tuning.js';
import { admittedFeatures } from '../config/admitted-features.js';
import type { Config } from '../config/config.js';
import type { Settings } from '../config/settings.js';
import { isSimulated } from '../config/upstream-target.js';
import type { UpstreamTarget } from '../config/upstream-target.js';
import { createRequestPreparer } from '../exchange/preparation/preparer.js';
import type { RequestPreparer } from '../exchange/preparation/preparer.js';
import { RELAY_PATIENCE } from '../exchange/relay/relay.js';
import {
  connectionLimitsOf,
  connectionsOn,
  createHttpServer,
  drain,
  listen,
  urlOf,
} from '../http/http-server.js';
import { loadPage } from '../http/pages/page-files.js';
import { peppersOf } from '../ledger/open-store.js';
import type { RequestLedger } from '../ledger/open-store.js';
import { createReadLinks } from '../ledger/read-links.js';
import { createAccountMetrics } from '../observe/account-metrics.js';
import { createMetrics } from '../observe/metrics.js';
import type { Metrics } from '../observe/metrics.js';
import { withRefusalEvents } from '../observe/notifications/upstream-refused.js';
import { createTelemetry } from '../observe/telemetry.js';
import { openTracing } from '../observe/tracing/open-tracing.js';
import type { AccountState } from '../upstream/accounts/account-standing.js';
import type { UpstreamClient } from '../upstream/client.js';
import { openUpstream } from '../upstream/open-upstream.js';
import { createRefusalWitness } from '../upstream/refusal-witness.js';
import { createApp } from './app.js';
import type { AppParts } from './app.js';
import type { SharedWithClients } from './gateway.js';

export interface ClientServer {
  readonly url: string;
  readonly appParts: AppParts;
  /** Version of the settings in force. */
  readonly settingsVersion: () => string;
  /** Requests that begin after this call use these settings. Requests in progress keep theirs. */
  readonly applySettings: (settings: Settings) => void;
  /** How many client connections are open. */
  readonly connections: () => number;
  /** Closes this many connections, each after its next response, so that the clients reconnect. */
  readonly shedConnections: (count: number) => void;
  /**
   * Makes `/readyz` answer 503. Requests are accepted as before, until {@link ClientServer.drain}.
   */
  announceStop(): void;
  /**
   * Stops accepting connections. Requests in progress, and new ones on open connections, are still
   * answered and charged, up to the deadline.
   */
  drain(): Promise<{ readonly abandoned: number }>;
  /**
   * Frees the resources that requests used. Close the ledger first: it may still be writing
   * charges.
   */
  close(): Promise<void>;
}

export interface ClientServerParts extends Omit<SharedWithClients, 'store'> {
  readonly store: RequestLedger;
  readonly openLimiter: (metrics: Metrics) => Promise<Limiter>;
  /** Whether nothing else runs in this process; false when absent. */
  readonly ownsProcess?: boolean;
}

const DRAIN_DEADLINE_MS = 120_000;

export async function startClientServer(
  config: Config,
  parts: ClientServerParts,
): Promise<ClientServer> {
  enableMinorCollections();
  const { store, registry, log } = parts;
  let { settings } = parts;
  let schedule = parsePriceSchedule(settings.priceTable);
  const prices = schedule.at(Date.now());
  const activity = createActivity();
  const stopShrinking = freeMemoryWhenIdle(activity, { ownsProcess: parts.ownsProcess === true });
  const memory = createByteBudget(config.bodyMemoryBytes);
  const metrics = createMetrics(registry, {
    models: prices.list().map(({ id }) => id),
    running: () => activity.running,
    pendingSettlements: () => store.pendingSettlements(),
    reservedBytes: () => memory.reservedBytes,
    exemplars: config.tracing === undefined ? 'none' : 'traces',
  });
  const limiter = await parts.openLimiter(metrics);
  const tracing = await openTracing(config.tracing, { registry, log, now: Date.now });
  const accountMetrics = createAccountMetrics(registry);
  function reportState(account: string, state: AccountState): void {
    const before = accountMetrics.onState(account, state);
    if (before === state || (before === undefined && state === 'available')) return;
    log[state === 'refused' ? 'error' : 'warn']({ account, state }, 'upstream account');
  }
  let target = settings.upstream;
  function openTarget(next: UpstreamTarget): UpstreamClient {
    target = next;
    accountMetrics.keepStates('accounts' in next ? next.accounts.map(({ name }) => name) : []);
    return openUpstream(next, {
      proxies: config.proxies,
      processes: config.replicas * config.workers,
      onAnswer: accountMetrics.onAnswer,
      onState(account, state) {
        // Requests that began before a reload still use the accounts of then.
        if (target === next) reportState(account, state);
      },
    });
  }
  const preparerFor = (table: PriceTable): RequestPreparer =>
    createRequestPreparer(
      {
        models: table.list(),
        fees: table.fees,
        allow: admittedFeatures(config, table),
        overdraft: config.overdraft,
        chat: config.chat,
      },
      { maxBodyBytes: config.maxBodyBytes },
    );
  /**
   * A reload replaces members of this object. The earlier ones are not closed, because requests
   * that began with them still use them. Without requests, a preparer has no thread and a pool
   * closes its connections, so both are freed.
   */
  const appParts: { -readonly [Name in keyof AppParts]: AppParts[Name] } = {
    store,
    limiter,
    accountLimits: settings.accountLimits,
    prices,
    pricesUntil: schedule.nextChange(Date.now()),
    changePrices(now) {
      const table = schedule.at(now);
      appParts.prices = table;
      appParts.pricesUntil = schedule.nextChange(now);
      appParts.preparer = preparerFor(table);
      appParts.allowedFeatures = admittedFeatures(config, table);
      metrics.offer(table.list().map(({ id }) => id));
    },
    upstream: openTarget(settings.upstream),
    refusals: createRefusalWitness(Date.now),
    patience: { ...RELAY_PATIENCE, streamSilenceMs: config.streamSilenceMs },
    telemetry: withRefusalEvents(createTelemetry(log, metrics, parts.writeLine), store, log),
    tracing,
    log,
    activity,
    maxBodyBytes: config.maxBodyBytes,
    memory,
    preparer: preparerFor(prices),
    responses: parts.responses && {
      memory: parts.responses,
      pending: createByteBudget(config.responseMemory?.maxBytes ?? 0),
      hasChatThinking: config.chat.reasoning !== 'none',
    },
    chargedTo: accountMetrics.onCharge,
    payments: parts.payments,
    trustedProxies: config.trustedProxies,
    sameKeyInBothHeaders: config.sameKeyInBothHeaders,
    corsOrigins: config.corsOrigins,
    overdraft: config.overdraft,
    allowedFeatures: admittedFeatures(config, prices),
    readLinks: createReadLinks(peppersOf(config)),
    topUpUrl: config.topUpUrl,
    isSimulated: isSimulated(settings.upstream),
    operator: config.operator,
    customerPage: loadPage('customer', config.pagesDir, log),
    now: Date.now,
  };
  async function closeAll(): Promise<void> {
    stopShrinking();
    await appParts.upstream.close();
    await appParts.preparer.close();
    await limiter.close();
    await tracing?.close();
  }
  const server = createHttpServer(createApp(appParts), connectionLimitsOf(config.clientTimes));
  try {
    await listen(server, { host: config.host, port: config.port });
  } catch (error) {
    await closeAll();
    throw error;
  }

  return {
    url: urlOf(server),
    appParts,
    connections: () => connectionsOn(server),
    shedConnections: (count) => {
      activity.shedConnections(count);
    },
    settingsVersion: () => settings.version,
    applySettings(next) {
      if (!isDeepStrictEqual(next.upstream, settings.upstream)) {
        appParts.upstream = openTarget(next.upstream);
        appParts.isSimulated = isSimulated(next.upstream);
      }
      if (!isDeepStrictEqual(next.priceTable, settings.priceTable)) {
        schedule = parsePriceSchedule(next.priceTable);
        appParts.changePrices(Date.now());
      }
      appParts.accountLimits = next.accountLimits;
      settings = next;
    },
    announceStop() {
      activity.announceStop();
    },
    async drain() {
      activity.startDraining();
      const isWorking = (): boolean => activity.running > 0;
      await drain(server, { deadlineMs: DRAIN_DEADLINE_MS, isWorking });
      return { abandoned: activity.running };
    },
    close: closeAll,
  };
}
