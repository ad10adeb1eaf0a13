/**
 * One of several processes that serve clients. It opens PostgreSQL and Redis itself. Without them,
 * it reads the embedded ledger itself, and charges and counts limits by calls to the primary.
 */

import cluster from 'node:cluster';
import process from 'node:process';
import type { Logger } from 'pino';
import { openLog } from '../../base/log.js';
import type { Config } from '../../config/config.js';
import { openDataDir } from '../../config/data-dir.js';
import { openLimiter } from '../../exchange/open-limiter.js';
import { forgettingWithKeys } from '../../exchange/response-memory/forget-with-keys.js';
import { openResponseMemory } from '../../exchange/response-memory/open-response-memory.js';
import { embeddedLedger, openStoreWhenReachable } from '../../ledger/open-store.js';
import type { RequestLedger } from '../../ledger/open-store.js';
import { createRegistry } from '../../observe/registry.js';
import type { WorkerMetrics } from '../../observe/registry.js';
import { openPayments } from '../../payments/open-payments.js';
import { startClientServer } from '../client-server.js';
import type { ClientServer } from '../client-server.js';
import { exitCodeOf, failureText } from '../exit-codes.js';
import type { PrimaryCalls, WorkerCalls } from './rpc-interfaces.js';
import { closeRpc, openRpc, reach } from './rpc.js';
import type { RpcTo } from './rpc.js';
import { remoteLedger } from './shared-ledger.js';
import { remoteLimiter } from './shared-limits.js';
import { remoteResponses } from './shared-responses.js';

/** Serves until the primary stops it, the primary ends, or a signal ends this process alone. */
export function runWorker(config: Config): void {
  let serving: Serving | undefined;
  let stopped: Promise<{ readonly abandoned: number }> | undefined;

  function stop(): Promise<{ readonly abandoned: number }> {
    stopped ??= serving?.stop() ?? Promise.resolve({ abandoned: 0 });
    return stopped;
  }

  function end(): void {
    void stop().finally(() => process.exit());
  }

  const calls: WorkerCalls = {
    async serve(as) {
      try {
        serving = await serve(config, as, primary);
        return { outcome: 'serving', url: serving.url };
      } catch (error) {
        return { outcome: 'failed', message: failureText(error), exitCode: exitCodeOf(error) };
      }
    },
    applySettings(settings) {
      serving?.applySettings(settings);
      return serving?.settingsVersion();
    },
    settingsVersion: () => serving?.settingsVersion(),
    announceStop: () => serving?.announceStop(),
    drain: stop,
    metrics: () => serving?.metrics() ?? Promise.resolve([]),
    connections: () => serving?.connections(),
    shedConnections: (count) => serving?.shedConnections(count),
  };
  const primary = openRpc<PrimaryCalls>(calls, {
    send: (messages) => process.send?.(messages, undefined, undefined, () => undefined),
    onMessages: (listener) => {
      process.on('message', listener);
    },
  });
  cluster.worker?.once('disconnect', () => {
    // By default Node ends a worker at once when its primary ends. This worker finishes its
    // requests first.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    closeRpc(primary);
    end();
  });
  process.on('SIGTERM', end);
  // A terminal sends these signals to every process of the group. A worker ignores them, because
  // the primary stops it and sends it new settings.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
}

interface Serving extends Pick<
  ClientServer,
  'url' | 'connections' | 'shedConnections' | 'announceStop' | 'applySettings' | 'settingsVersion'
> {
  metrics(): Promise<WorkerMetrics>;
  stop(): Promise<{ readonly abandoned: number }>;
}

async function serve(
  config: Config,
  { slot, settings }: Parameters<WorkerCalls['serve']>[0],
  primary: RpcTo<PrimaryCalls>,
): Promise<Serving> {
  const { log, close: closeLog } = openLog(config.logLevel, { isShared: true });
  const registry = createRegistry(String(slot));
  const ledger = await openLedger(config, primary, log);
  const responses =
    config.responseMemory === undefined || config.redisUrls.length > 0
      ? await openResponseMemory(config, log)
      : remoteResponses(primary);
  const server = await startClientServer(config, {
    log,
    store: forgettingWithKeys(ledger.store, responses),
    responses,
    settings,
    registry,
    ownsProcess: true,
    payments: await openPayments(config, { ledger: ledger.store, registry, log }),
    openLimiter: (metrics) => openLimiter(config, { log, metrics }, () => remoteLimiter(primary)),
  });
  return {
    url: server.url,
    connections: server.connections,
    shedConnections: server.shedConnections,
    settingsVersion: server.settingsVersion,
    applySettings: (next) => {
      server.applySettings(next);
    },
    announceStop: () => {
      server.announceStop();
    },
    metrics: () => registry.getMetricsAsJSON(),
    async stop() {
      const drained = await server.drain();
      await ledger.close();
      await server.close();
      responses?.close();
      await closeLog();
      return drained;
    },
  };
}

async function openLedger(
  config: Config,
  primary: RpcTo<PrimaryCalls>,
  log: Logger,
): Promise<{ readonly store: RequestLedger; close(): Promise<void> | void }> {
  if (config.databaseUrl !== undefined) {
    const store = await openStoreWhenReachable(config, undefined, log);
    return { store, close: () => store.close() };
  }
  const { openEmbeddedReader } = await import('@gateway/balance-store/embedded');
  const reader = openEmbeddedReader({
    ...embeddedLedger(config, openDataDir(config.dataDir)),
    renew: (credential) => reach(primary, () => primary.renewHash(credential)),
  });
  const store = remoteLedger(primary, reader);
  return { store, close: store.close };
}
