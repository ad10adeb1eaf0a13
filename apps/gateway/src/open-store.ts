/** Opens the ledger that the configuration names. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
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

/**
 * Who opens the ledger. `gateway`: owns an embedded ledger and applies migrations. `migration`: the
 * same, without serving. `command`: works beside a running gateway, and changes no schema.
 */
export type LedgerUser = 'gateway' | 'migration' | 'command';

/** Only what is used is loaded: the client of PostgreSQL takes as much memory as all the rest. */
export async function openStore(
  config: Config,
  dataDir: DataDir | undefined,
  user: LedgerUser,
): Promise<BalanceStore> {
  const migrate = user !== 'command';
  if (dataDir !== undefined) {
    const { openEmbeddedStore } = await import('@gateway/balance-store/embedded');
    const access = user === 'command' ? 'guest' : 'owner';
    return openEmbeddedStore({ ...embeddedLedger(config, dataDir), access, migrate });
  }
  const { openPostgresStore } = await import('@gateway/balance-store/postgres');
  return openPostgresStore({
    connectionString: config.databaseUrl ?? '',
    pepper: config.keyPepper ?? '',
    migrate,
  });
}

export function embeddedLedger(
  { keyPepper }: Config,
  dataDir: DataDir,
): { readonly dataDir: string; readonly pepper: string } {
  return { dataDir: dataDir.path, pepper: keyPepper ?? dataDir.secret('key-pepper') };
}

/** Opens the ledger to serve, and waits up to a minute for a database that is still starting. */
export async function openStoreWhenReachable(
  config: Config,
  dataDir: DataDir | undefined,
  log: Logger,
): Promise<BalanceStore> {
  for (let waitedMs = 0; ; waitedMs += DATABASE_RETRY_MS) {
    try {
      return await openStore(config, dataDir, 'gateway');
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || waitedMs >= DATABASE_PATIENCE_MS)
        throw error;
      log.warn({ reason: error.message }, 'waiting for the database');
      await sleep(DATABASE_RETRY_MS);
    }
  }
}
