/** One of several processes that serve: a front, and a link to what it shares with the others. */

import cluster from 'node:cluster';
import process from 'node:process';
import { exitCodeOf, failureText } from '../cli/exit.js';
import type { Config } from '../config.js';
import { openFront } from '../front.js';
import type { Front } from '../front.js';
import { openStoreWhenReachable } from '../ledger.js';
import { openRedisLimiter } from '../limits.js';
import { openLog } from '../log.js';
import { loadPriceTable } from '../prices.js';
import { createRegistry } from '../telemetry/registry.js';
import type { PrimaryCalls, WorkerCalls, WorkerMetrics } from './calls.js';
import { closeLink, openLink } from './link.js';
import type { LinkTo } from './link.js';
import { linkedLedger } from './shared-ledger.js';
import { linkedLimiter } from './shared-limits.js';

/** Serves until the primary says stop, or is gone, or this process alone is told to end. */
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
    drain: stop,
    metrics: () => serving?.metrics() ?? Promise.resolve([]),
    connections: () => serving?.connections(),
    shedConnections: (count) => serving?.shedConnections(count),
  };
  const primary = openLink<PrimaryCalls>(calls, {
    send: (messages) => process.send?.(messages, undefined, undefined, () => undefined),
    onMessages: (listener) => {
      process.on('message', listener);
    },
  });
  cluster.worker?.once('disconnect', () => {
    // Node ends a worker at once whose primary is gone; this one finishes what clients wait for.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    closeLink(primary);
    end();
  });
  process.on('SIGTERM', end);
  // A terminal tells every process of a group; the primary tells the workers.
  process.on('SIGINT', () => undefined);
}

interface Serving extends Pick<Front, 'url' | 'connections' | 'shedConnections'> {
  metrics(): Promise<WorkerMetrics>;
  stop(): Promise<{ readonly abandoned: number }>;
}

async function serve(
  config: Config,
  { slot, upstream }: Parameters<WorkerCalls['serve']>[0],
  primary: LinkTo<PrimaryCalls>,
): Promise<Serving> {
  const log = openLog(config.logLevel, { isShared: true });
  const registry = createRegistry(String(slot));
  const prices = loadPriceTable(config.priceTablePath);
  const ownStore =
    config.databaseUrl === undefined
      ? undefined
      : await openStoreWhenReachable(config, undefined, log.log);
  const front = await openFront(config, {
    ...log,
    store: ownStore ?? linkedLedger(primary),
    prices,
    upstream,
    registry,
    openLimiter: (metrics) =>
      config.redisUrls.length === 0
        ? linkedLimiter(primary)
        : openRedisLimiter(
            { urls: config.redisUrls, processes: config.replicas * config.workers },
            log.log,
            metrics,
          ),
  });
  return {
    url: front.url,
    connections: front.connections,
    shedConnections: front.shedConnections,
    metrics: () => registry.getMetricsAsJSON(),
    async stop() {
      const drained = await front.drain();
      await ownStore?.close();
      await front.close();
      log.log.flush();
      return drained;
    },
  };
}
