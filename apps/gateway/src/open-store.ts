/** Opens the ledger that the configuration names. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import type { Config } from './config.js';
import type { DataDir } from './data-dir.js';

/** The part of a balance store that requests need. */
export type RequestLedger = Pick<
  BalanceStore,
  | 'findKeyByCredential'
  | 'getKey'
  | 'readStanding'
  | 'placeHold'
  | 'releaseHold'
  | 'settle'
  | 'quarantine'
  | 'findEntry'
  | 'listEntries'
  | 'ping'
  | 'pendingSettlements'
>;

const DATABASE_PATIENCE_MS = 60_000;
const DATABASE_RETRY_MS = 1_000;

export function openStore(config: Config, dataDir: DataDir | undefined): Promise<BalanceStore> {
  if (dataDir !== undefined) {
    const pepper = config.keyPepper ?? dataDir.secret('key-pepper');
    return openEmbeddedStore({ dataDir: dataDir.databaseDir, pepper });
  }
  return openPostgresStore({
    connectionString: config.databaseUrl ?? '',
    pepper: config.keyPepper ?? '',
  });
}

/** Opens the ledger, and waits up to a minute for a database that is still starting. */
export async function openStoreWhenReachable(
  config: Config,
  dataDir: DataDir | undefined,
  log: Logger,
): Promise<BalanceStore> {
  for (let waitedMs = 0; ; waitedMs += DATABASE_RETRY_MS) {
    try {
      return await openStore(config, dataDir);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || waitedMs >= DATABASE_PATIENCE_MS)
        throw error;
      log.warn({ reason: error.message }, 'waiting for the database');
      await sleep(DATABASE_RETRY_MS);
    }
  }
}
