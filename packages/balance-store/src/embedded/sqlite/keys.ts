/** Keys: the rows, and what they may do. */

import type { KeyRecord, KeyState } from '../../key.js';
import type { KeyChange, NewKeyRow } from '../../ledger/ledger-database.js';
import type { PepperUse } from '../../ledger/pepper.js';
import type { Standing } from '../../store.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { standingOf } from './standing.js';

export function insertKey(connection: Connection, row: NewKeyRow): void {
  const { concurrency, burst, requestsPerMinute } = row.limits;
  connection.write(() => {
    connection.run(
      'INSERT INTO api_key (id, name, hint, credential_hmac, pepper_id, expires_at, concurrency, ' +
        'burst, requests_per_minute, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      row.id,
      row.name,
      row.hint,
      row.credentialHmac,
      row.pepperId,
      row.expiresAt?.getTime() ?? null,
      concurrency,
      burst,
      requestsPerMinute,
      Date.now(),
    );
  });
}

/** @param onlyInState - Changes nothing if the key is in another state. */
export function updateKey(
  connection: Connection,
  keyId: string,
  { state, name, expiresAt, concurrency, burst, requestsPerMinute }: KeyChange,
  onlyInState: KeyState | undefined,
): void {
  const values: readonly (readonly [column: string, value: string | number | null | undefined])[] =
    [
      ['state', state],
      ['name', name],
      ['expires_at', expiresAt === undefined ? undefined : (expiresAt?.getTime() ?? null)],
      ['concurrency', concurrency],
      ['burst', burst],
      ['requests_per_minute', requestsPerMinute],
    ];
  const changed = values.filter(([, value]) => value !== undefined);
  if (changed.length === 0) return;
  connection.write(() => {
    connection.run(
      `UPDATE api_key SET ${changed.map(([column]) => `${column} = ?`).join(', ')} ` +
        `WHERE id = ? ${onlyInState === undefined ? '' : 'AND state = ?'}`,
      ...changed.map(([, value]) => value ?? null),
      keyId,
      ...(onlyInState === undefined ? [] : [onlyInState]),
    );
  });
}

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly state: KeyState;
  readonly expires_at: number | null;
  readonly concurrency: number;
  readonly burst: number;
  readonly requests_per_minute: number;
  readonly balance: string;
  readonly spent: string;
  readonly credited: string;
  readonly written_off: string;
  readonly uncovered: string;
  readonly created_at: number;
  readonly last_charged_at: number | null;
}

const SELECT_KEY =
  'SELECT id, name, hint, state, expires_at, concurrency, burst, requests_per_minute, balance, ' +
  'spent, credited, written_off, uncovered, created_at, last_charged_at FROM api_key';

export function getKey(connection: Connection, keyId: string): KeyRecord | undefined {
  return recordOf(connection.get<KeyRow>(`${SELECT_KEY} WHERE id = ?`, keyId));
}

export function findKey(connection: Connection, credentialHmac: Uint8Array): KeyRecord | undefined {
  return recordOf(
    connection.get<KeyRow>(`${SELECT_KEY} WHERE credential_hmac = ?`, credentialHmac),
  );
}

/** Newest first. */
export function listKeys(
  connection: Connection,
  { limit, after }: { readonly limit: number; readonly after?: string },
): readonly KeyRecord[] {
  const rows =
    after === undefined
      ? connection.all<KeyRow>(`${SELECT_KEY} ORDER BY id DESC LIMIT ?`, limit)
      : connection.all<KeyRow>(`${SELECT_KEY} WHERE id < ? ORDER BY id DESC LIMIT ?`, after, limit);
  return rows.map((row) => recordOf(row));
}

function recordOf(row: KeyRow): KeyRecord;
function recordOf(row: KeyRow | undefined): KeyRecord | undefined;
function recordOf(row: KeyRow | undefined): KeyRecord | undefined {
  if (row === undefined) return undefined;
  const { state, expires_at: expiresAt } = row;
  const balance = unitsOf(row.balance);
  const parts = { state, expiresAt, balance, uncovered: unitsOf(row.uncovered) };
  return {
    id: row.id,
    name: row.name,
    hint: row.hint,
    state,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    limits: {
      concurrency: row.concurrency,
      burst: row.burst,
      requestsPerMinute: row.requests_per_minute,
    },
    balance,
    spent: unitsOf(row.spent),
    credited: unitsOf(row.credited),
    writtenOff: unitsOf(row.written_off),
    isActive: standingOf(parts, Date.now()) === 'active',
    createdAt: new Date(row.created_at),
    lastChargedAt: row.last_charged_at === null ? null : new Date(row.last_charged_at),
  };
}

export function readStanding(connection: Connection, keyId: string, now = Date.now()): Standing {
  const row = connection.get<Pick<KeyRow, 'state' | 'expires_at' | 'balance' | 'uncovered'>>(
    'SELECT state, expires_at, balance, uncovered FROM api_key WHERE id = ?',
    keyId,
  );
  if (row === undefined) return { standing: 'unknown' };
  const { state, expires_at: expiresAt } = row;
  const [balance, uncovered] = [unitsOf(row.balance), unitsOf(row.uncovered)];
  return {
    standing: standingOf({ state, expiresAt, balance, uncovered }, now),
    balance,
    uncovered,
  };
}

export function readPepperUse(connection: Connection, pepperId: string): PepperUse {
  const isThere = (sql: string, ...values: string[]) =>
    connection.get(sql, ...values) !== undefined;
  return {
    hasKeys: isThere('SELECT 1 FROM api_key LIMIT 1'),
    hasOwnKeys: isThere('SELECT 1 FROM api_key WHERE pepper_id = ? LIMIT 1', pepperId),
  };
}
