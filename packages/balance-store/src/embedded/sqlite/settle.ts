/**
 * Settles a batch of charges in one transaction, by the same rules as the SQL functions
 * `settle_batch` and `write_offs` on PostgreSQL.
 */

import { chargePartsText } from '../../ledger/rows/charge-parts.js';
import { presentSpender } from '../../ledger/rows/spenders.js';
import { HOUR_MS } from '../../ledger/base/hours.js';
import { givenBetween } from '../../ledger/books/lots.js';
import { settlementHash } from '../../ledger/rows/contents-hash.js';
import type { Settlement, SettleOutcome } from '../../store.js';
import { balanceEvents } from '../../ledger/rules/balance-events.js';
import { redeemedSides } from '../../ledger/rules/sides.js';
import { lotsOf } from './accounts.js';
import { addMoney } from './add-money.js';
import { createBudgetFold, findBudgets } from './budgets.js';
import {
  beginBatch,
  insertCharge,
  keyForBatch,
  noRows,
  readKnown,
  updateAccount,
  updateKey,
} from './charge-rows.js';
import type { AccountFold, KeptRows, KeyFold, KnownCharge } from './charge-rows.js';
import type { Connection } from './connection.js';
import { entryClock } from './entry-clock.js';
import { insertEvent } from './events.js';
import { heldBy } from './holds.js';
import { unitsOf } from './money.js';
import { createSpenderFold } from './spender-fold.js';
import { recordedSpender } from './spenders.js';
import { standingOf, stateIn } from './standing.js';
import type { StandingParts } from './standing.js';
import { insertRow } from './tables.js';
import { createUsageFold } from './usage-fold.js';

/** The outcome of one charge, without the standing, which is read after the whole batch. */
type Settled =
  | { readonly outcome: 'conflict' }
  | {
      readonly outcome: 'settled' | 'replayed';
      readonly key: KeyFold;
      readonly entry: KnownCharge;
    };

/** The rows that a batch changed, as far as the standing of keys follows from them. */
export interface ChangedRows {
  /** With their new funds. */
  readonly accounts: readonly {
    readonly id: string;
    readonly balance: bigint;
    readonly uncovered: bigint;
  }[];
  /** Charged keys of accounts with budgets: what is left of their caps may have changed. */
  readonly budgetedKeyIds: readonly string[];
}

export type SettledBatch =
  | { readonly outcomes: readonly SettleOutcome[]; readonly changed: ChangedRows }
  /**
   * Nothing is settled, because these accounts have credit that has expired. It is not spent: book
   * its expiry, then call again.
   */
  | {
      readonly outcomes: undefined;
      readonly withExpiredCredit: readonly string[];
      /** The time of the batch, as of which it must be booked. */
      readonly at: Date;
    };

/**
 * @throws {RangeError} when the key of a charge is unknown or an amount is out of range: then none
 * of the batch is settled. What else could be wrong with a charge was checked before
 * (`settlement-check.ts`).
 * @param kept - Rows that are as the transaction would read them. The batch adds its rows and
 * changes them, also if it fails: then they must not be used again.
 */
export function settleBatch(
  connection: Connection,
  batch: readonly Settlement[],
  kept = noRows(),
): SettledBatch {
  return connection.write(() => {
    const fold = foldOf(connection, batch, kept);
    const { now } = fold;
    const withExpiredCredit = fold.findExpiredCredit();
    if (withExpiredCredit.length > 0) {
      return { outcomes: undefined, withExpiredCredit, at: new Date(now) };
    }
    const settled = batch.map((settlement) => fold.settle(settlement));
    fold.finish();
    const outcomes = settled.map((one): SettleOutcome => {
      if (one.outcome === 'conflict') return one;
      const { outcome, key, entry } = one;
      return {
        outcome,
        balance: entry.balanceAfter,
        isActive: standingOf(partsOf(key), now) === 'active',
        writtenOff: entry.writtenOff,
      };
    });
    return { outcomes, changed: fold.changed() };
  });
}

/** With the rows of the batch. @param now - No entry of their accounts may be later. */
function foldOf(
  connection: Connection,
  batch: readonly Settlement[],
  kept: KeptRows,
  now = entryClock(connection),
): ChargeFold {
  const fold = new ChargeFold(connection, kept, now);
  const last = fold.read(batch);
  return last > now ? foldOf(connection, batch, kept, last) : fold;
}

