/** The one place where the parts meet: configuration in, a serving gateway out. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { defaultPriceTable, parsePriceTable } from '@gateway/billing';
import type { PriceTable } from '@gateway/billing';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import type { Limiter } from '@gateway/rate-limiter';
import { createRedisLimiter } from '@gateway/rate-limiter/redis';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import { createActivity } from './activity.js';
import { createAdminApp } from './admin-app.js';
import { createApp } from './app.js';
import { ConfigError } from './config.js';
import type { Config } from './config.js';
import { openDataDir } from './data-dir.js';
import type { DataDir } from './data-dir.js';
import { close, createHttpServer, listen, urlOf } from './http-server.js';
import { RELAY_PATIENCE } from './relay/relay.js';
import type { Services } from './services.js';
import { createMetrics } from './telemetry/metrics.js';
import type { Metrics } from './telemetry/metrics.js';
import { createTelemetry } from './telemetry/telemetry.js';
import { startUpkeep } from './upkeep.js';
import { createUpstreamClient } from './upstream/client.js';

export interface RunningGateway {
  readonly url: string;
  readonly adminUrl: string;
  readonly services: Services;
  /** Present when the embedded default is in use. */
  readonly dataDir: DataDir | undefined;
  readonly isSimulated: boolean;
  /** Takes no new work, lets what runs finish and be charged, then closes everything. */
  stop(): Promise<{ readonly abandoned: number }>;
}

const DRAIN_DEADLINE_MS = 120_000;
/** While draining: connections whose response is done are closed this often. */
const IDLE_SWEEP_MS = 100;
/** The library writes 16 KiB at most at once. */
const LOG_PIECE_BYTES = 15_000;
/** A line is seen this late at most; those of a process that is killed meanwhile are lost. */
const LOG_FLUSH_MS = 500;
const DATABASE_PATIENCE_MS = 60_000;
const DATABASE_RETRY_MS = 1_000;
const SIMULATOR_KEY = 'simulator';

