/** Extends the hash chain by the same rules as the SQL function `seal_ledger` on PostgreSQL. */

import { sealedLedgerOf, sealedTrailOf } from '../../generated/tables.js';
import { digestOfEntry, DIGEST_BYTES, hashOfBlock, TRAIL } from '../../ledger/seals/hashes.js';
import type { Connection } from './connection.js';
import { SELECT_ENTRIES } from './entries.js';
import type { EntryRow } from './entries.js';
import { TRAIL_COLUMNS } from './trail.js';
import type { TrailRow } from './trail.js';

const CHANGED_MARGIN_MS = 120_000;

/** The ids of accounts in their order, beginning after one. */
export function accountIdsAfter(
  connection: Connection,
  accountId: string,
  limit: number,
): readonly string[] {
  return idsOf(connection, 'SELECT id FROM account WHERE id > ? ORDER BY id LIMIT ?', [
    accountId,
    limit,
  ]);
}

/** The ids of the accounts with entries since two minutes before the last block. */
export function changedAccountIds(connection: Connection): readonly string[] {
  return idsOf(
    connection,
    'SELECT DISTINCT account_id AS id FROM ledger WHERE created_at >= ' +
      '(SELECT max(sealed_at) FROM ledger_block) - ?',
    [CHANGED_MARGIN_MS],
  );
}

function idsOf(connection: Connection, sql: string, values: readonly (string | number)[]) {
  return connection.all<{ readonly id: string }>(sql, ...values).map(({ id }) => id);
}

/** @returns how many entries were sealed */
export function sealBlock(
  connection: Connection,
  accountIds: readonly string[],
  maxEntries: number,
): number {
  return connection.write(() => {
    const last = connection.get<{ readonly id: number; readonly hash: Uint8Array }>(
      'SELECT id, hash FROM ledger_block ORDER BY id DESC LIMIT 1',
    );
    const block = (last?.id ?? 0) + 1;
    const previousHash = last?.hash ?? new Uint8Array();
    const sealedAt = Date.now();
    const seals: { accountId: string; from: bigint; to: bigint; digests: Buffer }[] = [];
    let entries = 0;
    for (const accountId of [...accountIds].sort()) {
      const range = unsealedRange(connection, accountId, maxEntries - entries);
      if (range === undefined) continue;
      const { from, to } = range;
      const digests = digestsOf(connection, accountId, from, to);
      connection.run(
        'INSERT INTO ledger_seal (account_id, from_seq, to_seq, block_id, digests) ' +
          'VALUES (?, ?, ?, ?, ?)',
        accountId,
        from,
        to,
        block,
        digests,
      );
      seals.push({ accountId, from: BigInt(from), to: BigInt(to), digests });
      entries += to - from + 1;
      if (entries >= maxEntries) break;
    }
    if (entries === 0) return 0;
    const fields = {
      block: BigInt(block),
      previousHash,
      entries,
      sealedAtMs: String(sealedAt),
      seals,
    };
    connection.run(
      'INSERT INTO ledger_block (id, previous_hash, hash, entries, sealed_at) ' +
        'VALUES (?, ?, ?, ?, ?)',
      block,
      previousHash,
      hashOfBlock(fields),
      entries,
      sealedAt,
    );
    return entries;
  });
}

function unsealedRange(
  connection: Connection,
  accountId: string,
  maxEntries: number,
): { readonly from: number; readonly to: number } | undefined {
  const last = connection.get<{ readonly seq: number | null }>(
    accountId === TRAIL
      ? 'SELECT max(seq) AS seq FROM trail WHERE ? IS NOT NULL'
      : 'SELECT seq FROM account WHERE id = ?',
    accountId,
  );
  const sealed = connection.get<{ readonly to_seq: number }>(
    'SELECT to_seq FROM ledger_seal WHERE account_id = ? ORDER BY from_seq DESC LIMIT 1',
    accountId,
  );
  const from = (sealed?.to_seq ?? 0) + 1;
  const seq = last?.seq ?? 0;
  return seq < from ? undefined : { from, to: Math.min(seq, from + maxEntries - 1) };
}

/** The digests of these entries, one after the other. */
export function digestsOf(
  connection: Connection,
  accountId: string,
  from: number,
  to: number,
): Buffer {
  const fields =
    accountId === TRAIL
      ? connection
          .all<TrailRow>(
            `SELECT ${TRAIL_COLUMNS} FROM trail t WHERE t.seq BETWEEN ? AND ? ORDER BY t.seq`,
            from,
            to,
          )
          .map(sealedTrailOf)
      : connection
          .all<EntryRow>(
            `${SELECT_ENTRIES} WHERE account_id = ? AND seq BETWEEN ? AND ? ORDER BY seq`,
            accountId,
            from,
            to,
          )
          .map(sealedLedgerOf);
  const digests = Buffer.concat(fields.map(digestOfEntry));
  if (digests.length !== DIGEST_BYTES * (to - from + 1)) {
    throw new Error(`entries of ${accountId} are missing, so nothing was sealed: audit the ledger`);
  }
  return digests;
}
