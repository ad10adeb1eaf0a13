/** The server for clients. Each process that serves has one; several processes may share a port. */

import type { Registry } from 'prom-client';
import type { PriceTable } from '@gateway/billing';
import type { Limiter } from '@gateway/rate-limiter';
import { createActivity } from './activity.js';
import { createByteBudget } from './byte-budget.js';
import { createApp } from './app.js';
import type { Config } from './config.js';
import { enableMinorCollections, freeMemoryOfStart, freeMemoryWhenIdle } from './heap-tuning.js';
import { connectionsOn, createHttpServer, drain, listen, urlOf } from './http-server.js';
import type { RequestLedger } from './open-store.js';
import type { Log } from './log.js';
import { createRequestPreparer } from './preparation/preparer.js';
import { RELAY_PATIENCE } from './relay/relay.js';
import type { Services } from './services.js';
import { createMetrics } from './telemetry/metrics.js';
import type { Metrics } from './telemetry/metrics.js';
import { createTelemetry } from './telemetry/telemetry.js';
import { createUpstreamClient } from './upstream/client.js';
import { openUpstream } from './upstream/open-upstream.js';
import type { UpstreamTarget } from './upstream/open-upstream.js';

export interface ClientServer {
  readonly url: string;
  readonly services: Services;
  /** How many client connections are open. */
  readonly connections: () => number;
  /** Closes this many connections, each after its next response, so that the clients reconnect. */
  readonly shedConnections: (count: number) => void;
  /**
   * Stops accepting connections. Requests in progress, and new ones on open connections, are still
   * answered and charged, up to the deadline.
   */
  drain(): Promise<{ readonly abandoned: number }>;
  /** Frees what requests used. Close the ledger first: it may still be writing charges. */
  close(): Promise<void>;
}

export interface ClientServerParts extends Log {
  readonly store: RequestLedger;
  readonly prices: PriceTable;
  readonly upstream: UpstreamTarget;
  readonly registry: Registry;
  readonly openLimiter: (metrics: Metrics) => Limiter | Promise<Limiter>;
}

const DRAIN_DEADLINE_MS = 120_000;

export async function startClientServer(
  config: Config,
  parts: ClientServerParts,
): Promise<ClientServer> {
  enableMinorCollections();
  const { store, prices, registry, log } = parts;
  const upstream = createUpstreamClient(openUpstream(parts.upstream));
  const activity = createActivity();
  const stopShrinking = freeMemoryWhenIdle(activity);
  const memory = createByteBudget(config.bodyMemoryBytes);
  const metrics = createMetrics(registry, {
    models: prices.list().map(({ id }) => id),
    running: () => activity.running,
    pendingSettlements: () => store.pendingSettlements(),
    reservedBytes: () => memory.reservedBytes,
  });
  const limiter = await parts.openLimiter(metrics);
  const preparer = createRequestPreparer(
    { models: prices.list(), allow: config.allowedFeatures, overdraft: config.overdraft },
    { maxBodyBytes: config.maxBodyBytes },
  );
  const services: Services = {
    store,
    limiter,
    prices,
    upstream,
    patience: RELAY_PATIENCE,
    telemetry: createTelemetry(log, metrics, parts.writeLine),
    log,
    activity,
    maxBodyBytes: config.maxBodyBytes,
    memory,
    preparer,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    overdraft: config.overdraft,
    now: Date.now,
  };
  async function closeAll(): Promise<void> {
    stopShrinking();
    await upstream.close();
    await preparer.close();
    await limiter.close();
  }
  const server = createHttpServer(createApp(services));
  try {
    freeMemoryOfStart();
    await listen(server, { host: config.host, port: config.port });
  } catch (error) {
    await closeAll();
    throw error;
  }

  return {
    url: urlOf(server),
    services,
    connections: () => connectionsOn(server),
    shedConnections: (count) => {
      activity.shedConnections(count);
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
