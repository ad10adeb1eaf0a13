/**
 * Implements {@link LedgerTransaction} with the tables of the embedded ledger. Its promises are
 * already settled when returned: the thread does nothing else until the transaction ends.
 */

import type { SQLInputValue } from 'node:sqlite';
import type { CreatedAccount } from '../../account.js';
import type { LedgerArchive } from '../../archive.js';
import type { DocumentWrite, StoredDocument } from '../../document.js';
import type { NewEvent } from '../../event.js';
import type { KeyRecord } from '../../key.js';
import type { CarryRow } from '../../ledger/rows/carry-row.js';
import {
  ACCOUNT_STATE,
  MOVEMENT_MEMBERS,
  changeableColumns,
  lastEntryAt,
  latestOf,
} from '../../ledger/books/transaction.js';
import type {
  AccountRowChange,
  AccountState,
  BookedEntry,
  ClosedMonthRows,
  ExpiringKey,
  KeyCredential,
  KeyRowChange,
  KnownCreation,
  KnownEntry,
  KnownMovement,
  LedgerTransaction,
  Lot,
  NewAccountRow,
  NewKeyRow,
  PersonalText,
  RenewedHash,
  TrailRow,
} from '../../ledger/books/transaction.js';
import type { SpenderRows } from '../../ledger/rows/spender-rows.js';
import type { AllowanceMonth } from '../../ledger/rules/allowance.js';
import type { HashRenewal } from '../../ledger/rules/pepper.js';
import type { Side } from '../../ledger/rules/sides.js';
import { countUsableKeys, getCreatedAccount, lotOf, lotsOf } from './accounts.js';
import { insertArchive, insertCarries } from './archives.js';
import { closedMonthsIn } from './closed-months.js';
import type { Connection } from './connection.js';
import { getDocument, writeDocument } from './documents.js';
import { entryClock } from './entry-clock.js';
import { insertEvent } from './events.js';
import { NOT_REVOKED, getKey, renewHash } from './keys.js';
import { ZERO, unitsOf } from './money.js';
import { addMoney } from './add-money.js';
import { heldBy } from './holds.js';
import { spendersIn } from './spenders.js';
import { appendRow, insertRow, readerOf, select, updateRow } from './tables.js';
import type { SqliteRow } from './tables.js';

const DONE = Promise.resolve();
const readState = readerOf('Account', ACCOUNT_STATE);
const readMovement = readerOf('Ledger', MOVEMENT_MEMBERS);

