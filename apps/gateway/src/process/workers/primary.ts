/**
 * Starts a gateway of several processes behind one port (docs/decisions/0014). The primary does not
 * serve clients. It owns the parts that can exist only once: the embedded ledger, limits in memory,
 * the simulator, the admin API.
 */

import { AggregatorRegistry } from 'prom-client';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import type { Config } from '../../config/config.js';
import type { WorkerMetrics } from '../../observe/registry.js';
import { composeGateway } from '../gateway.js';
import type { RunningGateway, SharedWithClients } from '../gateway.js';
import type { ClientProcesses } from '../client-processes.js';
import { shareLedger } from './shared-ledger.js';
import { shareLimits } from './shared-limits.js';
import { shareResponses } from './shared-responses.js';
import { Workers } from './supervisor.js';

/** The value of the label `worker` on the primary's own metrics. */
const PRIMARY_LABEL = 'primary';

export function startGatewayWithWorkers(config: Config): Promise<RunningGateway> {
  return composeGateway(config, {
    label: PRIMARY_LABEL,
    start: (shared) => startClients(config, shared),
  });
}

async function startClients(
  config: Config,
  { store, responses, settings, registry, log }: SharedWithClients,
): Promise<ClientProcesses> {
  const limiter = createMemoryLimiter();
  const workers = new Workers({
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
  const url = await workers.start(config.workers).catch((error: unknown) => {
    limiter.close();
    throw error;
  });
  let isStopping = false;

  async function readMetrics(): Promise<WorkerMetrics[]> {
    const own = await registry.getMetricsAsJSON();
    return [...(await workers.metrics()), own];
  }

  return {
    url,
    applySettings: (next) => workers.applySettings(next),
    workerVersions: () => workers.settingsVersions(),
    readMetrics,
    metrics: {
      contentType: registry.contentType,
      metrics: async () => AggregatorRegistry.aggregate(await readMetrics()).metrics(),
    },
    activity: {
      get isStopping() {
        return isStopping;
      },
    },
    announceStop() {
      isStopping = true;
      workers.announceStop();
    },
    drain() {
      isStopping = true;
      return workers.stop();
    },
    close() {
      limiter.close();
      return Promise.resolve();
    },
  };
}
