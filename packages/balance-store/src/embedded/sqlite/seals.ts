/** Extends the hash chain. The same rules as the SQL function `seal_ledger` on PostgreSQL. */

import { digestOfEntry, DIGEST_BYTES, hashOfBlock } from '../../ledger/seal-chain.js';
import { fieldsOf } from './audit-source.js';
import type { Connection } from './connection.js';
import type { EntryRow } from './entries.js';

const SETTLED_MS = 120_000;

/** Keys with entries since two minutes before the last block, or all. */
export function unsealedKeyIds(
  connection: Connection,
  which: 'all' | 'changed',
): readonly string[] {
  const rows =
    which === 'all'
      ? connection.all<{ readonly id: string }>('SELECT id FROM api_key ORDER BY id')
      : connection.all<{ readonly id: string }>(
          'SELECT DISTINCT key_id AS id FROM ledger WHERE created_at >= ' +
            '(SELECT max(sealed_at) FROM ledger_block) - ?',
          SETTLED_MS,
        );
  return rows.map(({ id }) => id);
}

/** @returns how many entries were sealed */
export function sealBlock(
  connection: Connection,
  keyIds: readonly string[],
  maxEntries: number,
): number {
  return connection.write(() => {
    const last = connection.get<{ readonly id: number; readonly hash: Uint8Array }>(
      'SELECT id, hash FROM ledger_block ORDER BY id DESC LIMIT 1',
    );
    const block = (last?.id ?? 0) + 1;
    const previousHash = last?.hash ?? new Uint8Array();
    const sealedAt = Date.now();
    const seals: { keyId: string; from: bigint; to: bigint; digests: Buffer }[] = [];
    let entries = 0;
    for (const keyId of [...keyIds].sort()) {
      const range = unsealedRange(connection, keyId, maxEntries - entries);
      if (range === undefined) continue;
      const { from, to } = range;
      const digests = digestsOf(connection, keyId, from, to);
      connection.run(
        'INSERT INTO ledger_seal (key_id, from_seq, to_seq, block_id, digests) ' +
          'VALUES (?, ?, ?, ?, ?)',
        keyId,
        from,
        to,
        block,
        digests,
      );
      seals.push({ keyId, from: BigInt(from), to: BigInt(to), digests });
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
  keyId: string,
  maxEntries: number,
): { readonly from: number; readonly to: number } | undefined {
  const row = connection.get<{ readonly seq: number; readonly sealed: number | null }>(
    'SELECT seq, (SELECT to_seq FROM ledger_seal WHERE key_id = api_key.id ' +
      'ORDER BY from_seq DESC LIMIT 1) AS sealed FROM api_key WHERE id = ?',
    keyId,
  );
  if (row === undefined) return undefined;
  const from = (row.sealed ?? 0) + 1;
  return row.seq < from ? undefined : { from, to: Math.min(row.seq, from + maxEntries - 1) };
}

/** The digests of these entries, one after the other. */
export function digestsOf(connection: Connection, keyId: string, from: number, to: number): Buffer {
  const rows = connection.all<EntryRow>(
    'SELECT * FROM ledger WHERE key_id = ? AND seq BETWEEN ? AND ? ORDER BY seq',
    keyId,
    from,
    to,
  );
  const digests = Buffer.concat(rows.map((row) => digestOfEntry(fieldsOf(row))));
  if (digests.length !== DIGEST_BYTES * (to - from + 1)) {
    throw new Error(`entries of key ${keyId} are missing: audit the ledger before it is sealed`);
  }
  return digests;
}
