/**
 * Implements {@link LedgerTransaction} with the tables of the embedded ledger. Its promises are
 * already settled when returned: the thread does nothing else until the transaction ends.
 */

import type {
  AccountRowChange,
  AccountState,
  BookedEntry,
  KeyRowChange,
  LedgerTransaction,
  Lot,
} from '../../ledger/books/transaction.js';
import { getAccount, lotsOf } from './accounts.js';
import { insertArchive, insertCarries } from './archives.js';
import type { Connection } from './connection.js';
import { getDocument, writeDocument } from './documents.js';
import { insertEvent } from './events.js';
import { NOT_REVOKED, getKey, renewHash } from './keys.js';
import { ZERO, textOf, unitsOf } from './money.js';
import { heldBy } from './settle.js';

type Value = string | number | bigint | Uint8Array | null;

interface AccountRow {
  readonly id: string;
  readonly low_balance: string | null;
  readonly balance: string;
  readonly spent: string;
  readonly credited: string;
  readonly adjusted: string;
  readonly expired: string;
  readonly uncovered: string;
  readonly allotted: string;
  readonly seq: number;
}

export function createTransaction(connection: Connection): LedgerTransaction {
  const now = Date.now();
  const run = (sql: string, ...values: readonly Value[]): Promise<void> => {
    connection.run(sql, ...values);
    return Promise.resolve();
  };
  /** Leaves out columns that are `undefined`. `null` is written. */
  const update = (
    table: 'account' | 'api_key',
    id: string,
    columns: Readonly<Record<string, Value | undefined>>,
  ): Promise<void> => {
    const changed = Object.entries(columns).filter(([, value]) => value !== undefined);
    if (changed.length === 0) return Promise.resolve();
    const sets = changed.map(([column]) => `${column} = ?`).join(', ');
    const values = changed.map(([, value]) => value ?? null);
    return run(`UPDATE ${table} SET ${sets} WHERE id = ?`, ...values, id);
  };

  return {
    lockAccounts(accountIds) {
      const found = [...new Set(accountIds)]
        .map((id) => readAccount(connection, id))
        .filter((account) => account !== undefined);
      return Promise.resolve(new Map(found.map((account) => [account.id, account])));
    },
    now: () => Promise.resolve(new Date(now)),
    saveAccount: (account) =>
      run(
        'UPDATE account SET balance = ?, credited = ?, adjusted = ?, expired = ?, ' +
          'uncovered = ?, allotted = ?, seq = ? WHERE id = ?',
        textOf(account.balance),
        textOf(account.credited),
        textOf(account.adjusted),
        textOf(account.expired),
        textOf(account.uncovered),
        textOf(account.allotted),
        account.seq,
        account.id,
      ),
    heldBy: (accountId) => Promise.resolve(heldBy(connection, accountId)),
    countUsableKeys: (accountId) =>
      Promise.resolve(getAccount(connection, accountId)?.usableKeys ?? 0),
    countKeys(accountId) {
      const row = connection.get<{ readonly count: number }>(
        "SELECT count(*) AS count FROM api_key WHERE account_id = ? AND state <> 'revoked'",
        accountId,
      );
      return Promise.resolve(row?.count ?? 0);
    },

    findEntry(id) {
      const row = connection.get<{
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
    },
    insertEntry: (entry) => run(INSERT_ENTRY, ...entryValues(entry)),

    lotsOf: (accountId) => Promise.resolve(lotsOf(connection, accountId)),
    saveLot: (lot) => run(SAVE_LOT, ...lotValues(lot)),
    accountsWithExpiredLots(after, limit) {
      const rows = connection.all<{ readonly id: string }>(
        `SELECT DISTINCT account_id AS id FROM credit_lot WHERE remaining <> '${ZERO}' ` +
          'AND expires_at <= ? AND account_id > ? ORDER BY account_id LIMIT ?',
        now,
        after,
        limit,
      );
      return Promise.resolve(rows.map(({ id }) => id));
    },

    findCreation(id) {
      const row = connection.get<{
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
    },
    insertCreation: (id, { hash, accountId, keyId }) =>
      run(
        'INSERT INTO creation (id, input_hash, account_id, key_id, created_at) VALUES (?, ?, ?, ?, ?)',
        id,
        Buffer.from(hash, 'hex'),
        accountId,
        keyId,
        now,
      ),
    isExternalIdTaken: (of, externalId, id) =>
      Promise.resolve(
        connection.get(`SELECT 1 FROM ${of} WHERE external_id = ? AND id <> ?`, externalId, id) !==
          undefined,
      ),
    insertAccount: (account) =>
      run(
        'INSERT INTO account (id, name, external_id, metadata, low_balance, created_at) ' +
          'VALUES (?, ?, ?, ?, ?, ?)',
        account.id,
        account.name,
        account.externalId,
        JSON.stringify(account.metadata),
        amountOrNull(account.lowBalance),
        account.createdAt.getTime(),
      ),
    updateAccount: (accountId, change) => update('account', accountId, accountColumns(change)),
    accountRecord: (accountId) => Promise.resolve(getAccount(connection, accountId)),
    insertKey: (key) =>
      run(
        'INSERT INTO api_key (id, account_id, name, external_id, metadata, hint, ' +
          'credential_hmac, pepper_id, scope, models, expires_at, concurrency, burst, ' +
          'requests_per_minute, cap_day, cap_week, cap_month, cap_total, created_at) ' +
          'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        key.id,
        key.accountId,
        key.name,
        key.externalId,
        JSON.stringify(key.metadata),
        key.hint,
        key.credentialHmac,
        key.pepperId,
        key.scope,
        key.models === null ? null : JSON.stringify(key.models),
        key.expiresAt?.getTime() ?? null,
        key.concurrency,
        key.burst,
        key.requestsPerMinute,
        amountOrNull(key.caps.day),
        amountOrNull(key.caps.week),
        amountOrNull(key.caps.month),
        amountOrNull(key.caps.total),
        key.createdAt.getTime(),
      ),
    updateKey: (keyId, change) => update('api_key', keyId, keyColumns(change)),
    keyRecord: (keyId) => Promise.resolve(getKey(connection, keyId)),
    keyIdsOf(accountId) {
      const rows = connection.all<{ readonly id: string }>(
        'SELECT id FROM api_key WHERE account_id = ? ORDER BY id',
        accountId,
      );
      return Promise.resolve(rows.map(({ id }) => id));
    },
    replaceCredential(keyId, { hint, credentialHmac, pepperId }, previousUntil) {
      const previous =
        previousUntil === null
          ? 'previous_hmac = NULL, previous_pepper_id = NULL'
          : 'previous_hmac = credential_hmac, previous_pepper_id = pepper_id';
      return run(
        `UPDATE api_key SET ${previous}, previous_until = ?, hint = ?, credential_hmac = ?, ` +
          'pepper_id = ? WHERE id = ?',
        previousUntil?.getTime() ?? null,
        hint,
        credentialHmac,
        pepperId,
        keyId,
      );
    },
    renewHash: (renewal) => Promise.resolve(renewHash(connection, renewal)),
    accountsWithExpiringKeys(after, before, limit) {
      const rows = connection.all<{ readonly id: string }>(
        `SELECT DISTINCT account_id AS id FROM api_key WHERE ${IS_EXPIRING} ` +
          'AND account_id > ? ORDER BY account_id LIMIT ?',
        now,
        before.getTime(),
        after,
        limit,
      );
      return Promise.resolve(rows.map(({ id }) => id));
    },
    takeExpiringKeys(accountIds, before) {
      const keys = accountIds.flatMap((accountId) =>
        connection
          .all<{ readonly id: string; readonly expires_at: number }>(
            'UPDATE api_key SET expiry_told_at = expires_at ' +
              `WHERE ${IS_EXPIRING} AND account_id = ? RETURNING id, expires_at`,
            now,
            before.getTime(),
            accountId,
          )
          .map((row) => ({ keyId: row.id, accountId, expiresAt: new Date(row.expires_at) })),
      );
      return Promise.resolve(keys);
    },

    insertEvent(event) {
      insertEvent(connection, event, now);
      return Promise.resolve();
    },
    getDocument: (kind, id) => Promise.resolve(getDocument(connection, kind, id)),
    writeDocument: (write) => Promise.resolve(writeDocument(connection, write, now)),
    lastArchive() {
      const row = connection.get<{ readonly last: number | null }>(
        'SELECT max(id) AS last FROM ledger_archive',
      );
      return Promise.resolve(row?.last ?? 0);
    },
    insertArchive(archive) {
      insertArchive(connection, archive);
      return Promise.resolve();
    },
    insertCarries(carries) {
      insertCarries(connection, carries);
      return Promise.resolve();
    },
    appendTrail: (entry) =>
      run(
        'INSERT INTO trail (seq, created_at, actor, address, action, account_id, key_id, ' +
          'details, personal_id) ' +
          'SELECT coalesce(max(seq), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ? FROM trail',
        entry.createdAt.getTime(),
        entry.actor,
        entry.address,
        entry.action,
        entry.accountId,
        entry.keyId,
        entry.details,
        entry.personalId,
      ),
    insertPersonalText: ({ id, accountId, salt, text }) =>
      run(
        'INSERT INTO personal_text (id, account_id, salt, text) VALUES (?, ?, ?, ?)',
        id,
        accountId,
        salt,
        text,
      ),
    replaceCreationHashes: (accountId, hash) =>
      run(
        'UPDATE creation SET input_hash = ? WHERE account_id = ?',
        Buffer.from(hash, 'hex'),
        accountId,
      ),
    erasePersonalTexts: (accountId) =>
      run('DELETE FROM personal_text WHERE account_id = ?', accountId),
  };
}

function readAccount(connection: Connection, id: string): AccountState | undefined {
  const row = connection.get<AccountRow>(
    'SELECT id, low_balance, balance, spent, credited, adjusted, expired, uncovered, allotted, ' +
      'seq FROM account WHERE id = ?',
    id,
  );
  if (row === undefined) return undefined;
  return {
    id,
    lowBalance: row.low_balance === null ? null : unitsOf(row.low_balance),
    balance: unitsOf(row.balance),
    spent: unitsOf(row.spent),
    credited: unitsOf(row.credited),
    adjusted: unitsOf(row.adjusted),
    expired: unitsOf(row.expired),
    uncovered: unitsOf(row.uncovered),
    allotted: unitsOf(row.allotted),
    seq: BigInt(row.seq),
  };
}

/** The first two conditions are those of the indexes. */
const IS_EXPIRING =
  `${NOT_REVOKED} AND state = 'active' AND expires_at > ? AND expires_at <= ? ` +
  'AND expiry_told_at IS NOT expires_at';

const INSERT_ENTRY =
  'INSERT INTO ledger (id, account_id, seq, kind, delta, balance_after, input_hash, ' +
  'created_at, actor, source, expires_at, reason, reference, note_id) ' +
  'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

function entryValues(entry: BookedEntry): readonly Value[] {
  return [
    entry.id,
    entry.accountId,
    entry.seq,
    entry.kind,
    textOf(entry.delta),
    textOf(entry.balanceAfter),
    Buffer.from(entry.hash, 'hex'),
    entry.createdAt.getTime(),
    entry.actor,
    entry.source,
    entry.expiresAt?.getTime() ?? null,
    entry.reason,
    entry.reference,
    entry.noteId,
  ];
}

const SAVE_LOT =
  'INSERT INTO credit_lot (entry_id, account_id, source, expires_at, remaining) ' +
  'VALUES (?, ?, ?, ?, ?) ON CONFLICT (entry_id) DO UPDATE SET remaining = excluded.remaining';

function lotValues(lot: Lot): readonly Value[] {
  return [
    lot.entryId,
    lot.accountId,
    lot.source,
    lot.expiresAt?.getTime() ?? null,
    textOf(lot.remaining),
  ];
}

function accountColumns(change: AccountRowChange): Readonly<Record<string, Value | undefined>> {
  const { name, externalId, metadata, lowBalance, state } = change;
  return {
    name,
    state,
    external_id: externalId,
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
    low_balance: amountOrNull(lowBalance),
  };
}

function keyColumns(change: KeyRowChange): Readonly<Record<string, Value | undefined>> {
  const { metadata, models, expiresAt, caps } = change;
  return {
    name: change.name,
    external_id: change.externalId,
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
    state: change.state,
    scope: change.scope,
    models: models === undefined || models === null ? models : JSON.stringify(models),
    expires_at: expiresAt === undefined ? undefined : (expiresAt?.getTime() ?? null),
    concurrency: change.concurrency,
    burst: change.burst,
    requests_per_minute: change.requestsPerMinute,
    cap_day: amountOrNull(caps?.day),
    cap_week: amountOrNull(caps?.week),
    cap_month: amountOrNull(caps?.month),
    cap_total: amountOrNull(caps?.total),
  };
}

function amountOrNull(amount: bigint | null): string | null;
function amountOrNull(amount: bigint | null | undefined): string | null | undefined;
function amountOrNull(amount: bigint | null | undefined): string | null | undefined {
  return typeof amount === 'bigint' ? textOf(amount) : amount;
}
