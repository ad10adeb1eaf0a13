/**
 * How the command line reaches the ledger: PostgreSQL directly; an embedded ledger through the
 * admin API of the gateway that has it open, or by opening it when none runs.
 */

import { request } from 'undici';
import { readConfig } from '../config.js';
import { openDataDir } from '../data-dir.js';
import { openStore } from '../open-store.js';
import { createLocalCaller, createRemoteCaller } from '../operations/callers.js';
import type { CallOperation } from '../operations/operations.js';
import { loadPriceTable } from '../load-prices.js';

const PROBE_TIMEOUT_MS = 2_000;

export async function withOperations<Result>(
  operate: (call: CallOperation) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env);
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const admin = dataDir?.readAdmin();
  if (admin !== undefined && (await isAlive(admin.url))) return operate(createRemoteCaller(admin));

  const prices = loadPriceTable(config.priceTablePath);
  const store = await openStore(config, dataDir);
  try {
    return await operate(createLocalCaller({ store, prices, defaultLimits: config.keyLimits }));
  } finally {
    await store.close();
  }
}

async function isAlive(url: string): Promise<boolean> {
  try {
    const response = await request(new URL('/healthz', url), {
      headersTimeout: PROBE_TIMEOUT_MS,
      bodyTimeout: PROBE_TIMEOUT_MS,
    });
    await response.body.dump();
    return response.statusCode === 200;
  } catch {
    return false;
  }
}
