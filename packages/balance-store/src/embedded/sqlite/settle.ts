/**
 * Settles a batch of charges in one transaction, by the same rules as the SQL functions
 * `settle_batch` and `write_offs` on PostgreSQL.
 */

import type { AccountStatus } from '../../account.js';
import { settlementHash } from '../../ledger/contents-hash.js';
import { detailOf, storable } from '../../ledger/quarantine-text.js';
import { rateTextsOf } from '../../ledger/rate-texts.js';
import { capUses, windowStartsAt } from '../../ledger/cap-windows.js';
import type { WindowBases, WindowStarts } from '../../ledger/cap-windows.js';
import { CAP_MEMBERS, capsOf, windowBasesOf } from '../../ledger/stored-key.js';
import { CAP_PERIODS } from '../../key.js';
import type { CapPeriod, KeyCaps, KeyState } from '../../key.js';
import { countsOf } from '../../ledger-entry.js';
import type { QuarantinedUsage, Settlement, SettleOutcome } from '../../store.js';
import type { Connection } from './connection.js';
import { insertEvent } from './events.js';
import { readCaps } from './keys.js';
import { ZERO, assertNotNegative, textOf, unitsOf } from './money.js';
import { standingOf, stateIn } from './standing.js';
import type { StandingParts } from './standing.js';
import { select } from './tables.js';
import type { SqliteRow } from './tables.js';
import { createUsageFold } from './usage-fold.js';

/** An account's row, to which the charges of the batch are added. */
interface AccountFold {
  readonly id: string;
  readonly state: AccountStatus;
  readonly lowBalance: bigint | null;
  readonly before: { readonly balance: bigint; readonly uncovered: bigint };
  balance: bigint;
  spent: bigint;
  writtenOff: bigint;
  uncovered: bigint;
  seq: number;
  /** Sum of the account's live holds that the batch has not deleted; read when first needed. */
  held: bigint | undefined;
  isChanged: boolean;
}

/** A key's row, to which the charges of the batch are added. */
interface KeyFold {
  readonly id: string;
  readonly account: AccountFold;
  readonly state: KeyState;
  readonly expiresAt: number | null;
  readonly caps: KeyCaps;
  /** What the key used in the current window of each cap. */
  readonly used: Record<CapPeriod, bigint>;
  readonly windows: WindowBases;
  readonly before: { readonly spent: bigint; readonly writtenOff: bigint };
  spent: bigint;
  writtenOff: bigint;
  isChanged: boolean;
}

/** The ledger's entry for a request id. */
interface Known {
  readonly hash: string;
  readonly balanceAfter: bigint;
  readonly writtenOff: bigint;
}

/** The outcome of one charge, without the standing, which is read after the whole batch. */
type Settled =
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'settled' | 'replayed'; readonly key: KeyFold; readonly entry: Known };

/**
 * @throws {RangeError} when a charge is malformed or its key is unknown: then none of the batch is
 * settled.
 */
export function settleBatch(
  connection: Connection,
  batch: readonly Settlement[],
): readonly SettleOutcome[] {
  return connection.write(() => {
    const now = Date.now();
    const fold = createFold(connection, now);
    const settled = batch.map((settlement) => fold.settle(settlement));
    fold.finish();
    return settled.map((one): SettleOutcome => {
      if (one.outcome === 'conflict') return one;
      const { outcome, key, entry } = one;
      return {
        outcome,
        balance: entry.balanceAfter,
        isActive: standingOf(partsOf(key), now) === 'active',
        writtenOff: entry.writtenOff,
      };
    });
  });
}

function partsOf({ account, state, expiresAt }: KeyFold): StandingParts {
  const { balance, uncovered } = account;
  return { state: stateIn(account.state, state), expiresAt, balance, uncovered };
}

