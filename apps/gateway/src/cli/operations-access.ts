/**
 * How the command line reaches the ledger: over the admin API if `ADMIN_URL` says where, otherwise
 * directly, beside a running gateway or without one.
 */

import { SchemaTooOldError } from '@gateway/balance-store';
import { readConfig } from '../config.js';
import { openDataDir } from '../data-dir.js';
import { openStore } from '../open-store.js';
import { createLocalCaller, createRemoteCaller } from '../operations/callers.js';
import type { CallOperation } from '../operations/operations.js';
import { loadPriceTable } from '../load-prices.js';

export async function withOperations<Result>(
  operate: (call: CallOperation) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env);
  if (config.adminUrl !== undefined) {
    return operate(createRemoteCaller({ url: config.adminUrl, token: config.adminToken ?? '' }));
  }
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const prices = loadPriceTable(config.priceTablePath);
  const store = await openStore(config, dataDir, 'command').catch((error: unknown) => {
    if (!(error instanceof SchemaTooOldError)) throw error;
    throw new SchemaTooOldError(
      `${error.message}. Run "gateway migrate", or start the gateway of this version`,
      { cause: error },
    );
  });
  try {
    return await operate(createLocalCaller({ store, prices, defaultLimits: config.keyLimits }));
  } finally {
    await store.close();
  }
}
