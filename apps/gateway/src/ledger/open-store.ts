/** Opens the ledger that the configuration names. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore, Budgets, ChargingState, Members } from '@gateway/balance-store';
import { MINUTE_MS } from '../base/times.js';
import { ConfigError } from '../config/config.js';
import type { Config } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import type { DataDir } from '../config/data-dir.js';

/** The reads that the endpoints for the holder of a key make. */
type LedgerRead =
  | 'findEntry'
  | 'listEntries'
  | 'readUsage'
  | 'readSpending'
  | 'spendingNamedSince'
  | 'getMember'
  | 'listMembers'
  | 'getGroup'
  | 'readBalanceAt'
  | 'listClosedMonths'
  | 'listStatements'
  // The first reader of a closed month may be the customer.
  | 'issueStatement';

/** Writes the record of requests, and reads it for the holder of a key. */
type RequestAccess = 'recordRequests' | 'listRequests' | 'sumRequests' | 'requestsRecordedFrom';

/** The operations of a key with the scope `manage` on the keys of its account. */
type KeyManagement =
  | 'listKeys'
  | 'create'
  | 'updateKey'
  | 'suspendKey'
  | 'resumeKey'
  | 'revokeKey'
  | 'rotateKey'
  | 'recordLink'
  | 'updateAccount'
  | 'bookDue';

/** What decides who spends, and what is left of the budgets that apply; and how that is managed. */
type SpenderAccess = keyof Members | keyof Budgets;

/** The methods that payments need: see `payments/payment-ledger.ts`. */
type PaymentAccess = (typeof PAYMENT_LEDGER)[number];

/** The methods that a worker calls, unchanged, in the process that owns the ledger. */
export const FORWARDED = [
  'findEntry',
  'listEntries',
  'readUsage',
  'readSpending',
  'spendingNamedSince',
  'getMember',
  'listMembers',
  'getGroup',
  'readBalanceAt',
  'listClosedMonths',
  'listStatements',
  'issueStatement',
  'listKeys',
  'create',
  'updateKey',
  'suspendKey',
  'resumeKey',
  'revokeKey',
  'rotateKey',
  'recordLink',
  'updateAccount',
  'bookDue',
  'quarantine',
  'recordEvent',
  'topUp',
  'adjust',
  'reverse',
  'bookFee',
  'getAccount',
  'readUnspent',
  'findEntries',
  'writeDocument',
  'getDocument',
  'listDocuments',
  'recordRequests',
  'listRequests',
  'sumRequests',
  'requestsRecordedFrom',
  'createMember',
  'updateMember',
  'endMember',
  'createGroup',
  'listGroups',
  'updateGroup',
  'createBudget',
  'getBudget',
  'listBudgets',
  'updateBudget',
  'endBudget',
  'raiseBudget',
  'listRaises',
  'listBudgetUses',
  'readBudgets',
  'setRunBudget',
] as const satisfies readonly (keyof BalanceStore)[];

/** The part of a balance store that requests need. */
export type RequestLedger = Pick<
  BalanceStore,
  | 'findKeyByCredential'
  | 'recallKey'
  | 'getKey'
  | 'readStanding'
  | 'placeHold'
  | 'releaseHold'
  | 'abandonHold'
  | 'settleTogether'
  | 'quarantine'
  | PaymentAccess
  | LedgerRead
  | KeyManagement
  | RequestAccess
  | SpenderAccess
  | 'pendingSettlements'
> & {
  /** Whether charges can be recorded at the moment, as far as this process knows. */
  charging(): Pick<ChargingState, 'fault'>;
};

const DATABASE_PATIENCE_MS = MINUTE_MS;
const DATABASE_RETRY_MS = 1_000;

/**
 * The purpose for which the ledger is opened. `gateway`: owns an embedded ledger and applies
 * migrations. `migration`: the same, without serving. `command`: works beside a running gateway,
 * and does not change the schema.
 */
export type LedgerUser = 'gateway' | 'migration' | 'command';

/**
 * Loads only the store that is used: the PostgreSQL client takes as much memory as everything else.
 */
export async function openStore(
  config: Config,
  dataDir: DataDir | undefined,
  user: LedgerUser,
): Promise<BalanceStore> {
  const migrate = user !== 'command';
  const serving = user === 'gateway';
  if (dataDir !== undefined) {
    const { openEmbeddedStore } = await import('@gateway/balance-store/embedded');
    const access = user === 'command' ? 'guest' : 'owner';
    return openEmbeddedStore({
      ...embeddedLedger(config, dataDir),
      access,
      migrate,
      serving,
    });
  }
  const { openPostgresStore } = await import('@gateway/balance-store/postgres');
  return openPostgresStore({
    connectionString: config.databaseUrl ?? '',
    ...peppersOf(config),
    migrate,
    serving,
  });
}

export function embeddedLedger(
  config: Config,
  dataDir: DataDir,
): { readonly dataDir: string; readonly readsIndex: boolean } & Peppers {
  return {
    dataDir: dataDir.path,
    readsIndex: config.tuning !== 'none',
    ...peppersOf(config),
  };
}

export interface Peppers {
  readonly pepper: string;
  readonly previousPepper: string | undefined;
}

/**
 * The secret that credentials are hashed with, and the one that it replaces.
 *
 * @throws {ConfigError} if both are the same, or if the pepper in the data directory is too short.
 * With the embedded ledger they are also the same if only `KEY_PEPPER_PREVIOUS` is set, to the
 * pepper in the data directory, which is still in use.
 */
export function peppersOf({ keyPepper, previousKeyPepper, ...config }: Config): Peppers {
  const pepper = keyPepper ?? ownPepper(config);
  if (pepper === previousKeyPepper) {
    throw new ConfigError([
      'KEY_PEPPER_PREVIOUS: is the pepper in use; set KEY_PEPPER to a new one',
    ]);
  }
  return { pepper, previousPepper: previousKeyPepper };
}

/** The embedded ledger makes its pepper on first use. */
function ownPepper({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
  return databaseUrl === undefined ? openDataDir(dataDir).secret('key-pepper') : '';
}

/**
 * Opens the ledger to serve. While the database is unavailable, tries again up to 60 times, with a
 * second in between.
 */
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

export const PAYMENT_LEDGER = [
  'topUp',
  'adjust',
  'reverse',
  'bookFee',
  'getAccount',
  'bookDue',
  'readUnspent',
  'findEntries',
  'listEntries',
  'recordEvent',
  'writeDocument',
  'getDocument',
  'listDocuments',
] as const satisfies readonly (keyof BalanceStore)[];

export type PaymentLedger = Pick<BalanceStore, (typeof PAYMENT_LEDGER)[number]>;
