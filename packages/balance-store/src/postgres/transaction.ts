/** Implements {@link LedgerTransaction} with PostgreSQL's tables. */

import type { Pool } from 'pg';
import { randomUUID } from 'node:crypto';
import type { StoredDocument } from '../document.js';
import { accountRecordOf } from '../ledger/stored-account.js';
import type { StoredAccount } from '../ledger/stored-account.js';
import { callBook } from '../ledger/books/index.js';
import type { BookArgs, BookName, BookResult, RunBook } from '../ledger/books/index.js';
import type {
  AccountRowChange,
  AccountState,
  KeyRowChange,
  LedgerTransaction,
  RenewedHash,
} from '../ledger/books/transaction.js';
import { keyRecordOf } from '../ledger/stored-key.js';
import type { StoredKey } from '../ledger/stored-key.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import { SELECT_ACCOUNT, lotsOf } from './accounts.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { insertArchive, insertCarries } from './archives.js';
import { KEY_COLUMNS, bytesOf } from './keys.js';
import { inTransaction, isUniqueViolation, reachingDatabase } from './query.js';
import type { TransactionQueries } from './query.js';

/** @returns a function that runs one of `books` in a transaction */
export function createBookRunner(pool: Pool): RunBook {
  async function run<Name extends BookName>(
    name: Name,
    args: BookArgs<Name>,
    attempt: number,
  ): Promise<BookResult<Name>> {
    try {
      return await inTransaction(pool, 'write', (queries) =>
        callBook(createTransaction(queries), name, args),
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

type AccountRow = Readonly<Record<Exclude<keyof AccountState, 'lowBalance'>, string>> & {
  readonly lowBalance: string | null;
};

function createTransaction(queries: TransactionQueries): LedgerTransaction {
  const { rows } = queries;
  const run = async (text: string, values: readonly unknown[]): Promise<void> => {
    await rows(text, values);
  };
  const accountRow = async (id: string): Promise<StoredAccount<string> | undefined> => {
    const [row] = await rows<StoredAccount<string>>(`${SELECT_ACCOUNT} WHERE id = $1`, [id]);
    return row;
  };
  /** Leaves out columns that are `undefined`. `null` is written. */
  const update = async (
    table: 'account' | 'api_key',
    id: string,
    columns: Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    const changed = Object.entries(columns).filter(([, value]) => value !== undefined);
    if (changed.length === 0) return;
    const sets = changed.map(([column], index) => `${column} = $${String(index + 2)}`).join(', ');
    await run(`UPDATE ${table} SET ${sets} WHERE id = $1`, [
      id,
      ...changed.map(([, value]) => value),
    ]);
  };

  return {
    async lockAccounts(accountIds) {
      const found = await rows<AccountRow>(
        'SELECT id, low_balance::text AS "lowBalance", balance::text, spent::text, ' +
          'credited::text, adjusted::text, expired::text, uncovered::text, allotted::text, ' +
          'seq::text FROM account WHERE id = ANY ($1) ORDER BY account.id FOR NO KEY UPDATE',
        [[...new Set(accountIds)]],
      );
      return new Map(found.map((row) => [row.id, stateOf(row)]));
    },
    async now() {
      // Rounded as in `settle_batch`, so that the times of an account's entries never decrease.
      const [row] = await rows<{ now: Date }>('SELECT clock_timestamp()::timestamptz(3) AS now');
      if (row === undefined) throw new Error('the database returned no time');
      return row.now;
    },
    saveAccount: (account) =>
      run(
        'UPDATE account SET balance = $2, credited = $3, adjusted = $4, expired = $5, ' +
          'uncovered = $6, allotted = $7, seq = $8 WHERE id = $1',
        [
          account.id,
          numericFromUnits(account.balance),
          numericFromUnits(account.credited),
          numericFromUnits(account.adjusted),
          numericFromUnits(account.expired),
          numericFromUnits(account.uncovered),
          numericFromUnits(account.allotted),
          account.seq.toString(),
        ],
      ),
    async heldBy(accountId) {
      const [row] = await rows<{ held: string }>(
        'SELECT coalesce(sum(amount), 0)::text AS held FROM hold ' +
          'WHERE account_id = $1 AND orphaned_at IS NULL',
        [accountId],
      );
      return unitsFromNumeric(row?.held ?? '0');
    },
    async countUsableKeys(accountId) {
      return (await accountRow(accountId))?.usableKeys ?? 0;
    },

    async countKeys(accountId) {
      const [row] = await rows<{ count: number }>(
        'SELECT count(*)::int4 AS count FROM api_key ' +
          "WHERE account_id = $1 AND state <> 'revoked'",
        [accountId],
      );
      return row?.count ?? 0;
    },

    async findEntry(id) {
      const [row] = await rows<{ accountId: string; hash: string; balanceAfter: string }>(
        'SELECT account_id AS "accountId", encode(input_hash, \'hex\') AS hash, ' +
          'balance_after::text AS "balanceAfter" FROM ledger WHERE id = $1',
        [id],
      );
      return row === undefined
        ? undefined
        : { ...row, balanceAfter: unitsFromNumeric(row.balanceAfter) };
    },
    insertEntry: (entry) =>
      run(
        'INSERT INTO ledger (id, account_id, seq, kind, delta, balance_after, input_hash, ' +
          'created_at, actor, source, expires_at, reason, reference, note_id) ' +
          "VALUES ($1, $2, $3, $4, $5, $6, decode($7, 'hex'), $8, $9, $10, $11, $12, $13, $14)",
        [
          entry.id,
          entry.accountId,
          entry.seq.toString(),
          entry.kind,
          numericFromUnits(entry.delta),
          numericFromUnits(entry.balanceAfter),
          entry.hash,
          entry.createdAt,
          entry.actor,
          entry.source,
          entry.expiresAt,
          entry.reason,
          entry.reference,
          entry.noteId,
        ],
      ),

    lotsOf: (accountId) => lotsOf(queries, accountId),
    saveLot: (lot) =>
      run(
        'INSERT INTO credit_lot (entry_id, account_id, source, expires_at, remaining) ' +
          'VALUES ($1, $2, $3, $4, $5) ' +
          'ON CONFLICT (entry_id) DO UPDATE SET remaining = excluded.remaining',
        [lot.entryId, lot.accountId, lot.source, lot.expiresAt, numericFromUnits(lot.remaining)],
      ),
    async accountsWithExpiredLots(after, limit) {
      const found = await rows<{ id: string }>(
        'SELECT DISTINCT account_id AS id FROM credit_lot WHERE remaining > 0 ' +
          'AND expires_at <= clock_timestamp() AND account_id > $1 ORDER BY account_id LIMIT $2',
        [after, limit],
      );
      return found.map(({ id }) => id);
    },

    async findCreation(id) {
      const [row] = await rows<{ hash: string; accountId: string; keyId: string | null }>(
        'SELECT encode(input_hash, \'hex\') AS hash, account_id AS "accountId", ' +
          'key_id AS "keyId" FROM creation WHERE id = $1',
        [id],
      );
      return row;
    },
    insertCreation: (id, { hash, accountId, keyId }) =>
      run(
        'INSERT INTO creation (id, input_hash, account_id, key_id, created_at) ' +
          "VALUES ($1, decode($2, 'hex'), $3, $4, clock_timestamp())",
        [id, hash, accountId, keyId],
      ),
    async isExternalIdTaken(of, externalId, id) {
      const found = await rows(`SELECT FROM ${of} WHERE external_id = $1 AND id <> $2`, [
        externalId,
        id,
      ]);
      return found.length > 0;
    },
    insertAccount: (account) =>
      run(
        'INSERT INTO account (id, name, external_id, metadata, low_balance, created_at) ' +
          'VALUES ($1, $2, $3, $4, $5, $6)',
        [
          account.id,
          account.name,
          account.externalId,
          JSON.stringify(account.metadata),
          amountOrNull(account.lowBalance),
          account.createdAt,
        ],
      ),
    updateAccount: (accountId, change) => update('account', accountId, accountColumns(change)),
    async accountRecord(accountId) {
      const row = await accountRow(accountId);
      return row === undefined ? undefined : accountRecordOf(row, unitsFromNumeric);
    },
    insertKey: (key) =>
      run(
        'INSERT INTO api_key (id, account_id, name, external_id, metadata, hint, ' +
          'credential_hmac, pepper_id, scope, models, expires_at, concurrency, burst, ' +
          'requests_per_minute, cap_day, cap_week, cap_month, cap_total, created_at) VALUES ' +
          '($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)',
        [
          key.id,
          key.accountId,
          key.name,
          key.externalId,
          JSON.stringify(key.metadata),
          key.hint,
          Buffer.from(key.credentialHmac),
          key.pepperId,
          key.scope,
          key.models === null ? null : JSON.stringify(key.models),
          key.expiresAt,
          key.concurrency,
          key.burst,
          key.requestsPerMinute,
          amountOrNull(key.caps.day),
          amountOrNull(key.caps.week),
          amountOrNull(key.caps.month),
          amountOrNull(key.caps.total),
          key.createdAt,
        ],
      ),
    updateKey: (keyId, change) => update('api_key', keyId, keyColumns(change)),
    async keyRecord(keyId) {
      const [row] = await rows<StoredKey<string>>(
        `SELECT ${KEY_COLUMNS} FROM key_standing WHERE id = $1`,
        [keyId],
      );
      return row === undefined ? undefined : keyRecordOf(row, unitsFromNumeric, new Date());
    },
    async keyIdsOf(accountId) {
      const found = await rows<{ id: string }>(
        'SELECT id FROM api_key WHERE account_id = $1 ORDER BY id',
        [accountId],
      );
      return found.map(({ id }) => id);
    },
    replaceCredential: (keyId, { hint, credentialHmac, pepperId }, previousUntil) =>
      run(
        'UPDATE api_key SET ' +
          'previous_hmac = CASE WHEN $2::timestamptz IS NOT NULL THEN credential_hmac END, ' +
          'previous_pepper_id = CASE WHEN $2::timestamptz IS NOT NULL THEN pepper_id END, ' +
          'previous_until = $2, hint = $3, credential_hmac = $4, pepper_id = $5 WHERE id = $1',
        [keyId, previousUntil, hint, Buffer.from(credentialHmac), pepperId],
      ),
    async renewHash({ hash, oldHash, pepperId }) {
      const renewed: RenewedHash[] = [];
      for (const [column, pepperColumn] of [
        ['credential_hmac', 'pepper_id'],
        ['previous_hmac', 'previous_pepper_id'],
      ] as const) {
        const found = await rows<{ id: string; accountId: string; former: string }>(
          `SELECT id, account_id AS "accountId", ${pepperColumn} AS former FROM api_key ` +
            `WHERE ${column} = $1 FOR NO KEY UPDATE`,
          [bytesOf(oldHash)],
        );
        for (const { id, accountId, former } of found) {
          await run(`UPDATE api_key SET ${column} = $2, ${pepperColumn} = $3 WHERE id = $1`, [
            id,
            bytesOf(hash),
            pepperId,
          ]);
          const before = { credentialHmac: oldHash ?? hash, pepperId: former };
          renewed.push({ keyId: id, accountId, before });
        }
      }
      return renewed;
    },
    async accountsWithExpiringKeys(after, before, limit) {
      const found = await rows<{ id: string }>(
        `SELECT DISTINCT account_id AS id FROM api_key WHERE ${IS_EXPIRING} ` +
          'AND account_id > $2 ORDER BY account_id LIMIT $3',
        [before, after, limit],
      );
      return found.map(({ id }) => id);
    },
    takeExpiringKeys: (accountIds, before) =>
      rows<{ keyId: string; accountId: string; expiresAt: Date }>(
        `UPDATE api_key SET expiry_told_at = expires_at WHERE ${IS_EXPIRING} ` +
          'AND account_id = ANY ($2) ' +
          'RETURNING id AS "keyId", account_id AS "accountId", expires_at AS "expiresAt"',
        [before, accountIds],
      ),

    insertEvent: ({ id, type, accountId, keyId, data }) =>
      run(
        'INSERT INTO event (id, type, account_id, key_id, data, created_at, due_at) ' +
          'VALUES ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp()) ' +
          'ON CONFLICT (id) DO NOTHING',
        [id ?? `evt_${randomUUID()}`, type, accountId, keyId ?? null, JSON.stringify(data)],
      ),
    async getDocument(kind, id) {
      const [row] = await rows<Pick<StoredDocument, 'version' | 'data'>>(
        'SELECT version, data FROM document WHERE kind = $1 AND id = $2',
        [kind, id],
      );
      return row;
    },
    async writeDocument({ kind, id, accountId, version, data, balanceBelow }) {
      const below = balanceBelow == null ? null : numericFromUnits(balanceBelow);
      const written =
        version === 0
          ? await rows(
              'INSERT INTO document (kind, id, account_id, version, data, balance_below, ' +
                'created_at, updated_at) ' +
                'VALUES ($1, $2, $3, 1, $4, $5, clock_timestamp(), clock_timestamp()) ' +
                'ON CONFLICT (kind, id) DO NOTHING RETURNING document.seq',
              [kind, id, accountId, JSON.stringify(data), below],
            )
          : await rows(
              'UPDATE document SET version = version + 1, data = $4, balance_below = $5, ' +
                'updated_at = clock_timestamp() ' +
                'WHERE kind = $1 AND id = $2 AND version = $3 RETURNING document.seq',
              [kind, id, version, JSON.stringify(data), below],
            );
      return written.length === 1;
    },
    async lastArchive() {
      const [row] = await rows<{ last: number }>(
        'SELECT coalesce(max(id), 0) AS last FROM ledger_archive',
      );
      return row?.last ?? 0;
    },
    insertArchive: (archive) => insertArchive(queries, archive),
    insertCarries: (carries) => insertCarries(queries, carries),
    async appendTrail(entry) {
      // Not LOCK TABLE, which would wait for a VACUUM of the table.
      await run('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.trail]);
      await run(
        'INSERT INTO trail (seq, created_at, actor, address, action, account_id, key_id, ' +
          'details, personal_id) ' +
          'SELECT coalesce(max(seq), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8 FROM trail',
        [
          entry.createdAt,
          entry.actor,
          entry.address,
          entry.action,
          entry.accountId,
          entry.keyId,
          entry.details,
          entry.personalId,
        ],
      );
    },
    insertPersonalText: ({ id, accountId, salt, text }) =>
      run('INSERT INTO personal_text (id, account_id, salt, text) VALUES ($1, $2, $3, $4)', [
        id,
        accountId,
        salt,
        text,
      ]),
    replaceCreationHashes: (accountId, hash) =>
      run("UPDATE creation SET input_hash = decode($2, 'hex') WHERE account_id = $1", [
        accountId,
        hash,
      ]),
    erasePersonalTexts: (accountId) =>
      run('DELETE FROM personal_text WHERE account_id = $1', [accountId]),
  };
}

const IS_EXPIRING =
  "state = 'active' AND expires_at > clock_timestamp() AND expires_at <= $1 " +
  'AND expiry_told_at IS DISTINCT FROM expires_at';

function stateOf({ id, lowBalance, seq, ...amounts }: AccountRow): AccountState {
  return {
    id,
    lowBalance: lowBalance === null ? null : unitsFromNumeric(lowBalance),
    balance: unitsFromNumeric(amounts.balance),
    spent: unitsFromNumeric(amounts.spent),
    credited: unitsFromNumeric(amounts.credited),
    adjusted: unitsFromNumeric(amounts.adjusted),
    expired: unitsFromNumeric(amounts.expired),
    uncovered: unitsFromNumeric(amounts.uncovered),
    allotted: unitsFromNumeric(amounts.allotted),
    seq: BigInt(seq),
  };
}

function accountColumns(change: AccountRowChange): Readonly<Record<string, unknown>> {
  const { name, externalId, metadata, lowBalance, state } = change;
  return {
    name,
    state,
    external_id: externalId,
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
    low_balance: amountOrNull(lowBalance),
  };
}

function keyColumns(change: KeyRowChange): Readonly<Record<string, unknown>> {
  const { metadata, models, caps } = change;
  return {
    name: change.name,
    external_id: change.externalId,
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
    state: change.state,
    scope: change.scope,
    models: models === undefined || models === null ? models : JSON.stringify(models),
    expires_at: change.expiresAt,
    concurrency: change.concurrency,
    burst: change.burst,
    requests_per_minute: change.requestsPerMinute,
    cap_day: amountOrNull(caps?.day),
    cap_week: amountOrNull(caps?.week),
    cap_month: amountOrNull(caps?.month),
    cap_total: amountOrNull(caps?.total),
  };
}

function amountOrNull(amount: bigint | null | undefined): string | null | undefined {
  return typeof amount === 'bigint' ? numericFromUnits(amount) : amount;
}
