/**
 * The hash chain over the ledger. The SQL function `seal_ledger` extends it, called by
 * `sealEntries` page by page. The checks in this file compute every hash independently of that
 * function.
 */

import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { AuditDifference, SealHead } from '../audit.js';
import { queryArrays, queryRows } from './query.js';

const ENTRIES_PER_BLOCK = 1_000;
const KEYS_PER_PAGE = 1_000;
const SEAL_TIMEOUT_MS = 30_000;
const DIGEST_BYTES = 16;
const SEALS_PER_PAGE = 200;
const BLOCKS_PER_PAGE = 50;

type Report = (difference: AuditDifference) => void;

/**
 * Seals the entries that are not sealed yet.
 *
 * @param all - Looks at every key. Without it, only at keys with entries since two minutes before
 * the last block. That misses an entry whose transaction took longer than two minutes, until the
 * next call with `all`.
 */
export async function sealEntries(pool: Pool, all: boolean): Promise<SealHead | undefined> {
  const isEmpty = (await readHead(pool)) === undefined;
  for await (const keyIds of all || isEmpty ? allKeys(pool) : changedKeys(pool)) {
    for (let sealed = ENTRIES_PER_BLOCK; sealed === ENTRIES_PER_BLOCK;) {
      const [row] = await queryRows<{ sealed: number }>(pool, {
        text: 'SELECT seal_ledger($1, $2) AS sealed',
        values: [keyIds, ENTRIES_PER_BLOCK],
        timeoutMs: SEAL_TIMEOUT_MS,
      });
      sealed = row?.sealed ?? 0;
    }
  }
  return readHead(pool);
}

async function* allKeys(pool: Pool): AsyncGenerator<readonly string[]> {
  for (let after = ''; ;) {
    const rows = await queryRows<{ id: string }>(pool, {
      text: 'SELECT id FROM api_key WHERE id > $1 ORDER BY id LIMIT $2',
      values: [after, KEYS_PER_PAGE],
      timeoutMs: SEAL_TIMEOUT_MS,
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ id }) => id);
    after = last.id;
  }
}

async function* changedKeys(pool: Pool): AsyncGenerator<readonly string[]> {
  const rows = await queryRows<{ id: string }>(pool, {
    text:
      'SELECT DISTINCT key_id AS id FROM ledger WHERE created_at >= ' +
      "(SELECT max(sealed_at) FROM ledger_block) - interval '2 minutes'",
    timeoutMs: SEAL_TIMEOUT_MS,
  });
  const ids = rows.map(({ id }) => id);
  for (let start = 0; start < ids.length; start += KEYS_PER_PAGE) {
    yield ids.slice(start, start + KEYS_PER_PAGE);
  }
}

export async function readHead(pool: Pool): Promise<SealHead | undefined> {
  const [row] = await queryRows<{ block: string; hash: string }>(pool, {
    text:
      "SELECT id::text AS block, encode(hash, 'hex') AS hash FROM ledger_block " +
      'ORDER BY ledger_block.id DESC LIMIT 1',
    timeoutMs: SEAL_TIMEOUT_MS,
  });
  return row === undefined ? undefined : { block: BigInt(row.block), hash: row.hash };
}

/**
 * One field of a hashed text. Its length in bytes precedes it, so that fields cannot run together.
 */
function sealedField(text: string | null): string {
  return text === null ? '-,' : `${String(Buffer.byteLength(text))}:${text},`;
}

/** @param fields - All columns of an entry as text, in the order of `entry_digest`. */
export function digestOfEntry(fields: readonly (string | null)[]): Buffer {
  const text = fields.map(sealedField).join('');
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES);
}

interface SealedEntry {
  readonly keyId: string;
  readonly seq: bigint;
  readonly digest: Buffer;
  readonly block: string;
}

/** Compares entries with their seals. Entries must come in order of key and number. */
export interface SealCheck {
  compare(entry: {
    readonly id: string;
    readonly keyId: string;
    readonly seq: bigint;
    readonly digest: Buffer;
  }): Promise<void>;
  /** Must be called after the last entry. @returns the number of entries that match their seal. */
  finish(): Promise<number>;
}

