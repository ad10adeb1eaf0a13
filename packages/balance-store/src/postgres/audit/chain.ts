/** Reads the seals and the blocks of the hash chain, for an audit. */

import type { Pool } from 'pg';
import type { AuditSource } from '../../ledger/audit/audit-source.js';
import type { BlockFields, SealFields } from '../../ledger/seals/hashes.js';
import { LONG_TIMEOUT_MS, queryArrays, queryRows } from '../query.js';
import { readHead } from '../seals.js';

const timeoutMs = LONG_TIMEOUT_MS;

export function chainReaders(
  pool: Pool,
): Pick<AuditSource, 'head' | 'sealsAfter' | 'blocksAfter' | 'blockOf'> {
  return {
    head: () => readHead(pool),

    async sealsAfter({ accountId, seq }, { lastAccountId, block }, limit) {
      const rows = await queryArrays<[string, string, string, string, Buffer]>(pool, {
        text:
          'SELECT account_id, from_seq::text, to_seq::text, block_id::text, digests ' +
          'FROM ledger_seal WHERE (account_id, from_seq) > ($1, $2::int8) ' +
          'AND ($3::text IS NULL OR account_id <= $3) AND block_id <= $4::int8 ' +
          'ORDER BY account_id, ledger_seal.from_seq LIMIT $5',
        values: [accountId, seq.toString(), lastAccountId ?? null, block.toString(), limit],
        timeoutMs,
      });
      return rows.map(([account, from, to, of, digests]): SealFields => ({
        accountId: account,
        from: BigInt(from),
        to: BigInt(to),
        block: BigInt(of),
        digests,
      }));
    },

    blocksAfter: (after, last, limit) => readBlocks(pool, after, last, limit),

    async blockOf({ accountId, seq }) {
      const [row] = await queryRows<{ block: string; isSealed: boolean }>(pool, {
        text:
          'SELECT block_id::text AS block, to_seq >= $2::int8 AS "isSealed" FROM ledger_seal ' +
          'WHERE account_id = $1 AND from_seq <= $2::int8 ORDER BY from_seq DESC LIMIT 1',
        values: [accountId, seq.toString()],
        timeoutMs,
      });
      return row?.isSealed === true ? BigInt(row.block) : undefined;
    },
  };
}

type BlockRow = [
  block: string,
  previousHash: Buffer,
  hash: Buffer,
  entries: number,
  sealedAtMs: string,
  accountId: string | null,
  from: string | null,
  to: string | null,
  digests: Buffer | null,
];

async function readBlocks(
  pool: Pool,
  after: bigint,
  last: bigint,
  limit: number,
): Promise<readonly BlockFields[]> {
  const rows = await queryArrays<BlockRow>(pool, {
    text:
      'SELECT b.id::text, b.previous_hash, b.hash, b.entries, ' +
      '(extract(epoch FROM b.sealed_at) * 1000)::bigint::text, ' +
      's.account_id, s.from_seq::text, s.to_seq::text, s.digests ' +
      'FROM ledger_block b LEFT JOIN ledger_seal s ON s.block_id = b.id ' +
      'WHERE b.id > $1::int8 AND b.id <= least($1::int8 + $2, $3::int8) ORDER BY b.id, s.account_id',
    values: [after.toString(), limit, last.toString()],
    timeoutMs,
  });
  const blocks: (BlockFields & { readonly seals: BlockFields['seals'][number][] })[] = [];
  for (const [id, previousHash, hash, entries, sealedAtMs, accountId, from, to, digests] of rows) {
    let block = blocks.at(-1);
    if (block?.block !== BigInt(id)) {
      block = { block: BigInt(id), previousHash, hash, entries, sealedAtMs, seals: [] };
      blocks.push(block);
    }
    if (accountId === null || from === null || to === null || digests === null) continue;
    block.seals.push({ accountId, from: BigInt(from), to: BigInt(to), digests });
  }
  return blocks;
}
