/** Reads and writes the rows that a batch of charges changes. */

import type { AccountStatus } from '../../account.js';
import { storable } from '../../ledger/rows/quarantine-text.js';
import { detailColumnsOf } from '../../ledger/rows/charge-details.js';
import { rateTextsOf } from '../../ledger/rows/rate-texts.js';
import { columnOf, membersWithout } from '../../ledger/tables/tables.js';
import type { KeyState } from '../../key.js';
import type { Settlement } from '../../store.js';
import type { Lot } from '../../ledger/books/transaction.js';
import type { FoundBudgets } from './budgets.js';
import type { RecordedSpender } from './spenders.js';
import type { Connection } from './connection.js';
import { textOf, unitsOf } from './money.js';
import { select } from './tables.js';
import type { SqliteRow } from './tables.js';

/** An account's row, to which the charges of the batch are added. */
export interface AccountFold {
  readonly id: string;
  readonly state: AccountStatus;
  readonly lowBalance: bigint | null;
  readonly noticeShares: readonly number[];
  readonly noticeBase: bigint;
  /** Milliseconds since the epoch. */
  readonly nextExpiryAt: number | null;
  /** The time of its last entry, in milliseconds since the epoch; 0 if it has none. */
  lastEntryAt: number;
  before: { readonly balance: bigint; readonly uncovered: bigint; readonly given: bigint };
  balance: bigint;
  spent: bigint;
  writtenOff: bigint;
  uncovered: bigint;
  /** The unspent money that was given. */
  given: bigint;
  /** The part of `spent` that is not taken from the rows of its credits yet. */
  unallotted: bigint;
  /** The rows of its credits, read when first needed. No charge changes them. */
  lots: readonly Lot[] | undefined;
  seq: number;
  readonly labelSalt: string;
  readonly isBudgeted: boolean;
  /** Sum of the account's live holds that the batch has not deleted; read when first needed. */
  held: bigint | undefined;
  isChanged: boolean;
}

/**
 * The rows of earlier batches. They are used as long as nobody else has committed, so that a busy
 * key is read once, not in each batch.
 */
export interface KeptRows {
  readonly accounts: Map<string, AccountFold>;
  readonly keys: Map<string, KeyFold>;
  /** See `recordedSpender`. */
  readonly spenders: Map<string, RecordedSpender>;
  /** See `findBudgets`. */
  readonly budgets: Map<string, FoundBudgets>;
}

export function noRows(): KeptRows {
  return { accounts: new Map(), keys: new Map(), spenders: new Map(), budgets: new Map() };
}

/** A key's row, to which the charges of the batch are added. */
export interface KeyFold {
  readonly id: string;
  readonly account: AccountFold;
  readonly state: KeyState;
  readonly expiresAt: number | null;
  spent: bigint;
  writtenOff: bigint;
  isChanged: boolean;
}

/** The ledger's entry for a request id. */
export interface KnownCharge {
  readonly hash: string;
  readonly balanceAfter: bigint;
  readonly writtenOff: bigint;
}

interface AccountRow {
  readonly state: AccountStatus;
  readonly low_balance: string | null;
  readonly notice_shares: string;
  readonly notice_base: string;
  readonly next_expiry_at: number | null;
  readonly last_entry_at: number;
  readonly balance: string;
  readonly spent: string;
  readonly written_off: string;
  readonly uncovered: string;
  readonly given: string;
  readonly allotted: string;
  readonly label_salt: string;
  readonly budgeted: number;
  readonly seq: number;
}

function readAccount(connection: Connection, id: string): AccountFold {
  const row = connection.get<AccountRow>(
    'SELECT state, low_balance, notice_shares, notice_base, next_expiry_at, balance, spent, ' +
      'written_off, uncovered, given, allotted, label_salt, budgeted, seq, ' +
      'max(coalesce(last_charged_at, 0), coalesce(last_booked_at, 0)) AS last_entry_at ' +
      'FROM account WHERE id = ?',
    id,
  );
  if (row === undefined) throw new Error(`a key belongs to account ${id}, which does not exist`);
  const [balance, uncovered] = [unitsOf(row.balance), unitsOf(row.uncovered)];
  const spent = unitsOf(row.spent);
  return {
    id,
    state: row.state,
    lowBalance: row.low_balance === null ? null : unitsOf(row.low_balance),
    noticeShares: JSON.parse(row.notice_shares) as readonly number[],
    noticeBase: unitsOf(row.notice_base),
    nextExpiryAt: row.next_expiry_at,
    lastEntryAt: row.last_entry_at,
    before: { balance, uncovered, given: unitsOf(row.given) },
    balance,
    spent,
    writtenOff: unitsOf(row.written_off),
    uncovered,
    given: unitsOf(row.given),
    unallotted: spent - unitsOf(row.allotted),
    lots: undefined,
    labelSalt: row.label_salt,
    isBudgeted: row.budgeted === 1,
    seq: row.seq,
    held: undefined,
    isChanged: false,
  };
}

