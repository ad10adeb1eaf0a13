/** Writes, reads and lists documents. */

import type {
  DocumentData,
  DocumentFilter,
  DocumentWrite,
  StoredDocument,
} from '../../document.js';
import type { Connection } from './connection.js';
import { textOf, unitsOf } from './money.js';

interface DocumentRow {
  readonly seq: number;
  readonly kind: string;
  readonly id: string;
  readonly accountId: string;
  readonly version: number;
  readonly data: string;
  readonly balanceBelow: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const COLUMNS =
  'd.seq, d.kind, d.id, d.account_id AS accountId, d.version, d.data, ' +
  'd.balance_below AS balanceBelow, d.created_at AS createdAt, d.updated_at AS updatedAt';

/**
 * Call it within a transaction.
 *
 * @param now - Milliseconds since the epoch.
 * @returns whether it was written
 */
export function writeDocument(
  connection: Connection,
  { kind, id, accountId, version, data, balanceBelow = null }: DocumentWrite,
  now: number,
): boolean {
  const below = balanceBelow === null ? null : textOf(balanceBelow);
  if (version === 0) {
    const created = connection.run(
      'INSERT INTO document (kind, id, account_id, version, data, balance_below, created_at, ' +
        'updated_at) VALUES (?, ?, ?, 1, ?, ?, ?, ?) ON CONFLICT (kind, id) DO NOTHING',
      kind,
      id,
      accountId,
      JSON.stringify(data),
      below,
      now,
      now,
    );
    return created === 1;
  }
  const changed = connection.run(
    'UPDATE document SET version = version + 1, data = ?, balance_below = ?, updated_at = ? ' +
      'WHERE kind = ? AND id = ? AND version = ?',
    JSON.stringify(data),
    below,
    now,
    kind,
    id,
    version,
  );
  return changed === 1;
}

export function getDocument(
  connection: Connection,
  kind: string,
  id: string,
): StoredDocument | undefined {
  const row = connection.get<DocumentRow>(
    `SELECT ${COLUMNS} FROM document d WHERE d.kind = ? AND d.id = ?`,
    kind,
    id,
  );
  return row === undefined ? undefined : documentOf(row);
}

export function listDocuments(
  connection: Connection,
  { kind, accountId, isDue = false, before, limit }: DocumentFilter,
): readonly StoredDocument[] {
  const conditions = ['d.kind = ?'];
  if (accountId !== undefined) conditions.push('d.account_id = ?');
  if (before !== undefined) conditions.push('d.seq < ?');
  if (isDue) conditions.push('d.balance_below IS NOT NULL');
  const rows = connection.all<DocumentRow & { readonly balance: string | null }>(
    `SELECT ${COLUMNS}, a.balance AS balance FROM document d ` +
      'LEFT JOIN account a ON a.id = d.account_id ' +
      `WHERE ${conditions.join(' AND ')} ORDER BY d.seq DESC LIMIT ?`,
    kind,
    ...(accountId === undefined ? [] : [accountId]),
    ...(before === undefined ? [] : [before]),
    // Amounts are stored as text, which SQL does not compare as numbers. Therefore the due
    // documents are selected below, among all (-1 means no limit).
    isDue ? -1 : limit,
  );
  return rows
    .filter(({ balance, balanceBelow }) => !isDue || isBelow(balance, balanceBelow))
    .slice(0, limit)
    .map(({ balance: _balance, ...row }) => documentOf(row));
}

function isBelow(balance: string | null, below: string | null): boolean {
  return balance !== null && below !== null && unitsOf(balance) < unitsOf(below);
}

function documentOf(row: DocumentRow): StoredDocument {
  return {
    ...row,
    seq: BigInt(row.seq),
    data: JSON.parse(row.data) as DocumentData,
    balanceBelow: row.balanceBelow === null ? null : unitsOf(row.balanceBelow),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
  };
}