function partsOf({ account, state, expiresAt }: KeyFold): StandingParts {
  const { balance, uncovered } = account;
  return { state: stateIn(account.state, state), expiresAt, balance, uncovered };
}

/** Adds charges to the rows of accounts and keys, and writes these at the end. */
class ChargeFold {
  /** The time of its entries. */
  readonly now: number;
  readonly #connection: Connection;
  readonly #kept: KeptRows;
  /** The rows that this batch uses. */
  readonly #accounts = new Map<string, AccountFold>();
  readonly #keys = new Map<string, KeyFold>();
  readonly #usage: ReturnType<typeof createUsageFold>;
  readonly #hasHolds: boolean;
  readonly #spent: ReturnType<typeof createSpenderFold>;
  readonly #budgets: ReturnType<typeof createBudgetFold>;

  constructor(connection: Connection, kept: KeptRows, now: number) {
    this.#connection = connection;
    this.#kept = kept;
    this.now = now;
    this.#usage = createUsageFold(connection, now);
    this.#spent = createSpenderFold(connection, now);
    this.#budgets = createBudgetFold(connection, now);
    this.#hasHolds = connection.get('SELECT 1 FROM hold LIMIT 1') !== undefined;
  }

  /** Reads the rows of the batch. @returns the time of the last entry of their accounts */
  read(batch: readonly Settlement[]): number {
    for (const { keyId } of batch) this.#keyOf(keyId);
    let last = 0;
    for (const { lastEntryAt } of this.#accounts.values()) last = Math.max(last, lastEntryAt);
    return last;
  }

  /**
   * The accounts of the batch with credit that has expired and is not booked. Credit that is held
   * for requests in flight is left to them.
   */
  findExpiredCredit(): readonly string[] {
    const found: string[] = [];
    for (const account of this.#accounts.values()) {
      if (account.nextExpiryAt === null || account.nextExpiryAt > this.now) continue;
      account.held ??= heldBy(this.#connection, account.id);
      if (account.balance > account.held) found.push(account.id);
    }
    return found;
  }

  settle(settlement: Settlement): Settled {
    const { requestId, keyId, amount, overdraft } = settlement;
    const key = this.#keyOf(keyId);
    const { account } = key;
    const hold = this.#takeHold(requestId, key);
    const isGuarded = overdraft === 'none' || hold !== undefined;
    const writtenOff = isGuarded ? this.#writeOffOf(amount, account, hold) : 0n;
    const charged = amount - writtenOff;
    const hash = settlementHash(settlement);
    const given = account.given === 0n ? 0n : this.#givenPartOf(charged, account);
    const named = presentSpender(settlement.spender);
    const recorded =
      named === undefined
        ? undefined
        : recordedSpender(this.#connection, account, named, this.#kept.spenders);
    const spenderId = recorded?.id ?? null;
    const balanceAfter = account.balance - charged;
    const request = { accountId: account.id, keyId, spender: recorded?.spender ?? {} };
    const budgets = account.isBudgeted
      ? findBudgets(this.#connection, request, this.#kept.budgets)
      : undefined;
    const parts = budgets === undefined ? [] : this.#budgets.split(budgets, { ...request, amount });
    const ofSpender = { spenderId, parts: chargePartsText(parts) };
    const entry = { hash, balanceAfter, writtenOff, given, ...ofSpender };
    const isNew = insertCharge(this.#connection, settlement, account, entry, this.now);
    if (!isNew) return this.#settledBefore(settlement, key, hash);
    account.balance -= charged;
    account.spent += charged;
    account.unallotted += charged;
    account.given -= given;
    account.writtenOff += writtenOff;
    account.uncovered += writtenOff;
    account.seq += 1;
    account.isChanged = true;
    key.spent += charged;
    key.writtenOff += writtenOff;
    key.isChanged = true;
    this.#usage.add(settlement, account.id, writtenOff);
    if (spenderId !== null) this.#spent.add(settlement, { account, spenderId, writtenOff });
    if (budgets !== undefined) {
      const { noticeShares } = account;
      this.#budgets.add(budgets, { ...request, noticeShares, amount }, parts);
    }
    return { outcome: 'settled', key, entry };
  }

  finish(): void {
    for (const account of this.#accounts.values()) {
      if (!account.isChanged) continue;
      updateAccount(this.#connection, account, this.now);
      this.#addRedeemed(account);
      for (const event of balanceEvents(account, account.before)) {
        insertEvent(this.#connection, event, this.now);
      }
    }
    for (const key of this.#keys.values()) {
      if (!key.isChanged) continue;
      updateKey(this.#connection, key, this.now);
    }
    this.#usage.finish();
    this.#spent.finish();
    this.#budgets.finish();
  }

  changed(): ChangedRows {
    return {
      accounts: [...this.#accounts.values()]
        .filter(({ isChanged }) => isChanged)
        .map(({ id, balance, uncovered }) => ({ id, balance, uncovered })),
      budgetedKeyIds: [...this.#keys.values()]
        .filter(({ isChanged, account }) => isChanged && account.isBudgeted)
        .map(({ id }) => id),
    };
  }

  #keyOf(keyId: string): KeyFold {
    let key = this.#keys.get(keyId);
    if (key === undefined) {
      key = keyForBatch(this.#connection, keyId, this.#kept);
      this.#keys.set(keyId, key);
      const { account } = key;
      if (!this.#accounts.has(account.id)) {
        beginBatch(account);
        this.#accounts.set(account.id, account);
      }
    }
    return key;
  }

  /** Deletes the request's hold. @returns the held amount, if the hold was this key's */
  #takeHold(requestId: string, key: KeyFold): HoldTaken | undefined {
    if (!this.#hasHolds) return undefined;
    const hold = this.#connection.get<HoldRow>(
      'DELETE FROM hold WHERE request_id = ? RETURNING account_id, key_id, amount, orphaned_at',
      requestId,
    );
    if (hold === undefined) return undefined;
    const isLive = hold.orphaned_at === null;
    const amount = isLive ? unitsOf(hold.amount) : 0n;
    const account = this.#accounts.get(hold.account_id);
    if (account?.held !== undefined) account.held -= amount;
    return hold.key_id === key.id ? { amount } : undefined;
  }

  /**
   * The part of a guarded charge that the balance does not cover. Caps do not count here: they
   * refuse requests before they are sent, and a holder may change them while a request runs.
   */
  #writeOffOf(amount: bigint, account: AccountFold, own: HoldTaken | undefined): bigint {
    account.held ??= heldBy(this.#connection, account.id);
    const ownHold = own?.amount ?? 0n;
    // The balance always covers the request's own hold, unless unguarded charges or adjustments
    // have lowered it.
    const byBalance = max(0n, min(account.balance, max(ownHold, account.balance - account.held)));
    return max(0n, amount - byBalance);
  }

  /** How much of the charge is paid from given money. */
  #givenPartOf(charged: bigint, account: AccountFold): bigint {
    account.lots ??= lotsOf(this.#connection, account.id);
    return givenBetween(account.lots, account.unallotted, account.unallotted + charged);
  }

  #addRedeemed({ id: accountId, before, given }: AccountFold): void {
    if (before.given === given) return;
    const hour = Math.floor(this.now / HOUR_MS);
    addMoney(this.#connection, { accountId, hour }, redeemedSides(before.given - given));
  }

  #settledBefore(settlement: Settlement, key: KeyFold, hash: string): Settled {
    const { requestId, keyId, amount } = settlement;
    const entry = readKnown(this.#connection, requestId);
    if (entry.hash === hash) return { outcome: 'replayed', key, entry };
    const inputHash = Buffer.from(hash, 'hex');
    const conflict = { requestId, inputHash, keyId, amount, createdAt: new Date(this.now) };
    insertRow(this.#connection, 'SettleConflict', conflict, 'ON CONFLICT DO NOTHING');
    return { outcome: 'conflict' };
  }
}

interface HoldTaken {
  readonly amount: bigint;
}

interface HoldRow {
  readonly account_id: string;
  readonly key_id: string;
  readonly amount: string;
  readonly orphaned_at: number | null;
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