export class SqliteTransaction implements LedgerTransaction {
  readonly #connection: Connection;
  #now: number;
  readonly months: ClosedMonthRows;
  readonly spenders: SpenderRows;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#now = entryClock(connection);
    this.months = closedMonthsIn(connection);
    this.spenders = spendersIn(connection);
  }

  lockAccounts(accountIds: readonly string[]): Promise<ReadonlyMap<string, AccountState>> {
    const found = [...new Set(accountIds)].flatMap((id) => {
      const row = this.#connection.get<Pick<SqliteRow<'Account'>, (typeof ACCOUNT_STATE)[number]>>(
        `SELECT ${select('Account', ACCOUNT_STATE)} FROM account WHERE id = ?`,
        id,
      );
      return row === undefined ? [] : [readState(row)];
    });
    const last = latestOf(new Date(this.#now), ...found.map(lastEntryAt));
    this.#now = last.getTime();
    return Promise.resolve(new Map(found.map((account) => [account.id, account])));
  }

  now(): Promise<Date> {
    return Promise.resolve(new Date(this.#now));
  }

  saveAccount(account: AccountState): Promise<void> {
    updateRow(this.#connection, 'Account', account.id, changeableColumns(account));
    return DONE;
  }

  heldBy(accountId: string): Promise<bigint> {
    return Promise.resolve(heldBy(this.#connection, accountId));
  }

  countUsableKeys(accountId: string): Promise<number> {
    return Promise.resolve(countUsableKeys(this.#connection, accountId));
  }

  hasKeys(accountId: string, count: number): Promise<boolean> {
    const rows = this.#connection.all<object>(
      `SELECT 1 FROM api_key WHERE account_id = ? AND ${NOT_REVOKED} LIMIT ?`,
      accountId,
      count,
    );
    return Promise.resolve(rows.length >= count);
  }

  findEntry(id: string): Promise<KnownEntry | undefined> {
    const row = this.#connection.get<{
      readonly account_id: string;
      readonly input_hash: Uint8Array;
      readonly balance_after: string;
    }>('SELECT account_id, input_hash, balance_after FROM ledger WHERE id = ?', id);
    return Promise.resolve(
      row === undefined
        ? undefined
        : {
            accountId: row.account_id,
            hash: Buffer.from(row.input_hash).toString('hex'),
            balanceAfter: unitsOf(row.balance_after),
          },
    );
  }

  insertEntry({ hash, ...entry }: BookedEntry): Promise<void> {
    insertRow(this.#connection, 'Ledger', { ...entry, inputHash: Buffer.from(hash, 'hex') });
    return DONE;
  }

  movement(id: string): Promise<KnownMovement | undefined> {
    const row = this.#connection.get<Pick<SqliteRow<'Ledger'>, keyof KnownMovement>>(
      `SELECT ${select('Ledger', MOVEMENT_MEMBERS)} FROM ledger WHERE id = ? AND kind <> 'charge'`,
      id,
    );
    return Promise.resolve(row === undefined ? undefined : readMovement(row));
  }

  isReversed(id: string): Promise<boolean> {
    const sql = 'SELECT 1 FROM ledger WHERE reverses = ?';
    return Promise.resolve(this.#connection.get(sql, id) !== undefined);
  }

  addMoney(accountId: string, hour: number, sides: readonly Side[]): Promise<void> {
    addMoney(this.#connection, { accountId, hour }, sides);
    return DONE;
  }

  accountsToOpen(after: string, limit: number): Promise<readonly string[]> {
    return this.#ids(
      'SELECT id FROM account WHERE NOT opened AND id > ? ORDER BY id LIMIT ?',
      after,
      limit,
    );
  }

  lot(id: string): Promise<Lot | undefined> {
    return Promise.resolve(lotOf(this.#connection, id));
  }

  lotsOf(accountId: string): Promise<readonly Lot[]> {
    return Promise.resolve(lotsOf(this.#connection, accountId));
  }

  saveLot(lot: Lot): Promise<void> {
    const onConflict = 'ON CONFLICT (entry_id) DO UPDATE SET remaining = excluded.remaining';
    insertRow(this.#connection, 'CreditLot', lot, onConflict);
    return DONE;
  }

  accountsWithDueAllowance(
    after: string,
    { start }: AllowanceMonth,
    limit: number,
  ): Promise<readonly string[]> {
    return this.#ids(
      'SELECT id FROM account WHERE allowance IS NOT NULL AND allowance_start < ? ' +
        "AND state = 'active' AND id > ? ORDER BY id LIMIT ?",
      start,
      after,
      limit,
    );
  }

  accountsWithExpiredLots(after: string, limit: number): Promise<readonly string[]> {
    return this.#ids(
      `SELECT DISTINCT account_id AS id FROM credit_lot WHERE remaining <> '${ZERO}' ` +
        'AND expires_at <= ? AND account_id > ? ORDER BY account_id LIMIT ?',
      this.#now,
      after,
      limit,
    );
  }

  findCreation(id: string): Promise<KnownCreation | undefined> {
    const row = this.#connection.get<{
      readonly input_hash: Uint8Array;
      readonly account_id: string;
      readonly key_id: string | null;
    }>('SELECT input_hash, account_id, key_id FROM creation WHERE id = ?', id);
    return Promise.resolve(
      row === undefined
        ? undefined
        : {
            hash: Buffer.from(row.input_hash).toString('hex'),
            accountId: row.account_id,
            keyId: row.key_id,
          },
    );
  }

  insertCreation(id: string, { hash, accountId, keyId }: KnownCreation): Promise<void> {
    const inputHash = Buffer.from(hash, 'hex');
    const createdAt = new Date(this.#now);
    insertRow(this.#connection, 'Creation', { id, inputHash, accountId, keyId, createdAt });
    return DONE;
  }

  isExternalIdTaken(of: 'account' | 'api_key', externalId: string, id: string): Promise<boolean> {
    const sql = `SELECT 1 FROM ${of} WHERE external_id = ? AND id <> ?`;
    return Promise.resolve(this.#connection.get(sql, externalId, id) !== undefined);
  }

  insertAccount(account: NewAccountRow): Promise<void> {
    insertRow(this.#connection, 'Account', account);
    return DONE;
  }

  updateAccount(accountId: string, change: AccountRowChange): Promise<void> {
    updateRow(this.#connection, 'Account', accountId, change);
    return DONE;
  }

  accountRecord(accountId: string): Promise<CreatedAccount | undefined> {
    return Promise.resolve(getCreatedAccount(this.#connection, accountId));
  }

  insertKey(key: NewKeyRow): Promise<void> {
    insertRow(this.#connection, 'ApiKey', key);
    return DONE;
  }

  updateKey(keyId: string, change: KeyRowChange): Promise<void> {
    updateRow(this.#connection, 'ApiKey', keyId, change);
    return DONE;
  }

  keyRecord(keyId: string): Promise<KeyRecord | undefined> {
    return Promise.resolve(getKey(this.#connection, keyId));
  }

  keyIdsOf(accountId: string): Promise<readonly string[]> {
    return this.#ids('SELECT id FROM api_key WHERE account_id = ? ORDER BY id', accountId);
  }

  replaceCredential(
    keyId: string,
    { hint, credentialHmac, pepperId }: KeyCredential,
    previousUntil: Date | null,
  ): Promise<void> {
    const previous =
      previousUntil === null
        ? 'previous_hmac = NULL, previous_pepper_id = NULL'
        : 'previous_hmac = credential_hmac, previous_pepper_id = pepper_id';
    return this.#run(
      `UPDATE api_key SET ${previous}, previous_until = ?, hint = ?, credential_hmac = ?, ` +
        'pepper_id = ? WHERE id = ?',
      previousUntil?.getTime() ?? null,
      hint,
      credentialHmac,
      pepperId,
      keyId,
    );
  }

  renewHash(renewal: HashRenewal): Promise<readonly RenewedHash[]> {
    return Promise.resolve(renewHash(this.#connection, renewal));
  }

  accountsWithExpiringKeys(after: string, before: Date, limit: number): Promise<readonly string[]> {
    return this.#ids(
      `SELECT DISTINCT account_id AS id FROM api_key WHERE ${IS_EXPIRING} ` +
        'AND account_id > ? ORDER BY account_id LIMIT ?',
      this.#now,
      before.getTime(),
      after,
      limit,
    );
  }

  takeExpiringKeys(accountIds: readonly string[], before: Date): Promise<readonly ExpiringKey[]> {
    const keys = accountIds.flatMap((accountId) =>
      this.#connection
        .all<{ readonly id: string; readonly expires_at: number }>(
          'UPDATE api_key SET expiry_notified_at = expires_at ' +
            `WHERE ${IS_EXPIRING} AND account_id = ? RETURNING id, expires_at`,
          this.#now,
          before.getTime(),
          accountId,
        )
        .map((row) => ({ keyId: row.id, accountId, expiresAt: new Date(row.expires_at) })),
    );
    return Promise.resolve(keys);
  }

  insertEvent(event: NewEvent): Promise<void> {
    insertEvent(this.#connection, event, this.#now);
    return DONE;
  }

  getDocument(
    kind: string,
    id: string,
  ): Promise<Pick<StoredDocument, 'version' | 'data'> | undefined> {
    return Promise.resolve(getDocument(this.#connection, kind, id));
  }

  writeDocument(write: DocumentWrite): Promise<boolean> {
    return Promise.resolve(writeDocument(this.#connection, write, this.#now));
  }

  lastArchive(): Promise<number> {
    const row = this.#connection.get<{ readonly last: number | null }>(
      'SELECT max(id) AS last FROM ledger_archive',
    );
    return Promise.resolve(row?.last ?? 0);
  }

  insertArchive(archive: LedgerArchive): Promise<void> {
    insertArchive(this.#connection, archive);
    return DONE;
  }

  insertCarries(carries: readonly CarryRow[]): Promise<void> {
    insertCarries(this.#connection, carries);
    return DONE;
  }

  chargesCarriedFor(archive: number): Promise<number> {
    const row = this.#connection.get<{ readonly charges: number | null }>(
      'SELECT sum(charges) AS charges FROM ledger_carry WHERE archive_id = ?',
      archive,
    );
    return Promise.resolve(row?.charges ?? 0);
  }

  deleteUnrecordedCarries(limit: number): Promise<number> {
    return Promise.resolve(
      this.#connection.run(
        'DELETE FROM ledger_carry WHERE (account_id, from_seq, key_id) IN ' +
          '(SELECT account_id, from_seq, key_id FROM ledger_carry WHERE archive_id > ' +
          '(SELECT coalesce(max(id), 0) FROM ledger_archive) LIMIT ?)',
        limit,
      ),
    );
  }

  appendTrail(entries: readonly TrailRow[]): Promise<void> {
    for (const entry of entries) appendRow(this.#connection, 'Trail', entry);
    return DONE;
  }

  insertPersonalTexts(texts: readonly PersonalText[]): Promise<void> {
    for (const text of texts) insertRow(this.#connection, 'PersonalText', text);
    return DONE;
  }

  replaceCreationHashes(accountId: string, hash: string): Promise<void> {
    return this.#run(
      'UPDATE creation SET input_hash = ? WHERE account_id = ?',
      Buffer.from(hash, 'hex'),
      accountId,
    );
  }

  erasePersonalTexts(accountId: string): Promise<void> {
    return this.#run('DELETE FROM personal_text WHERE account_id = ?', accountId);
  }

  #run(sql: string, ...values: readonly SQLInputValue[]): Promise<void> {
    this.#connection.run(sql, ...values);
    return DONE;
  }

  #ids(sql: string, ...values: readonly SQLInputValue[]): Promise<readonly string[]> {
    const rows = this.#connection.all<{ readonly id: string }>(sql, ...values);
    return Promise.resolve(rows.map(({ id }) => id));
  }
}

/** The first two conditions are those of the indexes. */
const IS_EXPIRING =
  `${NOT_REVOKED} AND state = 'active' AND expires_at > ? AND expires_at <= ? ` +
  'AND expiry_notified_at IS NOT expires_at';