/**
 * @param range - Keys above `after` and not above `last`; blocks up to `block`, so that entries
 * that are sealed while the audit runs are left to the next audit.
 */
export function createSealCheck(
  pool: Pool,
  range: { readonly after: string; readonly last: string | undefined; readonly block: bigint },
  report: Report,
): SealCheck {
  const seals = readSealedEntries(pool, range, report);
  let next: SealedEntry | undefined;
  let isStarted = false;
  let intact = 0;

  async function advance(): Promise<void> {
    const step = await seals.next();
    next = step.done === true ? undefined : step.value;
    isStarted = true;
  }

  /** Whether the next sealed entry comes before this position, which means the ledger lacks it. */
  const isMissing = (keyId: string, seq: bigint): boolean =>
    next !== undefined && (next.keyId < keyId || (next.keyId === keyId && next.seq < seq));

  function reportMissing({ keyId, seq, block }: SealedEntry): void {
    report({
      check: 'seal',
      keyId,
      entryId: undefined,
      expected: `entry ${String(seq)} of this key, sealed in block ${block}`,
      found: 'none',
    });
  }

  return {
    async compare({ id, keyId, seq, digest }) {
      if (!isStarted) await advance();
      while (next !== undefined && isMissing(keyId, seq)) {
        reportMissing(next);
        await advance();
      }
      if (next === undefined || next.keyId !== keyId || next.seq !== seq) return;
      if (next.digest.equals(digest)) {
        intact += 1;
      } else {
        report({
          check: 'seal',
          keyId,
          entryId: id,
          expected: `digest ${next.digest.toString('hex')}, sealed in block ${next.block}`,
          found: digest.toString('hex'),
        });
      }
      await advance();
    },
    async finish() {
      if (!isStarted) await advance();
      for (; next !== undefined; await advance()) reportMissing(next);
      return intact;
    },
  };
}

type SealRow = [keyId: string, from: string, to: string, block: string, digests: Buffer];

async function* readSealedEntries(
  pool: Pool,
  range: { readonly after: string; readonly last: string | undefined; readonly block: bigint },
  report: Report,
): AsyncGenerator<SealedEntry, undefined> {
  let [keyId, from] = [range.after, MAX_SEQ];
  let expected = 1n;
  for (;;) {
    const rows: readonly SealRow[] = await queryArrays<SealRow>(pool, {
      text:
        'SELECT key_id, from_seq::text, to_seq::text, block_id::text, digests FROM ledger_seal ' +
        'WHERE (key_id, from_seq) > ($1, $2::int8) AND ($3::text IS NULL OR key_id <= $3) ' +
        'AND block_id <= $4::int8 ORDER BY key_id, ledger_seal.from_seq LIMIT $5',
      values: [keyId, from, range.last ?? null, range.block.toString(), SEALS_PER_PAGE],
      timeoutMs: SEAL_TIMEOUT_MS,
    });
    for (const [key, first, last, block, digests] of rows) {
      if (key !== keyId) expected = 1n;
      [keyId, from] = [key, first];
      const count = Number(BigInt(last) - BigInt(first)) + 1;
      if (BigInt(first) !== expected || digests.length !== count * DIGEST_BYTES) {
        report({
          check: 'block',
          keyId: key,
          entryId: undefined,
          expected: `block ${block} to seal entries of this key from ${String(expected)} on`,
          found: `entries ${first} to ${last} with ${String(digests.length)} bytes of digests`,
        });
      }
      expected = BigInt(last) + 1n;
      for (let index = 0; index < count; index += 1) {
        const at = index * DIGEST_BYTES;
        const digest = digests.subarray(at, at + DIGEST_BYTES);
        yield { keyId: key, seq: BigInt(first) + BigInt(index), digest, block };
      }
    }
    if (rows.length < SEALS_PER_PAGE) return undefined;
  }
}

const MAX_SEQ = (2n ** 63n - 1n).toString();

