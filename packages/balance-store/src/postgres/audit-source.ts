/** Reads the rows of an audit from PostgreSQL. */

import type { Pool } from 'pg';
import type {
  AuditCounts,
  AuditSource,
  BlockFields,
  EntryFields,
  SealFields,
} from '../ledger/audit-source.js';
import { unitsFromNumeric } from '../numeric.js';
import { LONG_TIMEOUT_MS, queryArrays, queryRows } from './query.js';
import { readHead } from './seals.js';

const timeoutMs = LONG_TIMEOUT_MS;

export function createAuditSource(pool: Pool): AuditSource {
  return {
    head: () => readHead(pool),

    async keysAfter(keyId, limit) {
      const rows = await queryArrays<[string, string, string, string, string, string, string]>(
        pool,
        {
          text:
            'SELECT id, seq::text, balance::text, spent::text, credited::text, ' +
            'written_off::text, uncovered::text FROM api_key WHERE id > $1 ORDER BY id LIMIT $2',
          values: [keyId, limit],
          timeoutMs,
        },
      );
      return rows.map(([id, seq, balance, spent, credited, writtenOff, uncovered]) => ({
        id,
        seq: BigInt(seq),
        balance: unitsFromNumeric(balance),
        spent: unitsFromNumeric(spent),
        credited: unitsFromNumeric(credited),
        writtenOff: unitsFromNumeric(writtenOff),
        uncovered: unitsFromNumeric(uncovered),
      }));
    },

    async seqOf(keyId) {
      const [row] = await queryRows<{ seq: string }>(pool, {
        text: 'SELECT seq::text FROM api_key WHERE id = $1',
        values: [keyId],
        timeoutMs,
      });
      return row === undefined ? undefined : BigInt(row.seq);
    },

    entriesAfter: ({ keyId, seq }, lastKeyId, limit) =>
      queryArrays<EntryFields>(pool, {
        text: READ_ENTRIES,
        values: [keyId, seq.toString(), lastKeyId ?? null, limit],
        timeoutMs,
      }),

    async sealsAfter({ keyId, seq }, { lastKeyId, block }, limit) {
      const rows = await queryArrays<[string, string, string, string, Buffer]>(pool, {
        text:
          'SELECT key_id, from_seq::text, to_seq::text, block_id::text, digests ' +
          'FROM ledger_seal WHERE (key_id, from_seq) > ($1, $2::int8) ' +
          'AND ($3::text IS NULL OR key_id <= $3) AND block_id <= $4::int8 ' +
          'ORDER BY key_id, ledger_seal.from_seq LIMIT $5',
        values: [keyId, seq.toString(), lastKeyId ?? null, block.toString(), limit],
        timeoutMs,
      });
      return rows.map(([key, from, to, of, digests]): SealFields => ({
        keyId: key,
        from: BigInt(from),
        to: BigInt(to),
        block: BigInt(of),
        digests,
      }));
    },

    blocksAfter: (after, last, limit) => readBlocks(pool, after, last, limit),

    async counts() {
      const [counts] = await queryRows<Record<keyof AuditCounts, number>>(pool, {
        text:
          'SELECT (SELECT count(*)::int4 FROM quarantine) AS quarantined, ' +
          '(SELECT count(*)::int4 FROM settle_conflict) AS conflicts, ' +
          '(SELECT count(*)::int4 FROM hold WHERE orphaned_at IS NOT NULL) AS "orphanedHolds"',
        timeoutMs,
      });
      if (counts === undefined) throw new Error('the ledger was not counted');
      return counts;
    },
  };
}

const READ_ENTRIES =
  'SELECT id, key_id, seq::text, kind, delta::text, balance_after::text, written_off::text, ' +
  "encode(input_hash, 'hex'), " +
  '(extract(epoch FROM created_at) * 1000)::bigint::text, model, input_tokens::text, ' +
  'output_tokens::text, cache_read_input_tokens::text, cache_creation_input_tokens::text, ' +
  'cache_creation_1h_input_tokens::text, input_rate::text, output_rate::text, ' +
  'cache_read_rate::text, cache_write_5m_rate::text, cache_write_1h_rate::text, endpoint, ' +
  'streamed::text, upstream_id, remarks, actor FROM ledger ' +
  'WHERE (key_id, ledger.seq) > ($1, $2::int8) AND ($3::text IS NULL OR key_id <= $3) ' +
  'ORDER BY key_id, ledger.seq LIMIT $4';

type BlockRow = [
  block: string,
  previousHash: Buffer,
  hash: Buffer,
  entries: number,
  sealedAtMs: string,
  keyId: string | null,
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
      's.key_id, s.from_seq::text, s.to_seq::text, s.digests ' +
      'FROM ledger_block b LEFT JOIN ledger_seal s ON s.block_id = b.id ' +
      'WHERE b.id > $1::int8 AND b.id <= least($1::int8 + $2, $3::int8) ORDER BY b.id, s.key_id',
    values: [after.toString(), limit, last.toString()],
    timeoutMs,
  });
  const blocks: (BlockFields & { readonly seals: BlockFields['seals'][number][] })[] = [];
  for (const [id, previousHash, hash, entries, sealedAtMs, keyId, from, to, digests] of rows) {
    let block = blocks.at(-1);
    if (block?.block !== BigInt(id)) {
      block = { block: BigInt(id), previousHash, hash, entries, sealedAtMs, seals: [] };
      blocks.push(block);
    }
    if (keyId === null || from === null || to === null || digests === null) continue;
    block.seals.push({ keyId, from: BigInt(from), to: BigInt(to), digests });
  }
  return blocks;
}
