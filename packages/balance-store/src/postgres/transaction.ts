/** Implements {@link LedgerTransaction} with PostgreSQL's tables. */

import type { Pool } from 'pg';
import { randomUUID } from 'node:crypto';
import type { CreatedAccount } from '../account.js';
import type { LedgerArchive } from '../archive.js';
import type { DocumentWrite, StoredDocument } from '../document.js';
import type { NewEvent } from '../event.js';
import type { KeyRecord } from '../key.js';
import type { CarryRow } from '../ledger/rows/carry-row.js';
import { callBook } from '../ledger/books/index.js';
import type { BookArgs, BookName, BookResult, RunBook } from '../ledger/books/index.js';
import {
  ACCOUNT_STATE,
  MOVEMENT_MEMBERS,
  changeableColumns,
  lastEntryAt,
  latestOf,
} from '../ledger/books/transaction.js';
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
} from '../ledger/books/transaction.js';
import type { SpenderRows } from '../ledger/rows/spender-rows.js';
import type { AllowanceMonth } from '../ledger/rules/allowance.js';
import type { HashRenewal } from '../ledger/rules/pepper.js';
import type { Side } from '../ledger/rules/sides.js';
import type { Row } from '../ledger/tables/tables.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import { accountRecord, countUsableKeys, lotOf, lotsOf } from './accounts.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { insertArchive, insertCarries } from './archives.js';
import { closedMonthsIn } from './closed-months.js';
import { bytesOf, keyRecord } from './keys.js';
import { inTransaction, isUniqueViolation, reachingDatabase } from './query.js';
import type { TransactionQueries } from './query.js';
import { spendersIn } from './spenders.js';
import { appendRow, insertRow, insertRows, readerOf, select, updateRow } from './tables.js';
import type { PostgresValues } from './tables.js';

/** @returns a function that runs one of `books` in a transaction */
export function createBookRunner(pool: Pool): RunBook {
  async function run<Name extends BookName>(
    name: Name,
    args: BookArgs<Name>,
    attempt: number,
  ): Promise<BookResult<Name>> {
    try {
      return await inTransaction(pool, 'write', (queries) =>
        callBook(new PostgresTransaction(queries), name, args),
      );
    } catch (error) {
      // Another transaction inserted the same id or external id at the same moment. The second
      // attempt finds its row.
      if (isUniqueViolation(error) && attempt === 1) return run(name, args, 2);
      throw error;
    }
  }
  return (name, ...args) => reachingDatabase(() => run(name, args, 1));
}

const readState = readerOf('Account', ACCOUNT_STATE);
const readMovement = readerOf('Ledger', MOVEMENT_MEMBERS);

class PostgresTransaction implements LedgerTransaction {
  readonly #queries: TransactionQueries;
  /** The time of the last entry of the accounts that are locked. */
  #lastEntryAt: Date | null = null;
  readonly months: ClosedMonthRows;
  readonly spenders: SpenderRows;

  constructor(queries: TransactionQueries) {
    this.#queries = queries;
    this.months = closedMonthsIn(queries);
    this.spenders = spendersIn(queries);
  }

  async lockAccounts(accountIds: readonly string[]): Promise<ReadonlyMap<string, AccountState>> {
    const found = await this.#queries.rows<
      Pick<Row<'Account', PostgresValues>, (typeof ACCOUNT_STATE)[number]>
    >(
      `SELECT ${select('Account', ACCOUNT_STATE)} FROM account WHERE id = ANY ($1) ` +
        'ORDER BY account.id FOR NO KEY UPDATE',
      [[...new Set(accountIds)]],
    );
    const accounts = found.map(readState);
    this.#lastEntryAt = latestOf(this.#lastEntryAt, ...accounts.map(lastEntryAt));
    return new Map(accounts.map((account) => [account.id, account]));
  }

