/** Starts a gateway in one process. */

import { createMemoryLimiter } from '@gateway/rate-limiter';
import type { Config } from '../config/config.js';
import { openLimiter } from '../exchange/open-limiter.js';
import type { AppParts } from './app.js';
import { startClientServer } from './client-server.js';
import type { ClientServerParts } from './client-server.js';
import { composeGateway } from './gateway.js';
import type { RunningGateway } from './gateway.js';

export async function startGateway(
  config: Config,
  options: Pick<ClientServerParts, 'ownsProcess'> = {},
): Promise<RunningGateway & { readonly appParts: AppParts }> {
  const { clients, ...gateway } = await composeGateway(config, {
    async start(shared) {
      const { log, registry } = shared;
      const server = await startClientServer(config, {
        ...options,
        ...shared,
        openLimiter: (metrics) => openLimiter(config, { log, metrics }, createMemoryLimiter),
      });
      return {
        ...server,
        applySettings: (settings) => Promise.resolve(server.applySettings(settings)),
        workerVersions: () => Promise.resolve([]),
        activity: server.appParts.activity,
        metrics: registry,
        readMetrics: async () => [await registry.getMetricsAsJSON()],
      };
    },
  });
  return { ...gateway, appParts: clients.appParts };
}