type BlockRow = [
  block: string,
  previousHash: Buffer,
  hash: Buffer,
  entries: number,
  sealedAt: string,
  keyId: string | null,
  from: string | null,
  to: string | null,
  digests: Buffer | null,
];

interface Block {
  readonly block: bigint;
  readonly previousHash: Buffer;
  readonly hash: Buffer;
  readonly entries: number;
  readonly sealedAt: string;
  readonly ranges: Buffer[];
  found: number;
}

/**
 * Checks the chain from its first block to its end, and that it still contains the anchor's block.
 */
export async function checkChain(
  pool: Pool,
  { head, anchor }: { readonly head: SealHead | undefined; readonly anchor: SealHead | undefined },
  report: Report,
): Promise<void> {
  const end = head?.block ?? 0n;
  let previous: Buffer = Buffer.alloc(0);
  let expected = 1n;
  let anchored: string | undefined;
  for (let after = 0n; after < end; after += BigInt(BLOCKS_PER_PAGE)) {
    for (const block of await readBlocks(pool, after, end)) {
      const complain = (what: string, wanted: string, found: string) => {
        report({
          check: 'block',
          keyId: undefined,
          entryId: undefined,
          expected: `block ${String(expected)}: ${what} ${wanted}`,
          found,
        });
      };
      if (block.block !== expected) complain('number', String(expected), String(block.block));
      if (!block.previousHash.equals(previous)) {
        complain('previous hash', previous.toString('hex'), block.previousHash.toString('hex'));
      }
      if (block.found !== block.entries) {
        complain('entries', String(block.entries), String(block.found));
      }
      const hash = hashOf(block);
      if (!hash.equals(block.hash)) {
        complain('hash', hash.toString('hex'), block.hash.toString('hex'));
      }
      if (block.block === anchor?.block) anchored = block.hash.toString('hex');
      previous = block.hash;
      expected = block.block + 1n;
    }
  }
  const complain = (wanted: string, found: string) => {
    report({
      check: 'block',
      keyId: undefined,
      entryId: undefined,
      expected: wanted,
      found,
    });
  };
  if (expected !== end + 1n) {
    complain(`blocks up to ${String(end)}`, `blocks up to ${String(expected - 1n)}`);
  }
  if (anchor !== undefined && anchored !== anchor.hash) {
    complain(`block ${String(anchor.block)}: anchored hash ${anchor.hash}`, anchored ?? 'none');
  }
}

function hashOf({ previousHash, block, entries, sealedAt, ranges }: Block): Buffer {
  return createHash('sha256')
    .update(previousHash)
    .update([block.toString(), String(entries), sealedAt].map(sealedField).join(''))
    .update(Buffer.concat(ranges))
    .digest();
}

async function readBlocks(pool: Pool, after: bigint, last: bigint): Promise<readonly Block[]> {
  const rows = await queryArrays<BlockRow>(pool, {
    text:
      'SELECT b.id::text, b.previous_hash, b.hash, b.entries, ' +
      '(extract(epoch FROM b.sealed_at) * 1000)::bigint::text, ' +
      's.key_id, s.from_seq::text, s.to_seq::text, s.digests ' +
      'FROM ledger_block b LEFT JOIN ledger_seal s ON s.block_id = b.id ' +
      'WHERE b.id > $1::int8 AND b.id <= least($1::int8 + $2, $3::int8) ORDER BY b.id, s.key_id',
    values: [after.toString(), BLOCKS_PER_PAGE, last.toString()],
    timeoutMs: SEAL_TIMEOUT_MS,
  });
  const blocks: Block[] = [];
  for (const [id, previousHash, hash, entries, sealedAt, keyId, from, to, digests] of rows) {
    let block = blocks.at(-1);
    if (block?.block !== BigInt(id)) {
      block = { block: BigInt(id), previousHash, hash, entries, sealedAt, ranges: [], found: 0 };
      blocks.push(block);
    }
    if (keyId === null || digests === null) continue;
    block.ranges.push(Buffer.from([keyId, from, to].map(sealedField).join('')), digests);
    block.found += digests.length / DIGEST_BYTES;
  }
  return blocks;
}
