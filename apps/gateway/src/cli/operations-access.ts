/**
 * Connects the command line with the ledger. If `ADMIN_URL` is set, it uses the admin API there.
 * Otherwise it opens the ledger itself, whether or not a gateway is running.
 */

import { pino } from 'pino';
import { Registry } from 'prom-client';
import { SchemaTooOldError } from '@gateway/balance-store';
import { readConfig } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import { createLiveCosts, createLivePrices } from '../config/live-prices.js';
import { readCostTable, readPriceTables } from '../config/settings.js';
import { upstreamTarget } from '../config/upstreams-file.js';
import { openStore, peppersOf } from '../ledger/open-store.js';
import { createReadLinks } from '../ledger/read-links.js';
import { createLocalCaller, createRemoteCaller } from '../operator/operations/callers.js';
import type { CallOperation } from '../operator/operations/operations.js';
import { openPayments } from '../payments/open-payments.js';
import { listUpstreamModels } from '../upstream/list-models.js';
import { openProviderReports } from '../upstream/provider-reports/open-provider-reports.js';
import { showEntries } from './progress.js';

export async function withOperations<Result>(
  operate: (call: CallOperation) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env);
  if (config.adminUrl !== undefined) {
    return operate(createRemoteCaller({ url: config.adminUrl, token: config.adminToken ?? '' }));
  }
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const prices = createLivePrices(readPriceTables(config));
  const costs = { costTable: readCostTable(config) };
  const target = upstreamTarget(config);
  const store = await openStore(config, dataDir, 'command').catch((error: unknown) => {
    if (!(error instanceof SchemaTooOldError)) throw error;
    throw new SchemaTooOldError(
      `${error.message}. Run "gateway migrate", or start this version of the gateway`,
      { cause: error },
    );
  });
  try {
    const payments = await openPayments(config, {
      ledger: store,
      registry: new Registry(),
      log: pino({ level: config.logLevel }, pino.destination(2)),
    });
    return await operate(
      createLocalCaller({
        store,
        prices,
        costsAt: createLiveCosts(() => costs),
        upstreamModels:
          target === undefined ? undefined : () => listUpstreamModels(target, config.proxies),
        defaultLimits: config.keyLimits,
        lowBalance: config.lowBalance,
        payments,
        reports: openProviderReports(config, target),
        overdraft: config.overdraft,
        operator: config.operator,
        sendsEvents: config.webhook !== undefined,
        readLinks: createReadLinks(peppersOf(config)),
        live: undefined,
        now: Date.now,
        onProgress: showEntries,
        by: { name: 'cli' },
      }),
    );
  } finally {
    await store.close();
  }
}
