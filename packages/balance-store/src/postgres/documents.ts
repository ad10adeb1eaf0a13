/** Reads and lists documents. */

import type { Pool } from 'pg';
import type { StoredDocument } from '../document.js';
import type { DocumentTable } from '../ledger/database/ledger-database.js';
import { unitsFromNumeric } from '../numeric.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';

interface DocumentRow extends Omit<StoredDocument, 'seq' | 'balanceBelow'> {
  readonly seq: string;
  readonly balanceBelow: string | null;
}

const COLUMNS =
  'd.seq::text, d.kind, d.id, d.account_id AS "accountId", d.version, d.data, ' +
  'd.balance_below::text AS "balanceBelow", d.created_at AS "createdAt", ' +
  'd.updated_at AS "updatedAt"';

const DUE = 'JOIN account a ON a.id = d.account_id AND a.balance < d.balance_below';

export function createDocumentTable(pool: Pool): DocumentTable {
  const query = async (text: string, values: readonly unknown[]) => {
    const rows = await reachingDatabase(() =>
      queryRows<DocumentRow>(pool, { text, values, timeoutMs: READ_TIMEOUT_MS }),
    );
    return rows.map(documentOf);
  };
  return {
    async get(kind, id) {
      const text = `SELECT ${COLUMNS} FROM document d WHERE d.kind = $1 AND d.id = $2`;
      return (await query(text, [kind, id]))[0];
    },
    list: ({ kind, accountId, isDue = false, before, limit }) =>
      query(
        `SELECT ${COLUMNS} FROM document d ${isDue ? DUE : ''} WHERE d.kind = $1 ` +
          'AND ($2::text IS NULL OR d.account_id = $2) AND ($3::int8 IS NULL OR d.seq < $3) ' +
          'ORDER BY d.seq DESC LIMIT $4',
        [kind, accountId ?? null, before?.toString() ?? null, limit],
      ),
  };
}

function documentOf({ seq, balanceBelow, ...row }: DocumentRow): StoredDocument {
  return {
    ...row,
    seq: BigInt(seq),
    balanceBelow: balanceBelow === null ? null : unitsFromNumeric(balanceBelow),
  };
}