export async function startGateway(config: Config): Promise<RunningGateway> {
  const logFile = pino.destination({
    dest: process.stdout.fd,
    // Lines are written many at a time: a write for each would cost as much as the rest of a request.
    sync: false,
    minLength: LOG_PIECE_BYTES,
    periodicFlush: LOG_FLUSH_MS,
  });
  const log = pino(
    { level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    logFile,
  );
  const prices = loadPriceTable(config.priceTablePath);
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const store = await openStoreWhenReachable(config, dataDir, log);
  const simulator =
    config.upstream === undefined
      ? await startUpstreamSimulator({ apiKey: SIMULATOR_KEY })
      : undefined;
  const upstream = createUpstreamClient(
    config.upstream ?? { url: simulator?.url ?? '', apiKey: SIMULATOR_KEY },
  );
  const activity = createActivity();
  const upkeep = startUpkeep(store, log);
  const metrics = createMetrics({
    running: () => activity.running,
    pendingSettlements: () => store.pendingSettlements(),
    orphanedHolds: () => upkeep.orphanedHolds,
  });
  const limiter = openLimiter(config, log, metrics);
  const services: Services = {
    store,
    limiter,
    prices,
    upstream,
    patience: RELAY_PATIENCE,
    telemetry: createTelemetry(log, metrics, (line) => {
      logFile.write(line);
    }),
    log,
    activity,
    maxBodyBytes: config.maxBodyBytes,
    trustedProxies: config.trustedProxies,
    allowedFeatures: config.allowedFeatures,
    overdraft: config.overdraft,
    now: Date.now,
  };
  const server = createHttpServer(createApp(services));
  await listen(server, { host: config.host, port: config.port });

  const adminToken = config.adminToken ?? dataDir?.secret('admin-token');
  const adminServer =
    adminToken === undefined
      ? undefined
      : createHttpServer(
          createAdminApp({
            store,
            prices,
            defaultLimits: config.keyLimits,
            adminToken,
            metrics,
            activity,
            log,
          }),
        );
  if (adminServer !== undefined && adminToken !== undefined) {
    await listen(adminServer, { host: config.host, port: config.adminPort });
    dataDir?.announceAdmin({ url: urlOf(adminServer), token: adminToken });
  } else {
    log.warn('ADMIN_TOKEN is not set: no admin API and no metrics');
  }

  return {
    url: urlOf(server),
    adminUrl: adminServer === undefined ? '' : urlOf(adminServer),
    services,
    dataDir,
    isSimulated: simulator !== undefined,
    async stop() {
      const idle = activity.drain(DRAIN_DEADLINE_MS);
      const closed = close(server);
      const sweep = setInterval(() => {
        server.closeIdleConnections();
      }, IDLE_SWEEP_MS);
      const { abandoned } = await idle;
      clearInterval(sweep);
      server.closeAllConnections();
      await closed;
      if (adminServer !== undefined) {
        const adminClosed = close(adminServer);
        adminServer.closeAllConnections();
        await adminClosed;
      }
      dataDir?.withdrawAdmin();
      await upkeep.stop();
      await upstream.close();
      await store.close();
      await limiter.close();
      await simulator?.close();
      log.flush();
      return { abandoned };
    },
  };
}

/** The ledger that the configuration names. The command line opens it too, when no gateway runs. */
export function openStore(config: Config, dataDir: DataDir | undefined): Promise<BalanceStore> {
  if (dataDir !== undefined) {
    const pepper = config.keyPepper ?? dataDir.secret('key-pepper');
    return openEmbeddedStore({ dataDir: dataDir.databaseDir, pepper });
  }
  return openPostgresStore({
    connectionString: config.databaseUrl ?? '',
    pepper: config.keyPepper ?? '',
  });
}

/** A database that starts together with the gateway, or restarts, is waited for. */
async function openStoreWhenReachable(
  config: Config,
  dataDir: DataDir | undefined,
  log: Logger,
): Promise<BalanceStore> {
  for (let waitedMs = 0; ; waitedMs += DATABASE_RETRY_MS) {
    try {
      return await openStore(config, dataDir);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || waitedMs >= DATABASE_PATIENCE_MS)
        throw error;
      log.warn({ reason: error.message }, 'waiting for the database');
      await sleep(DATABASE_RETRY_MS);
    }
  }
}

export function loadPriceTable(path: string | undefined): PriceTable {
  if (path === undefined) return defaultPriceTable();
  try {
    return parsePriceTable(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new ConfigError([
      `PRICE_TABLE: ${error instanceof Error ? error.message : 'unreadable'}`,
    ]);
  }
}

function openLimiter(config: Config, log: Logger, metrics: Metrics): Limiter {
  if (config.redisUrls.length === 0) return createMemoryLimiter();
  const redis = connectRedis(config.redisUrls);
  // Each failed call is dealt with where it was made; without a listener the process would stop.
  redis.on('error', (error: Error) => {
    log.warn({ reason: error.message }, 'redis connection');
  });
  return createRedisLimiter({
    redis,
    replicas: config.replicas,
    onStateChange: ({ deciding, ...cause }) => {
      metrics.limitsDecidedBy(deciding);
      log.warn({ deciding, reason: 'error' in cause ? String(cause.error) : undefined }, 'limits');
    },
  });
}

function connectRedis([first = '', ...others]: readonly string[]): Redis | Cluster {
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // The limiter waits far less; this only bounds what piles up on a connection that hangs.
    commandTimeout: 10_000,
  };
  if (others.length === 0) return new Redis(first, options);
  // Nodes that are discovered are asked with the same credentials.
  const { username, password, protocol } = new URL(first);
  return new Cluster([first, ...others], {
    enableOfflineQueue: false,
    redisOptions: {
      ...options,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
  });
}
