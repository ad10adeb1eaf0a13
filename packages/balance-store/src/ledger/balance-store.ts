/**
 * The only implementation of {@link BalanceStore}, over any database with PostgreSQL's protocol.
 */

import { createHash } from 'node:crypto';
import { types } from 'node:util';
import { PrismaPg } from '@prisma/adapter-pg';
import type { Pool } from 'pg';
import { Committer } from '../committer.js';
import { pepperIdOf } from '../credential.js';
import { PepperMismatchError } from '../errors.js';
import { PrismaClient } from '../generated/client.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import { StoreUnavailableError } from '../store.js';
import type { BalanceStore, TopUp, TopUpOutcome } from '../store.js';
import { auditLedger } from './audit.js';
import { TOP_UP_PREFIX, createEntryReader } from './entries.js';
import { createHoldKeeper } from './holds.js';
import { createKeyAdmin } from './key-admin.js';
import { createKeyFinder } from './key-finder.js';
import { migrate } from './migrate.js';
import {
  READ_TIMEOUT_MS,
  WRITE_TIMEOUT_MS,
  isUniqueViolation,
  queryRows,
  reachingDatabase,
} from './query.js';
import { sealEntries } from './seals.js';
import { createSettleDriver, insertQuarantine } from './settle-driver.js';
import { createStandingReader } from './standing-reader.js';
import { summarizeLedger } from './summary.js';

export interface DatabaseStoreOptions {
  /** For requests: admission reads, settlements, top-ups. */
  readonly hot: Pool;
  /** For operators. May be the same pool. */
  readonly admin: Pool;
  readonly pepper: string;
  /** Batches of settlements in flight at once. */
  readonly lanes: number;
  readonly holdLifetimeMs?: number | undefined;
  /** Closes the pools and the database beneath them. */
  readonly closeDatabase: () => Promise<void>;
}

/** After settling has failed for this long, new requests are refused: they could not be charged. */
const SETTLE_GRACE_MS = 2_000;

/**
 * Migrates the database and opens the store.
 *
 * @throws {StoreUnavailableError} when the database cannot be reached.
 * @throws {SchemaTooNewError} @throws {PepperMismatchError}
 */
export async function openDatabaseStore(options: DatabaseStoreOptions): Promise<BalanceStore> {
  const { hot, admin, pepper, lanes, holdLifetimeMs, closeDatabase } = options;
  if (pepper === '') throw new RangeError('the pepper is empty');
  for (const pool of new Set([hot, admin])) {
    // A broken connection emits `error`, which ends the process if there is no listener. The
    // listeners do nothing: a query on that connection rejects by itself, and the pool opens a new
    // connection.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
  }
  await reachingDatabase(async () => {
    await migrate(admin);
    await assertPepper(admin, pepper);
  });

  const prisma = new PrismaClient({ adapter: new PrismaPg(admin) });
  const committer = new Committer({ driver: createSettleDriver(hot), lanes });
  const finder = createKeyFinder(hot, pepper, () => performance.now());
  const keyAdmin = createKeyAdmin({ prisma, pepper, onChange: finder.forget });
  const { close: closeHolds, ...holds } = createHoldKeeper({
    hot,
    admin,
    lifetimeMs: holdLifetimeMs,
  });
  const readStanding = createStandingReader(hot);
  let closing: Promise<void> | undefined;

  function assertSettling(): void {
    if (committer.failingForMs <= SETTLE_GRACE_MS) return;
    const { lastFault } = committer;
    const reason = types.isNativeError(lastFault) ? lastFault.message : String(lastFault);
    throw new StoreUnavailableError(
      `the ledger's database cannot record charges at the moment: ${reason}`,
      { cause: lastFault },
    );
  }

  return {
    ...keyAdmin,
    ...createEntryReader(prisma),
    findKeyByCredential: finder.find,
    async readStanding(keyId) {
      assertSettling();
      return readStanding(keyId);
    },
    settle: (settlement, { deadlineMs }) =>
      committer.settle(settlement, { deadlineMs }).finally(() => {
        // The settlement is charged or given up, so its hold no longer needs renewal.
        holds.abandonHold(settlement.requestId);
      }),
    ...holds,
    async placeHold(hold) {
      assertSettling();
      return holds.placeHold(hold);
    },
    quarantine: (usage) => reachingDatabase(() => insertQuarantine(hot, usage, null)),
    topUp: (topUp) => reachingDatabase(() => topUpOnce(hot, topUp)),
    sealEntries: ({ all = false } = {}) => reachingDatabase(() => sealEntries(admin, all)),
    summarize: () => reachingDatabase(() => summarizeLedger(admin)),
    audit: (auditOptions = {}) => reachingDatabase(() => auditLedger(admin, auditOptions)),
    ping: () =>
      reachingDatabase(async () => {
        await queryRows(hot, { text: 'SELECT 1', timeoutMs: READ_TIMEOUT_MS });
      }),
    pendingSettlements: () => committer.pending,
    close() {
      closing ??= committer
        .close()
        .then(closeHolds)
        .then(() => prisma.$disconnect())
        .then(closeDatabase);
      return closing;
    },
  };
}

async function topUpOnce(pool: Pool, topUp: TopUp, attempt = 1): Promise<TopUpOutcome> {
  const { topUpId, keyId, amount, actor } = topUp;
  if (amount <= 0n) throw new RangeError('a top-up must be above zero');
  try {
    const [row] = await queryRows<TopUpRow>(pool, {
      text: 'SELECT outcome, balance::text, is_active AS "isActive" FROM top_up($1, $2, $3, $4, $5)',
      values: [TOP_UP_PREFIX + topUpId, keyId, numericFromUnits(amount), hashOf(topUp), actor],
      timeoutMs: WRITE_TIMEOUT_MS,
    });
    if (row === undefined)
      throw new StoreUnavailableError('the database did not answer the top-up');
    if (row.balance === null) return { outcome: row.outcome };
    const { outcome, balance, isActive } = row;
    return { outcome, balance: unitsFromNumeric(balance), isActive };
  } catch (error) {
    // The same id was inserted for another key at the same moment. The second attempt finds that
    // entry.
    if (isUniqueViolation(error) && attempt === 1) return topUpOnce(pool, topUp, 2);
    throw error;
  }
}

type TopUpRow =
  | { readonly outcome: 'conflict' | 'unknown_key'; readonly balance: null }
  | {
      readonly outcome: 'credited' | 'replayed';
      readonly balance: string;
      readonly isActive: boolean;
    };

/** The hash leaves out the actor, so that another operator may replay the same top-up. */
function hashOf({ keyId, amount }: TopUp): Buffer {
  const contents = JSON.stringify(['top_up', keyId, amount.toString()]);
  return createHash('sha256').update(contents).digest();
}

async function assertPepper(pool: Pool, pepper: string): Promise<void> {
  const [found] = await queryRows<{ has_keys: boolean; has_own: boolean }>(pool, {
    text:
      'SELECT EXISTS (SELECT FROM api_key) AS has_keys, ' +
      'EXISTS (SELECT FROM api_key WHERE pepper_id = $1) AS has_own',
    values: [pepperIdOf(pepper)],
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  if (found?.has_keys === true && !found.has_own) {
    throw new PepperMismatchError(
      'all keys in this database were issued under another pepper and cannot be found with this one: ' +
        'open the store with the pepper that they were issued under',
    );
  }
}
