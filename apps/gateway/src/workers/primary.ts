/**
 * Starts a gateway of several processes behind one port (docs/decisions/0014). The primary serves
 * no client. It has the parts of which there can be only one: the embedded ledger, limits without
 * Redis, the simulator, the admin API.
 */

import { AggregatorRegistry } from 'prom-client';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { openSharedParts } from '../shared-parts.js';
import type { RunningGateway } from '../single-process.js';
import type { Config } from '../config.js';
import { openLog } from '../log.js';
import { createRegistry } from '../telemetry/registry.js';
import { startWorkers } from './supervisor.js';
import type { Workers } from './supervisor.js';
import { shareLedger } from './shared-ledger.js';
import { shareLimits } from './shared-limits.js';

/** Metrics of the primary itself carry this label. */
const PRIMARY_LABEL = 'primary';

export async function startGatewayWithWorkers(config: Config): Promise<RunningGateway> {
  const { log, writeLine } = openLog(config.logLevel, { isShared: true });
  const registry = createRegistry(PRIMARY_LABEL);
  const shared = await openSharedParts(config, { log, writeLine }, registry);
  const { store, prices, upstream } = shared;
  const limiter = createMemoryLimiter();
  let workers: Workers | undefined;
  let isDraining = false;

  async function metrics(): Promise<string> {
    const own = await registry.getMetricsAsJSON();
    const all = [...((await workers?.metrics()) ?? []), own];
    return AggregatorRegistry.aggregate(all).metrics();
  }

  async function stop(): Promise<{ readonly abandoned: number }> {
    isDraining = true;
    const stopped = (await workers?.stop()) ?? { abandoned: 0 };
    await shared.closeAdmin();
    await shared.closeLedger();
    limiter.close();
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
          calls: { ...ledger.calls, ...limits.calls },
          leave() {
            ledger.leave();
            limits.leave();
          },
        };
      },
      upstream,
      log,
    });
    const adminUrl = await shared.openAdmin({
      metrics: { contentType: registry.contentType, metrics },
      activity: {
        get isDraining() {
          return isDraining;
        },
      },
    });
    const { dataDir, isSimulated } = shared;
    return { url: workers.url, adminUrl, store, prices, log, dataDir, isSimulated, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
