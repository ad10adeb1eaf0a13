/**
 * A gateway of several processes behind one port. The primary has what there can be only one of, and
 * serves no client: the embedded ledger, limits without Redis, the simulator, the operator's API.
 */

import { AggregatorRegistry } from 'prom-client';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { openBackOffice } from '../back-office.js';
import type { RunningGateway } from '../compose.js';
import type { Config } from '../config.js';
import { openLog } from '../log.js';
import { createRegistry } from '../telemetry/registry.js';
import { startCrew } from './crew.js';
import type { Crew } from './crew.js';
import { shareLedger } from './shared-ledger.js';
import { shareLimits } from './shared-limits.js';

/** Metrics of the primary itself carry this label. */
const PRIMARY_LABEL = 'primary';

export async function startGatewayWithWorkers(config: Config): Promise<RunningGateway> {
  const { log, writeLine } = openLog(config.logLevel, { isShared: true });
  const registry = createRegistry(PRIMARY_LABEL);
  const office = await openBackOffice(config, { log, writeLine }, registry);
  const { store, prices, upstream } = office;
  const limiter = createMemoryLimiter();
  let crew: Crew | undefined;
  let isDraining = false;

  async function metrics(): Promise<string> {
    const own = await registry.getMetricsAsJSON();
    const all = [...((await crew?.metrics()) ?? []), own];
    return AggregatorRegistry.aggregate(all).metrics();
  }

  async function stop(): Promise<{ readonly abandoned: number }> {
    isDraining = true;
    const stopped = (await crew?.stop()) ?? { abandoned: 0 };
    await office.closeAdmin();
    await office.closeLedger();
    limiter.close();
    await office.closeSimulator();
    log.flush();
    return stopped;
  }

  try {
    crew = await startCrew({
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
    const adminUrl = await office.openAdmin({
      metrics: { contentType: registry.contentType, metrics },
      activity: {
        get isDraining() {
          return isDraining;
        },
      },
    });
    const { dataDir, isSimulated } = office;
    return { url: crew.url, adminUrl, store, prices, log, dataDir, isSimulated, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
