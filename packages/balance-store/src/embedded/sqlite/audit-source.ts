/** Reads the rows of an audit. */

import { setImmediate } from 'node:timers/promises';
import type { SealHead } from '../../audit.js';
import type { AuditSource, EntryFields, SealFields } from '../../ledger/audit-source.js';
import type { Connection } from './connection.js';
import type { EntryRow } from './entries.js';
import { unitsOf } from './money.js';

export function createAuditSource(connection: Connection): AuditSource {
  /** Lets other calls of this thread run between two pages. */
  const page = async <Row>(sql: string, ...values: (string | number | bigint)[]) => {
    await setImmediate();
    return connection.all<Row>(sql, ...values);
  };
  return {
    async head() {
      await setImmediate();
      return readHead(connection);
    },

    async keysAfter(keyId, limit) {
      const rows = await page<KeyRow>(
        'SELECT id, seq, balance, spent, credited, written_off, uncovered FROM api_key ' +
          'WHERE id > ? ORDER BY id LIMIT ?',
        keyId,
        limit,
      );
      return rows.map((row) => ({
        id: row.id,
        seq: BigInt(row.seq),
        balance: unitsOf(row.balance),
        spent: unitsOf(row.spent),
        credited: unitsOf(row.credited),
        writtenOff: unitsOf(row.written_off),
        uncovered: unitsOf(row.uncovered),
      }));
    },

    async seqOf(keyId) {
      const [row] = await page<{ readonly seq: number }>(
        'SELECT seq FROM api_key WHERE id = ?',
        keyId,
      );
      return row === undefined ? undefined : BigInt(row.seq);
    },

    async entriesAfter({ keyId, seq }, lastKeyId, limit) {
      const rows =
        lastKeyId === undefined
          ? await page<EntryRow>(`${SELECT_ENTRIES} ${ENTRY_ORDER}`, keyId, seq, limit)
          : await page<EntryRow>(
              `${SELECT_ENTRIES} AND key_id <= ? ${ENTRY_ORDER}`,
              keyId,
              seq,
              lastKeyId,
              limit,
            );
      return rows.map(fieldsOf);
    },

    async sealsAfter({ keyId, seq }, { lastKeyId, block }, limit) {
      const select =
        'SELECT key_id, from_seq, to_seq, block_id, digests FROM ledger_seal ' +
        'WHERE (key_id, from_seq) > (?, ?) AND block_id <= ?';
      const order = 'ORDER BY key_id, from_seq LIMIT ?';
      const rows =
        lastKeyId === undefined
          ? await page<SealRow>(`${select} ${order}`, keyId, seq, block, limit)
          : await page<SealRow>(
              `${select} AND key_id <= ? ${order}`,
              keyId,
              seq,
              block,
              lastKeyId,
              limit,
            );
      return rows.map(sealOf);
    },

    async blocksAfter(after, last, limit) {
      const rows = await page<BlockRow>(
        'SELECT id, previous_hash, hash, entries, sealed_at FROM ledger_block ' +
          'WHERE id > ?1 AND id <= min(?1 + ?2, ?3) ORDER BY id',
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
            'SELECT key_id, from_seq, to_seq, block_id, digests FROM ledger_seal ' +
              'WHERE block_id = ? ORDER BY key_id',
            row.id,
          )
          .map(sealOf),
      }));
    },

    async counts() {
      const [counts] = await page<{
        readonly quarantined: number;
        readonly conflicts: number;
        readonly orphanedHolds: number;
      }>(
        'SELECT (SELECT count(*) FROM quarantine) AS quarantined, ' +
          '(SELECT count(*) FROM settle_conflict) AS conflicts, ' +
          '(SELECT count(*) FROM hold WHERE orphaned_at IS NOT NULL) AS orphanedHolds',
      );
      if (counts === undefined) throw new Error('the ledger was not counted');
      return { ...counts };
    },
  };
}

export function readHead(connection: Connection): SealHead | undefined {
  const row = connection.get<{ readonly id: number; readonly hash: Uint8Array }>(
    'SELECT id, hash FROM ledger_block ORDER BY id DESC LIMIT 1',
  );
  return row === undefined ? undefined : { block: BigInt(row.id), hash: hex(row.hash) };
}

interface KeyRow {
  readonly id: string;
  readonly seq: number;
  readonly balance: string;
  readonly spent: string;
  readonly credited: string;
  readonly written_off: string;
  readonly uncovered: string;
}

interface SealRow {
  readonly key_id: string;
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
    keyId: row.key_id,
    from: BigInt(row.from_seq),
    to: BigInt(row.to_seq),
    block: BigInt(row.block_id),
    digests: row.digests,
  };
}

const SELECT_ENTRIES = 'SELECT * FROM ledger WHERE (key_id, seq) > (?, ?)';
const ENTRY_ORDER = 'ORDER BY key_id, seq LIMIT ?';

/** As PostgreSQL writes each column as text, so that a chain of hashes can be moved there. */
export function fieldsOf(row: EntryRow): EntryFields {
  return [
    row.id,
    row.key_id,
    String(row.seq),
    row.kind,
    row.delta,
    row.balance_after,
    row.written_off,
    hex(row.input_hash),
    String(row.created_at),
    row.model,
    textOf(row.input_tokens),
    textOf(row.output_tokens),
    textOf(row.cache_read_input_tokens),
    textOf(row.cache_creation_input_tokens),
    textOf(row.cache_creation_1h_input_tokens),
    row.input_rate,
    row.output_rate,
    row.cache_read_rate,
    row.cache_write_5m_rate,
    row.cache_write_1h_rate,
    row.endpoint,
    row.streamed === null ? null : String(row.streamed === 1),
    row.upstream_id,
    row.remarks,
    row.actor,
  ];
}

function textOf(count: number | null): string | null {
  return count === null ? null : String(count);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
