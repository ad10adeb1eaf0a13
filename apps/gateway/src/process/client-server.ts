/** The server for clients. Each process that serves has one; several processes may share a port. */

import type { Limiter } from '@gateway/rate-limiter';
import { createActivity } from '../base/activity.js';
import { createByteBudget } from '../base/byte-budget.js';
import { enableMinorCollections, freeMemoryWhenIdle } from '../base/heap-tuning.js';
import type { Config } from '../config/config.js';
import { offeredIds } from '../config/settings.js';
import type { Settings } from '../config/settings.js';
import { RELAY_PATIENCE } from '../exchange/relay/relay.js';
import { createHoldLine } from '../exchange/spending/hold-line.js';
import { createMemberNames } from '../exchange/spending/member-names.js';
import { createRunBudgets } from '../exchange/spending/run-budgets.js';
import { createExports } from '../http/exports.js';
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
import { createPageSessions } from '../ledger/page-sessions.js';
import { createKeyLinks } from '../ledger/key-links.js';
import { createReadLinks } from '../ledger/read-links.js';
import { createAccountMetrics } from '../observe/account-metrics.js';
import { createMetrics } from '../observe/metrics.js';
import type { Metrics } from '../observe/metrics.js';
import { startNetworkWatch } from '../observe/leaks/network-watch.js';
import { withRefusalEvents } from '../observe/notifications/upstream-refused.js';
import { createRequestRecorder } from '../observe/requests/request-recorder.js';
import type { RequestRecorder } from '../observe/requests/request-recorder.js';
import { withRequestRecord } from '../observe/requests/with-request-record.js';
import { createTelemetry } from '../observe/telemetry.js';
import type { Telemetry } from '../observe/telemetry.js';
import { openTracing } from '../observe/tracing/open-tracing.js';
import { createRefusalWitness } from '../upstream/refusal-witness.js';
import { createApp } from './app.js';
import type { AppParts } from './app.js';
import type { SharedWithClients } from './gateway.js';
import { SettingsInForce } from './settings-in-force.js';
import type { SettingsParts } from './settings-in-force.js';

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
/** Shorter than the deadline, so that strangers who do not read cannot delay a stop. */
const DRAIN_STALL_MS = 10_000;

export async function startClientServer(
  config: Config,
  parts: ClientServerParts,
): Promise<ClientServer> {
  const isTuned = config.tuning !== 'none';
  if (isTuned) enableMinorCollections();
  const { store, registry, log } = parts;
  const activity = createActivity();
  const stopShrinking = isTuned
    ? freeMemoryWhenIdle(activity, { ownsProcess: parts.ownsProcess === true })
    : () => undefined;
  const memory = createByteBudget(config.bodyMemoryBytes);
  const metrics = createMetrics(registry, {
    models: offeredIds(parts.settings),
    running: () => activity.running,
    pendingSettlements: () => store.pendingSettlements(),
    reservedBytes: () => memory.reservedBytes,
    exemplars: config.tracing === undefined ? 'none' : 'traces',
  });
  const limiter = await parts.openLimiter(metrics);
  const tracing = await openTracing(config.tracing, { registry, log, now: Date.now });
  const accountMetrics = createAccountMetrics(registry);
  const inForce = new SettingsInForce(config, parts.settings, {
    accountMetrics,
    metrics,
    log,
    now: Date.now,
  });
  const recorder =
    config.requestRecord.days === 0
      ? undefined
      : createRequestRecorder({ store, registry, log, now: Date.now });
  const networks = startNetworkWatch({
    store,
    mode: config.leakEvents,
    pepper: peppersOf(config).pepper,
    log,
    now: Date.now,
  });
  const opened = { activity, memory, limiter, tracing, networks };
  const appParts: AppParts = Object.assign(
    inForce.parts,
    lastingParts(config, parts, opened, {
      telemetry: openTelemetry(parts, metrics, recorder),
      chargedTo: accountMetrics.onCharge,
    }),
  );
  async function closeAll(): Promise<void> {
    stopShrinking();
    await inForce.close();
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
    settingsVersion: () => inForce.version,
    applySettings: (next) => {
      inForce.apply(next);
    },
    announceStop() {
      activity.announceStop();
    },
    async drain() {
      activity.startDraining();
      const isWorking = (): boolean => activity.running > 0;
      await drain(server, {
        deadlineMs: DRAIN_DEADLINE_MS,
        clientStallMs: DRAIN_STALL_MS,
        isWorking,
      });
      await recorder?.stop();
      await networks?.stop();
      return { abandoned: activity.running };
    },
    close: closeAll,
  };
}

function openTelemetry(
  { store, log }: ClientServerParts,
  metrics: Metrics,
  recorder: RequestRecorder | undefined,
): Telemetry {
  const telemetry = withRefusalEvents(createTelemetry(log, metrics), store, log);
  return recorder === undefined ? telemetry : withRequestRecord(telemetry, recorder, Date.now);
}

/** The members of the app that stay the same while this process runs. */
function lastingParts(
  config: Config,
  { store, log, responses, payments }: ClientServerParts,
  opened: Pick<AppParts, 'activity' | 'memory' | 'limiter' | 'tracing' | 'networks'>,
  { telemetry, chargedTo }: Pick<AppParts, 'telemetry' | 'chargedTo'>,
): Omit<AppParts, keyof SettingsParts> {
  return {
    ...config.app,
    ...config.exchange,
    ...config.customer,
    ...opened,
    store,
    refusals: createRefusalWitness(Date.now),
    limits: createRefusalWitness(Date.now),
    patience: RELAY_PATIENCE,
    telemetry,
    log,
    maxBodyBytes: config.maxBodyBytes,
    responses: responses && {
      memory: responses,
      pending: createByteBudget(config.responseMemory?.maxBytes ?? 0),
      hasChatThinking: config.chat.reasoning !== 'none',
    },
    chargedTo,
    payments,
    readLinks: createReadLinks(peppersOf(config)),
    members: createMemberNames(store),
    runBudgets: createRunBudgets(store),
    holdLine: createHoldLine(),
    pageSessions: createPageSessions(peppersOf(config)),
    keyLinks: createKeyLinks(peppersOf(config)),
    exports: createExports(),
    customerPage: loadPage('customer', config.pagesDir, log),
    now: Date.now,
  };
}
