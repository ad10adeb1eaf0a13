/**
 * Starts a gateway of several processes behind one port (docs/decisions/0014). The primary does not
 * serve clients. It owns the parts that can exist only once: the embedded ledger, limits in memory,
 * the simulator, the admin API.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { openSharedParts } from '../shared-parts.js';
import type { RunningGateway } from '../single-process.js';
import type { Config } from '../config.js';
import { openLog } from '../log.js';
import { createRegistry } from '../telemetry/registry.js';
import { openResponseMemory } from '../response-memory/open-response-memory.js';
import type { WorkerMetrics } from './rpc-interfaces.js';
import { startWorkers } from './supervisor.js';
import type { Workers } from './supervisor.js';
import { shareLedger } from './shared-ledger.js';
import { shareLimits } from './shared-limits.js';
import { shareResponses } from './shared-responses.js';

/** The value of the label `worker` on the primary's own metrics. */
const PRIMARY_LABEL = 'primary';

export async function startGatewayWithWorkers(config: Config): Promise<RunningGateway> {
  const { log, writeLine } = openLog(config.logLevel, { isShared: true });
  const registry = createRegistry(PRIMARY_LABEL);
  const responses = await openResponseMemory(config, log);
  const shared = await openSharedParts(config, { log, writeLine }, registry, responses);
  const { store, prices, settings } = shared;
  const limiter = createMemoryLimiter();
  let workers: Workers | undefined;
  let isStopping = false;

  async function readMetrics(): Promise<WorkerMetrics[]> {
    const own = await registry.getMetricsAsJSON();
    return [...((await workers?.metrics()) ?? []), own];
  }

  async function metrics(): Promise<string> {
    return AggregatorRegistry.aggregate(await readMetrics()).metrics();
  }

  async function stop(): Promise<{ readonly abandoned: number }> {
    isStopping = true;
    if (config.drainDelayMs > 0) {
      workers?.announceStop();
      await sleep(config.drainDelayMs);
    }
    return close();
  }

  async function close(): Promise<{ readonly abandoned: number }> {
    const stopped = (await workers?.stop()) ?? { abandoned: 0 };
    await shared.closeAdmin();
    await shared.closeLedger();
    limiter.close();
    responses?.close();
    await shared.closeSimulator();
    log.flush();
    return stopped;
  }

  try {
    workers = await startWorkers({
      size: config.workers,
      serve() {
        const ledger = shareLedger(store);
        const limits = shareLimits(limiter);
        return {
          calls: { ...ledger.calls, ...limits.calls, ...shareResponses(responses).calls },
          leave() {
            ledger.leave();
            limits.leave();
          },
        };
      },
      settings,
      log,
    });
    const { applySettings, settingsVersions } = workers;
    const reloader = shared.openReloader({
      apply: applySettings,
      workerVersions: settingsVersions,
    });
    const adminUrl = await shared.openAdmin({
      metrics: { contentType: registry.contentType, metrics },
      reloader,
      readMetrics,
      activity: {
        get isStopping() {
          return isStopping;
        },
      },
    });
    const { dataDir, isSimulated } = shared;
    const { url } = workers;
    const { reload } = reloader;
    return { url, adminUrl, store, prices, log, dataDir, isSimulated, reload, stop };
  } catch (error) {
    await close();
    throw error;
  }
}