  async now(): Promise<Date> {
    const [row] = await this.#queries.rows<{ now: Date }>('SELECT entry_time($1) AS now', [
      this.#lastEntryAt,
    ]);
    if (row === undefined) throw new Error('the database returned no time');
    return row.now;
  }

  saveAccount(account: AccountState): Promise<void> {
    return updateRow(this.#queries, 'Account', account.id, changeableColumns(account));
  }

  async heldBy(accountId: string): Promise<bigint> {
    const [row] = await this.#queries.rows<{ held: string }>(
      'SELECT coalesce(sum(amount), 0)::text AS held FROM hold ' +
        'WHERE account_id = $1 AND orphaned_at IS NULL',
      [accountId],
    );
    return unitsFromNumeric(row?.held ?? '0');
  }

  countUsableKeys(accountId: string): Promise<number> {
    return countUsableKeys(this.#queries, accountId);
  }

  async hasKeys(accountId: string, count: number): Promise<boolean> {
    // In the order of the index of keys that live, so that it is used: revoked ones are not read.
    const rows = await this.#queries.rows(
      "SELECT FROM api_key WHERE account_id = $1 AND state <> 'revoked' ORDER BY id LIMIT $2",
      [accountId, count],
    );
    return rows.length >= count;
  }

  async findEntry(id: string): Promise<KnownEntry | undefined> {
    const [row] = await this.#queries.rows<{
      accountId: string;
      hash: string;
      balanceAfter: string;
    }>(
      'SELECT account_id AS "accountId", encode(input_hash, \'hex\') AS hash, ' +
        'balance_after::text AS "balanceAfter" FROM ledger WHERE id = $1',
      [id],
    );
    return row === undefined
      ? undefined
      : { ...row, balanceAfter: unitsFromNumeric(row.balanceAfter) };
  }

  insertEntry({ hash, ...entry }: BookedEntry): Promise<void> {
    return insertRow(this.#queries, 'Ledger', { ...entry, inputHash: Buffer.from(hash, 'hex') });
  }

  async movement(id: string): Promise<KnownMovement | undefined> {
    const [row] = await this.#queries.rows<
      Pick<Row<'Ledger', PostgresValues>, keyof KnownMovement>
    >(
      `SELECT ${select('Ledger', MOVEMENT_MEMBERS)} FROM ledger ` +
        "WHERE id = $1 AND kind <> 'charge'",
      [id],
    );
    return row === undefined ? undefined : readMovement(row);
  }

  async isReversed(id: string): Promise<boolean> {
    const found = await this.#queries.rows('SELECT FROM ledger WHERE reverses = $1', [id]);
    return found.length > 0;
  }

  async addMoney(accountId: string, hour: number, sides: readonly Side[]): Promise<void> {
    if (sides.length === 0) return;
    await this.#run(
      'INSERT INTO money_hour (account_id, hour, side, amount) ' +
        'SELECT $1, $2, side, amount FROM unnest($3::text[], $4::numeric[]) AS s (side, amount) ' +
        'ON CONFLICT (account_id, hour, side) ' +
        'DO UPDATE SET amount = money_hour.amount + excluded.amount',
      [
        accountId,
        hour,
        sides.map(({ side }) => side),
        sides.map(({ amount }) => numericFromUnits(amount)),
      ],
    );
  }

  accountsToOpen(after: string, limit: number): Promise<readonly string[]> {
    return this.#ids('SELECT id FROM account WHERE NOT opened AND id > $1 ORDER BY id LIMIT $2', [
      after,
      limit,
    ]);
  }

  lot(id: string): Promise<Lot | undefined> {
    return lotOf(this.#queries, id);
  }

  lotsOf(accountId: string): Promise<readonly Lot[]> {
    return lotsOf(this.#queries, accountId);
  }

  saveLot(lot: Lot): Promise<void> {
    const onConflict = 'ON CONFLICT (entry_id) DO UPDATE SET remaining = excluded.remaining';
    return insertRow(this.#queries, 'CreditLot', lot, onConflict);
  }

  async accountsWithDueAllowance(
    after: string,
    { start }: AllowanceMonth,
    limit: number,
  ): Promise<readonly string[]> {
    return this.#ids(
      'SELECT id FROM account WHERE allowance IS NOT NULL AND allowance_start < $1 ' +
        "AND state = 'active' AND id > $2 ORDER BY id LIMIT $3",
      [start, after, limit],
    );
  }

  async accountsWithExpiredLots(after: string, limit: number): Promise<readonly string[]> {
    return this.#ids(
      'SELECT DISTINCT account_id AS id FROM credit_lot WHERE remaining > 0 ' +
        'AND expires_at <= clock_timestamp() AND account_id > $1 ORDER BY account_id LIMIT $2',
      [after, limit],
    );
  }

  async findCreation(id: string): Promise<KnownCreation | undefined> {
    const [row] = await this.#queries.rows<{
      hash: string;
      accountId: string;
      keyId: string | null;
    }>(
      'SELECT encode(input_hash, \'hex\') AS hash, account_id AS "accountId", ' +
        'key_id AS "keyId" FROM creation WHERE id = $1',
      [id],
    );
    return row;
  }

  async insertCreation(id: string, { hash, accountId, keyId }: KnownCreation): Promise<void> {
    const createdAt = await this.now();
    const inputHash = Buffer.from(hash, 'hex');
    const row = { id, inputHash, accountId, keyId, createdAt };
    return insertRow(this.#queries, 'Creation', row);
  }

  async isExternalIdTaken(
    of: 'account' | 'api_key',
    externalId: string,
    id: string,
  ): Promise<boolean> {
    const found = await this.#queries.rows(
      `SELECT FROM ${of} WHERE external_id = $1 AND id <> $2`,
      [externalId, id],
    );
    return found.length > 0;
  }

  insertAccount(account: NewAccountRow): Promise<void> {
    return insertRow(this.#queries, 'Account', account);
  }

  updateAccount(accountId: string, change: AccountRowChange): Promise<void> {
    return updateRow(this.#queries, 'Account', accountId, change);
  }

  accountRecord(accountId: string): Promise<CreatedAccount | undefined> {
    return accountRecord(this.#queries, accountId);
  }

  insertKey(key: NewKeyRow): Promise<void> {
    return insertRow(this.#queries, 'ApiKey', key);
  }

  updateKey(keyId: string, change: KeyRowChange): Promise<void> {
    return updateRow(this.#queries, 'ApiKey', keyId, change);
  }

  keyRecord(keyId: string): Promise<KeyRecord | undefined> {
    return keyRecord(this.#queries, keyId);
  }

  keyIdsOf(accountId: string): Promise<readonly string[]> {
    return this.#ids('SELECT id FROM api_key WHERE account_id = $1 ORDER BY id', [accountId]);
  }

  replaceCredential(
    keyId: string,
    { hint, credentialHmac, pepperId }: KeyCredential,
    previousUntil: Date | null,
  ): Promise<void> {
    return this.#run(
      'UPDATE api_key SET ' +
        'previous_hmac = CASE WHEN $2::timestamptz IS NOT NULL THEN credential_hmac END, ' +
        'previous_pepper_id = CASE WHEN $2::timestamptz IS NOT NULL THEN pepper_id END, ' +
        'previous_until = $2, hint = $3, credential_hmac = $4, pepper_id = $5 WHERE id = $1',
      [keyId, previousUntil, hint, Buffer.from(credentialHmac), pepperId],
    );
  }

  async renewHash({ hash, oldHash, pepperId }: HashRenewal): Promise<readonly RenewedHash[]> {
    const renewed: RenewedHash[] = [];
    for (const [column, pepperColumn] of [
      ['credential_hmac', 'pepper_id'],
      ['previous_hmac', 'previous_pepper_id'],
    ] as const) {
      const found = await this.#queries.rows<{ id: string; accountId: string; former: string }>(
        `SELECT id, account_id AS "accountId", ${pepperColumn} AS former FROM api_key ` +
          `WHERE ${column} = $1 FOR NO KEY UPDATE`,
        [bytesOf(oldHash)],
      );
      for (const { id, accountId, former } of found) {
        await this.#run(`UPDATE api_key SET ${column} = $2, ${pepperColumn} = $3 WHERE id = $1`, [
          id,
          bytesOf(hash),
          pepperId,
        ]);
        const before = { credentialHmac: oldHash ?? hash, pepperId: former };
        renewed.push({ keyId: id, accountId, before });
      }
    }
    return renewed;
  }

  accountsWithExpiringKeys(after: string, before: Date, limit: number): Promise<readonly string[]> {
    return this.#ids(
      `SELECT DISTINCT account_id AS id FROM api_key WHERE ${IS_EXPIRING} ` +
        'AND account_id > $2 ORDER BY account_id LIMIT $3',
      [before, after, limit],
    );
  }

  takeExpiringKeys(accountIds: readonly string[], before: Date): Promise<readonly ExpiringKey[]> {
    return this.#queries.rows<{ keyId: string; accountId: string; expiresAt: Date }>(
      `UPDATE api_key SET expiry_notified_at = expires_at WHERE ${IS_EXPIRING} ` +
        'AND account_id = ANY ($2) ' +
        'RETURNING id AS "keyId", account_id AS "accountId", expires_at AS "expiresAt"',
      [before, accountIds],
    );
  }

  insertEvent({ id, type, accountId, keyId, data }: NewEvent): Promise<void> {
    return this.#run(
      'INSERT INTO event (id, type, account_id, key_id, data, created_at, due_at, mail_due_at) ' +
        'VALUES ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp(), ' +
        '(SELECT clock_timestamp() FROM account ' +
        'WHERE id = $3 AND notice_email IS NOT NULL AND is_mailed($2, $5::jsonb))) ' +
        'ON CONFLICT (id) DO NOTHING',
      [id ?? `evt_${randomUUID()}`, type, accountId, keyId ?? null, JSON.stringify(data)],
    );
  }

  async getDocument(
    kind: string,
    id: string,
  ): Promise<Pick<StoredDocument, 'version' | 'data'> | undefined> {
    const [row] = await this.#queries.rows<Pick<StoredDocument, 'version' | 'data'>>(
      'SELECT version, data FROM document WHERE kind = $1 AND id = $2',
      [kind, id],
    );
    return row;
  }

  async writeDocument({
    kind,
    id,
    accountId,
    version,
    data,
    balanceBelow,
  }: DocumentWrite): Promise<boolean> {
    const below = balanceBelow == null ? null : numericFromUnits(balanceBelow);
    const written =
      version === 0
        ? await this.#queries.rows(
            'INSERT INTO document (kind, id, account_id, version, data, balance_below, ' +
              'created_at, updated_at) ' +
              'VALUES ($1, $2, $3, 1, $4, $5, clock_timestamp(), clock_timestamp()) ' +
              'ON CONFLICT (kind, id) DO NOTHING RETURNING document.seq',
            [kind, id, accountId, JSON.stringify(data), below],
          )
        : await this.#queries.rows(
            'UPDATE document SET version = version + 1, data = $4, balance_below = $5, ' +
              'updated_at = clock_timestamp() ' +
              'WHERE kind = $1 AND id = $2 AND version = $3 RETURNING document.seq',
            [kind, id, version, JSON.stringify(data), below],
          );
    return written.length === 1;
  }

  async lastArchive(): Promise<number> {
    await this.#run('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.archiveRecord]);
    const [row] = await this.#queries.rows<{ last: number }>(
      'SELECT coalesce(max(id), 0) AS last FROM ledger_archive',
    );
    return row?.last ?? 0;
  }

  insertArchive(archive: LedgerArchive): Promise<void> {
    return insertArchive(this.#queries, archive);
  }

  insertCarries(carries: readonly CarryRow[]): Promise<void> {
    return insertCarries(this.#queries, carries);
  }

  async chargesCarriedFor(archive: number): Promise<number> {
    const [row] = await this.#queries.rows<{ charges: string }>(
      'SELECT coalesce(sum(charges), 0)::text AS charges FROM ledger_carry WHERE archive_id = $1',
      [archive],
    );
    return Number(row?.charges);
  }

  async deleteUnrecordedCarries(limit: number): Promise<number> {
    const rows = await this.#queries.rows(
      'DELETE FROM ledger_carry WHERE (account_id, from_seq, key_id) IN ' +
        '(SELECT account_id, from_seq, key_id FROM ledger_carry WHERE archive_id > ' +
        '(SELECT coalesce(max(id), 0) FROM ledger_archive) LIMIT $1) RETURNING 1',
      [limit],
    );
    return rows.length;
  }

  async appendTrail(entries: readonly TrailRow[]): Promise<void> {
    // Not LOCK TABLE, which would wait for a VACUUM of the table.
    await this.#run('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.trail]);
    const [entry] = entries;
    if (entry !== undefined && entries.length === 1) {
      await appendRow(this.#queries, 'Trail', entry);
      return;
    }
    const [last] = await this.#queries.rows<{ seq: string }>(
      'SELECT coalesce(max(seq), 0)::text AS seq FROM trail',
    );
    const first = BigInt(last?.seq ?? 0) + 1n;
    await insertRows(
      this.#queries,
      'Trail',
      entries.map((row, index) => ({ ...row, seq: first + BigInt(index) })),
    );
  }

  insertPersonalTexts(texts: readonly PersonalText[]): Promise<void> {
    return insertRows(this.#queries, 'PersonalText', texts);
  }

  replaceCreationHashes(accountId: string, hash: string): Promise<void> {
    return this.#run("UPDATE creation SET input_hash = decode($2, 'hex') WHERE account_id = $1", [
      accountId,
      hash,
    ]);
  }

  erasePersonalTexts(accountId: string): Promise<void> {
    return this.#run('DELETE FROM personal_text WHERE account_id = $1', [accountId]);
  }

  async #run(text: string, values: readonly unknown[]): Promise<void> {
    await this.#queries.rows(text, values);
  }

  async #ids(text: string, values: readonly unknown[]): Promise<readonly string[]> {
    const found = await this.#queries.rows<{ id: string }>(text, values);
    return found.map(({ id }) => id);
  }
}

const IS_EXPIRING =
  "state = 'active' AND expires_at > clock_timestamp() AND expires_at <= $1 " +
  'AND expiry_notified_at IS DISTINCT FROM expires_at';