const KEY_MEMBERS = ['accountId', 'state', 'expiresAt', 'spent', 'writtenOff'] as const;
type KeyRow = Pick<SqliteRow<'ApiKey'>, (typeof KEY_MEMBERS)[number]>;
const SELECT_KEY = `SELECT ${select('ApiKey', KEY_MEMBERS)} FROM api_key WHERE id = ?`;

/** The rows of a key and its account at the beginning of a batch: kept, or else read. */
export function keyForBatch(
  connection: Connection,
  id: string,
  { keys, accounts }: Pick<KeptRows, 'keys' | 'accounts'>,
): KeyFold {
  const key = keys.get(id) ?? readKey(connection, id, accounts);
  keys.set(id, key);
  key.isChanged = false;
  return key;
}

/** Call once in each batch in which a key of the account is charged. */
export function beginBatch(account: AccountFold): void {
  const { balance, uncovered, given } = account;
  account.before = { balance, uncovered, given };
  account.held = undefined;
  account.isChanged = false;
}

function readKey(connection: Connection, id: string, accounts: Map<string, AccountFold>): KeyFold {
  const row = connection.get<KeyRow>(SELECT_KEY, id);
  if (row === undefined) throw new RangeError('no such API key');
  let account = accounts.get(row.accountId);
  if (account === undefined) {
    account = readAccount(connection, row.accountId);
    accounts.set(account.id, account);
  }
  return {
    id,
    account,
    state: row.state as KeyState,
    expiresAt: row.expiresAt,
    spent: unitsOf(row.spent),
    writtenOff: unitsOf(row.writtenOff),
    isChanged: false,
  };
}

export function updateAccount(connection: Connection, account: AccountFold, now: number): void {
  account.lastEntryAt = now;
  connection.run(
    'UPDATE account SET balance = ?, spent = ?, written_off = ?, uncovered = ?, given = ?, ' +
      'seq = ?, last_charged_at = ? WHERE id = ?',
    textOf(account.balance),
    textOf(account.spent),
    textOf(account.writtenOff),
    textOf(account.uncovered),
    textOf(account.given),
    account.seq,
    now,
    account.id,
  );
}

const UPDATE_KEY =
  'UPDATE api_key SET spent = ?, written_off = ?, last_charged_at = ? WHERE id = ?';

export function updateKey(
  connection: Connection,
  { id, spent, writtenOff }: KeyFold,
  now: number,
): void {
  connection.run(UPDATE_KEY, textOf(spent), textOf(writtenOff), now, id);
}

export function readKnown(connection: Connection, id: string): KnownCharge {
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

/** The columns of a charge. The others belong to the entries that are booked. */
const CHARGE_MEMBERS = membersWithout('Ledger', [
  'overCap',
  'actor',
  'source',
  'expiresAt',
  'reason',
  'reference',
  'noteId',
  'counter',
  'tax',
  'fee',
  'lots',
  'reverses',
]);

// A constant: the prepared statement is found by this text. Inside the function the text would be
// built and hashed again for each charge.
const INSERT_CHARGE =
  `INSERT INTO ledger (${CHARGE_MEMBERS.map((member) => columnOf('Ledger', member).name).join(', ')}) ` +
  `VALUES (${CHARGE_MEMBERS.map(() => '?').join(', ')}) ON CONFLICT (id) DO NOTHING`;

/**
 * Adds the next entry of the account. No query looks for the request id first, because almost every
 * charge is new.
 *
 * @returns `false`, and nothing is inserted, if the ledger has an entry with this request id
 */
export function insertCharge(
  connection: Connection,
  settlement: Settlement,
  account: AccountFold,
  {
    hash,
    balanceAfter,
    writtenOff,
    given,
    spenderId,
    parts,
  }: KnownCharge & {
    readonly given: bigint;
    readonly spenderId: string | null;
    readonly parts: string | null;
  },
  now: number,
): boolean {
  const details = detailColumnsOf(settlement);
  const rates = rateTextsOf(settlement.rates).numerics;
  const row: Pick<SqliteRow<'Ledger'>, (typeof CHARGE_MEMBERS)[number]> = {
    id: settlement.requestId,
    accountId: account.id,
    seq: account.seq + 1,
    kind: 'charge',
    delta: textOf(writtenOff - settlement.amount),
    balanceAfter: textOf(balanceAfter),
    writtenOff: textOf(writtenOff),
    given: given === 0n ? null : textOf(-given),
    inputHash: Buffer.from(hash, 'hex'),
    createdAt: now,
    keyId: settlement.keyId,
    spenderId,
    parts,
    inputRate: rates.inputPerToken,
    outputRate: rates.outputPerToken,
    cacheReadRate: rates.cacheReadPerToken,
    cacheWrite5mRate: rates.cacheWrite5mPerToken,
    cacheWrite1hRate: rates.cacheWrite1hPerToken,
    ...details,
    streamed: settlement.streamed ? 1 : 0,
    remarks: details.remarks === null ? null : storable(details.remarks),
    cost: details.cost === null ? null : textOf(details.cost),
  };
  return connection.run(INSERT_CHARGE, ...CHARGE_MEMBERS.map((member) => row[member])) === 1;
}