function createFold(connection: Connection, now: number) {
  const accounts = new Map<string, AccountFold>();
  const keys = new Map<string, KeyFold>();
  const usage = createUsageFold(connection, now);
  const windows = windowStartsAt(now);
  // Usually there are no holds at all. Then no charge needs to look for its own.
  const areHolds = connection.get('SELECT 1 FROM hold LIMIT 1') !== undefined;

  function keyOf(keyId: string): KeyFold {
    let key = keys.get(keyId);
    if (key === undefined) {
      key = readKey(connection, keyId, { accounts, windows });
      keys.set(keyId, key);
    }
    return key;
  }

  /** Deletes the request's hold. @returns the held amount, if the hold was this key's */
  function takeHold(requestId: string, key: KeyFold): HoldTaken | undefined {
    if (!areHolds) return undefined;
    const hold = connection.get<HoldRow>(
      'DELETE FROM hold WHERE request_id = ? RETURNING account_id, key_id, amount, orphaned_at',
      requestId,
    );
    if (hold === undefined) return undefined;
    const isLive = hold.orphaned_at === null;
    const amount = isLive ? unitsOf(hold.amount) : 0n;
    const account = accounts.get(hold.account_id);
    if (account?.held !== undefined) account.held -= amount;
    return hold.key_id === key.id ? { amount } : undefined;
  }

  /**
   * The part of a guarded charge that the balance does not cover. Caps do not count here: they
   * refuse requests before they are sent, and a holder may change them while a request runs.
   */
  function writeOffOf(amount: bigint, account: AccountFold, own: HoldTaken | undefined): bigint {
    account.held ??= heldBy(connection, account.id);
    const ownHold = own?.amount ?? 0n;
    // The balance always covers the request's own hold, unless unguarded charges or adjustments
    // have lowered it.
    const byBalance = max(0n, min(account.balance, max(ownHold, account.balance - account.held)));
    return max(0n, amount - byBalance);
  }

  function settle(settlement: Settlement): Settled {
    const { requestId, keyId, amount, overdraft } = settlement;
    assertStorable(settlement);
    const key = keyOf(keyId);
    const { account } = key;
    const hold = takeHold(requestId, key);
    const isGuarded = overdraft === 'none' || hold !== undefined;
    const writtenOff = isGuarded ? writeOffOf(amount, account, hold) : 0n;
    const charged = amount - writtenOff;
    const hash = settlementHash(settlement);
    const entry = { hash, balanceAfter: account.balance - charged, writtenOff };
    const isNew = insertCharge(connection, settlement, account, entry, now);
    if (!isNew) return settledBefore(settlement, key, hash);
    account.balance -= charged;
    account.spent += charged;
    account.writtenOff += writtenOff;
    account.uncovered += writtenOff;
    account.seq += 1;
    account.isChanged = true;
    key.spent += charged;
    key.writtenOff += writtenOff;
    for (const period of CAP_PERIODS) key.used[period] += amount;
    key.isChanged = true;
    usage.add(settlement, account.id, writtenOff);
    return { outcome: 'settled', key, entry };
  }

  function settledBefore(settlement: Settlement, key: KeyFold, hash: string): Settled {
    const { requestId, keyId, amount } = settlement;
    const entry = readKnown(connection, requestId);
    if (entry.hash === hash) return { outcome: 'replayed', key, entry };
    connection.run(
      'INSERT INTO settle_conflict (request_id, input_hash, key_id, amount, created_at) ' +
        'VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      requestId,
      Buffer.from(hash, 'hex'),
      keyId,
      textOf(amount),
      now,
    );
    return { outcome: 'conflict' };
  }

  return {
    settle,
    finish(): void {
      for (const account of accounts.values()) {
        if (!account.isChanged) continue;
        updateAccount(connection, account, now);
        writeBalanceEvents(connection, account, now);
      }
      for (const key of keys.values()) {
        if (!key.isChanged) continue;
        updateKey(connection, key, windows, now);
        writeCapEvents(connection, key, now);
      }
      usage.finish();
    },
  };
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

interface AccountRow {
  readonly state: AccountStatus;
  readonly low_balance: string | null;
  readonly balance: string;
  readonly spent: string;
  readonly written_off: string;
  readonly uncovered: string;
  readonly seq: number;
}

function readAccount(connection: Connection, id: string): AccountFold {
  const row = connection.get<AccountRow>(
    'SELECT state, low_balance, balance, spent, written_off, uncovered, seq FROM account WHERE id = ?',
    id,
  );
  if (row === undefined) throw new Error(`a key belongs to account ${id}, which does not exist`);
  const [balance, uncovered] = [unitsOf(row.balance), unitsOf(row.uncovered)];
  return {
    id,
    state: row.state,
    lowBalance: row.low_balance === null ? null : unitsOf(row.low_balance),
    before: { balance, uncovered },
    balance,
    spent: unitsOf(row.spent),
    writtenOff: unitsOf(row.written_off),
    uncovered,
    seq: row.seq,
    held: undefined,
    isChanged: false,
  };
}

const KEY_MEMBERS = ['accountId', 'state', 'expiresAt', ...CAP_MEMBERS] as const;
type KeyRow = Pick<SqliteRow<'ApiKey'>, (typeof KEY_MEMBERS)[number]>;
const SELECT_KEY = `SELECT ${select('ApiKey', KEY_MEMBERS)} FROM api_key WHERE id = ?`;

function readKey(
  connection: Connection,
  id: string,
  {
    accounts,
    windows,
  }: { readonly accounts: Map<string, AccountFold>; readonly windows: WindowStarts },
): KeyFold {
  const row = connection.get<KeyRow>(SELECT_KEY, id);
  if (row === undefined) throw new RangeError('no such API key');
  let account = accounts.get(row.accountId);
  if (account === undefined) {
    account = readAccount(connection, row.accountId);
    accounts.set(account.id, account);
  }
  const counted = readCaps(row);
  const { caps, used } = capsOf(counted, windows);
  const { spent, writtenOff } = counted;
  return {
    id,
    account,
    state: row.state as KeyState,
    expiresAt: row.expiresAt,
    caps,
    used: { ...used },
    windows: windowBasesOf(counted),
    before: { spent, writtenOff },
    spent,
    writtenOff,
    isChanged: false,
  };
}

function updateAccount(connection: Connection, account: AccountFold, now: number): void {
  connection.run(
    'UPDATE account SET balance = ?, spent = ?, written_off = ?, uncovered = ?, seq = ?, ' +
      'last_charged_at = ? WHERE id = ?',
    textOf(account.balance),
    textOf(account.spent),
    textOf(account.writtenOff),
    textOf(account.uncovered),
    account.seq,
    now,
    account.id,
  );
}

const UPDATE_KEY =
  'UPDATE api_key SET spent = ?, written_off = ?, day_start = ?, day_base = ?, ' +
  'week_start = ?, week_base = ?, month_start = ?, month_base = ?, last_charged_at = ? ' +
  'WHERE id = ?';

function updateKey(connection: Connection, key: KeyFold, current: WindowStarts, now: number): void {
  const { starts, bases } = key.windows;
  const usedBefore = key.before.spent + key.before.writtenOff;
  const baseOf = (period: CapPeriod) =>
    textOf(starts[period] === current[period] ? bases[period] : usedBefore);
  connection.run(
    UPDATE_KEY,
    textOf(key.spent),
    textOf(key.writtenOff),
    current.day,
    baseOf('day'),
    current.week,
    baseOf('week'),
    current.month,
    baseOf('month'),
    now,
    key.id,
  );
}

/**
 * Writes an event once when the balance becomes low or the account exhausted, not for each charge
 * after that.
 */
function writeBalanceEvents(connection: Connection, account: AccountFold, now: number): void {
  const { id, lowBalance, before, balance, uncovered } = account;
  const event = { accountId: id, keyId: undefined };
  if (lowBalance !== null && before.balance > lowBalance && balance <= lowBalance) {
    const data = { balance: textOf(balance), threshold: textOf(lowBalance) };
    insertEvent(connection, { ...event, type: 'balance.low', data }, now);
  }
  const wasFunded = before.balance > 0n && before.uncovered === 0n;
  if (wasFunded && (balance <= 0n || uncovered > 0n)) {
    const data = { balance: textOf(balance) };
    insertEvent(connection, { ...event, type: 'balance.exhausted', data }, now);
  }
}

function writeCapEvents(connection: Connection, key: KeyFold, now: number): void {
  const more = key.spent + key.writtenOff - key.before.spent - key.before.writtenOff;
  for (const { period, cap, used } of capUses(key.caps, key.used)) {
    if (used < cap || used - more >= cap) continue;
    const data = { period, cap: textOf(cap), used: textOf(used) };
    const { id, account } = key;
    insertEvent(connection, { type: 'cap.reached', accountId: account.id, keyId: id, data }, now);
  }
}

function readKnown(connection: Connection, id: string): Known {
  const row = connection.get<{
    readonly input_hash: Uint8Array;
    readonly balance_after: string;
    readonly written_off: string;
  }>('SELECT input_hash, balance_after, written_off FROM ledger WHERE id = ?', id);
  if (row === undefined) throw new Error(`the ledger has no entry ${id}`);
  return {
    hash: Buffer.from(row.input_hash).toString('hex'),
    balanceAfter: unitsOf(row.balance_after),
    writtenOff: unitsOf(row.written_off),
  };
}

// A constant: the prepared statement is found by this text. Inside the function the text would be
// built and hashed again for each charge.
const INSERT_CHARGE =
  'INSERT INTO ledger (id, account_id, seq, kind, delta, balance_after, written_off, ' +
  'input_hash, created_at, key_id, model, input_tokens, output_tokens, cache_read_input_tokens, ' +
  'cache_creation_input_tokens, cache_creation_1h_input_tokens, input_rate, output_rate, ' +
  'cache_read_rate, cache_write_5m_rate, cache_write_1h_rate, endpoint, streamed, ' +
  'upstream_id, upstream_account, remarks) ' +
  "VALUES (?, ?, ?, 'charge', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
  'ON CONFLICT (id) DO NOTHING';

/**
 * Adds the next entry of the account. No query looks for the request id first, because almost every
 * charge is new.
 *
 * @returns `false`, and nothing is inserted, if the ledger has an entry with this request id
 */
function insertCharge(
  connection: Connection,
  settlement: Settlement,
  account: AccountFold,
  { hash, balanceAfter, writtenOff }: Known,
  now: number,
): boolean {
  const { usage, upstreamId, upstreamAccount, remarks } = settlement;
  const rates = rateTextsOf(settlement.rates).numerics;
  const inserted = connection.run(
    INSERT_CHARGE,
    settlement.requestId,
    account.id,
    account.seq + 1,
    textOf(writtenOff - settlement.amount),
    textOf(balanceAfter),
    writtenOff === 0n ? ZERO : textOf(writtenOff),
    Buffer.from(hash, 'hex'),
    now,
    settlement.keyId,
    settlement.model,
    ...countsOf(usage),
    rates.inputPerToken,
    rates.outputPerToken,
    rates.cacheReadPerToken,
    rates.cacheWrite5mPerToken,
    rates.cacheWrite1hPerToken,
    settlement.endpoint,
    settlement.streamed ? 1 : 0,
    upstreamId ?? null,
    upstreamAccount ?? null,
    remarks === undefined ? null : storable(remarks),
  );
  return inserted === 1;
}

/** Sum of the account's live holds. */
export function heldBy(connection: Connection, accountId: string): bigint {
  return connection
    .all<{ readonly amount: string }>(
      'SELECT amount FROM hold WHERE account_id = ? AND orphaned_at IS NULL',
      accountId,
    )
    .reduce((sum, { amount }) => sum + unitsOf(amount), 0n);
}

const MAX_TOKENS = 2 ** 31 - 1;

/**
 * Refuses values that PostgreSQL would refuse, because a ledger can be moved there.
 *
 * @throws {RangeError}
 */
function assertStorable(settlement: Settlement): void {
  const { requestId, keyId, model, endpoint, upstreamId, upstreamAccount, usage, amount } =
    settlement;
  assertNotNegative(amount);
  for (const count of countsOf(usage)) {
    if (!Number.isInteger(count) || count < 0 || count > MAX_TOKENS) {
      throw new RangeError(`${String(count)} is not a number of tokens`);
    }
  }
  for (const text of [requestId, keyId, model, endpoint, upstreamId, upstreamAccount]) {
    if (text?.includes('\0') === true) throw new RangeError('a text contains NUL');
  }
}

/** Durably sets a settlement aside. A second call changes nothing. */
export function quarantineSettlement(
  connection: Connection,
  settlement: Settlement,
  reason: string,
): void {
  insertQuarantine(connection, { ...settlement, reason }, detailOf(settlement));
}

export function insertQuarantine(
  connection: Connection,
  { requestId, keyId, model, reason }: QuarantinedUsage,
  detail: string | null = null,
): void {
  connection.write(() => {
    connection.run(
      'INSERT INTO quarantine (request_id, key_id, model, reason, detail, created_at) ' +
        'VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ...[requestId, keyId, model, reason].map(storable),
      detail,
      Date.now(),
    );
  });
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
