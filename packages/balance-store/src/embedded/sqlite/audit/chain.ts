/** Reads the seals and the blocks of the hash chain, for an audit. */

import { setImmediate } from 'node:timers/promises';
import type { SealHead } from '../../../audit.js';
import type { AuditSource } from '../../../ledger/audit/audit-source.js';
import type { SealFields } from '../../../ledger/seals/hashes.js';
import type { Connection } from '../connection.js';
import { pageReader } from './page.js';

export function chainReaders(
  connection: Connection,
): Pick<AuditSource, 'head' | 'sealsAfter' | 'blocksAfter' | 'blockOf'> {
  const page = pageReader(connection);
  return {
    async head() {
      await setImmediate();
      return readHead(connection);
    },

    async sealsAfter({ accountId, seq }, { lastAccountId, block }, limit) {
      const select =
        'SELECT account_id, from_seq, to_seq, block_id, digests FROM ledger_seal ' +
        'WHERE (account_id, from_seq) > (?, ?) AND block_id <= ?';
      const order = 'ORDER BY account_id, from_seq LIMIT ?';
      const rows =
        lastAccountId === undefined
          ? await page<SealRow>(`${select} ${order}`, accountId, seq, block, limit)
          : await page<SealRow>(
              `${select} AND account_id <= ? ${order}`,
              accountId,
              seq,
              block,
              lastAccountId,
              limit,
            );
      return rows.map(sealOf);
    },

    async blocksAfter(after, last, limit) {
      const rows = await page<BlockRow>(
        'SELECT id, previous_hash, hash, entries, sealed_at FROM ledger_block ' +
          'WHERE id > ? AND id <= min(? + ?, ?) ORDER BY id',
        after,
        after,
        limit,
        last,
      );
      return rows.map((row) => ({
        block: BigInt(row.id),
        previousHash: row.previous_hash,
        hash: row.hash,
        entries: row.entries,
        sealedAtMs: String(row.sealed_at),
        seals: connection
          .all<SealRow>(
            'SELECT account_id, from_seq, to_seq, block_id, digests FROM ledger_seal ' +
              'WHERE block_id = ? ORDER BY account_id',
            row.id,
          )
          .map(sealOf),
      }));
    },

    async blockOf({ accountId, seq }) {
      const [row] = await page<{ readonly block_id: number; readonly to_seq: number }>(
        'SELECT block_id, to_seq FROM ledger_seal WHERE account_id = ? AND from_seq <= ? ' +
          'ORDER BY from_seq DESC LIMIT 1',
        accountId,
        seq,
      );
      return row === undefined || row.to_seq < seq ? undefined : BigInt(row.block_id);
    },
  };
}

export function readHead(connection: Connection): SealHead | undefined {
  const row = connection.get<{ readonly id: number; readonly hash: Uint8Array }>(
    'SELECT id, hash FROM ledger_block ORDER BY id DESC LIMIT 1',
  );
  return row === undefined ? undefined : { block: BigInt(row.id), hash: hex(row.hash) };
}

interface SealRow {
  readonly account_id: string;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly block_id: number;
  readonly digests: Uint8Array;
}

interface BlockRow {
  readonly id: number;
  readonly previous_hash: Uint8Array;
  readonly hash: Uint8Array;
  readonly entries: number;
  readonly sealed_at: number;
}

function sealOf(row: SealRow): SealFields {
  return {
    accountId: row.account_id,
    from: BigInt(row.from_seq),
    to: BigInt(row.to_seq),
    block: BigInt(row.block_id),
    digests: row.digests,
  };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
