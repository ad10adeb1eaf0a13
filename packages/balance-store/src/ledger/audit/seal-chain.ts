/** Checks the seals of entries and the chain of blocks. */

import type { AuditDifference, SealHead } from '../../audit.js';
import { createCarryCursor, readCarried } from '../scan/carried-sums.js';
import { MAX_SEQ } from '../scan/ledger-scan.js';
import type { AuditSource } from './audit-source.js';
import { DIGEST_BYTES, hashOfBlock } from '../seals/hashes.js';

const SEALS_PER_PAGE = 200;
const BLOCKS_PER_PAGE = 50;

type Report = (difference: AuditDifference) => void;

interface SealedEntry {
  readonly accountId: string;
  readonly seq: bigint;
  readonly digest: Buffer;
  readonly block: bigint;
}

/** Compares entries with their seals. Entries must come in order of account and number. */
export interface SealCheck {
  /** @returns whether the entry is sealed and matches its seal */
  compare(entry: {
    readonly id: string;
    readonly accountId: string;
    readonly seq: bigint;
    readonly digest: Buffer;
  }): Promise<boolean>;
  /** Must be called after the last entry. */
  finish(): Promise<void>;
}

/**
 * @param range - Accounts whose id is greater than `after` and at most `last`; blocks up to
 * `block`, so that entries that are sealed while the audit runs are left to the next audit.
 */
export function createSealCheck(
  source: AuditSource,
  range: { readonly after: string; readonly last: string | undefined; readonly block: bigint },
  report: Report,
): SealCheck {
  const seals = readSealedEntries(source, range, report);
  const archived = createCarryCursor(readCarried(source, range.after, range.last));
  let next: SealedEntry | undefined;
  let isStarted = false;

  async function advance(): Promise<void> {
    const step = await seals.next();
    next = step.done === true ? undefined : step.value;
    isStarted = true;
  }

  /**
   * Whether the next sealed entry comes before this position. If so, it is not in the ledger.
   */
  const isMissing = (accountId: string, seq: bigint): boolean =>
    next !== undefined &&
    (next.accountId < accountId || (next.accountId === accountId && next.seq < seq));

  async function reportMissing({ accountId, seq, block }: SealedEntry): Promise<void> {
    if (await archived.carries(accountId, seq)) return;
    report({
      check: 'seal',
      accountId,
      keyId: undefined,
      entryId: undefined,
      expected: `entry ${String(seq)} of this account, sealed in block ${String(block)}`,
      found: 'none',
    });
  }

  return {
    async compare({ id, accountId, seq, digest }) {
      if (!isStarted) await advance();
      while (next !== undefined && isMissing(accountId, seq)) {
        await reportMissing(next);
        await advance();
      }
      if (next === undefined || next.accountId !== accountId || next.seq !== seq) return false;
      const isIntact = next.digest.equals(digest);
      if (!isIntact) {
        report({
          check: 'seal',
          accountId,
          keyId: undefined,
          entryId: id,
          expected: `digest ${next.digest.toString('hex')}, sealed in block ${String(next.block)}`,
          found: digest.toString('hex'),
        });
      }
      await advance();
      return isIntact;
    },
    async finish() {
      if (!isStarted) await advance();
      for (; next !== undefined; await advance()) await reportMissing(next);
    },
  };
}

async function* readSealedEntries(
  source: AuditSource,
  range: { readonly after: string; readonly last: string | undefined; readonly block: bigint },
  report: Report,
): AsyncGenerator<SealedEntry, undefined> {
  let position = { accountId: range.after, seq: MAX_SEQ };
  let expected = 1n;
  for (;;) {
    const until = { lastAccountId: range.last, block: range.block };
    const seals = await source.sealsAfter(position, until, SEALS_PER_PAGE);
    for (const { accountId, from, to, block, digests } of seals) {
      if (accountId !== position.accountId) expected = 1n;
      position = { accountId, seq: from };
      const count = Number(to - from) + 1;
      if (from !== expected || digests.length !== count * DIGEST_BYTES) {
        report({
          check: 'block',
          accountId,
          keyId: undefined,
          entryId: undefined,
          expected: `block ${String(block)} to seal entries of this account from ${String(expected)} on`,
          found: `entries ${String(from)} to ${String(to)} with ${String(digests.length)} bytes of digests`,
        });
      }
      expected = to + 1n;
      for (let index = 0; index < count; index += 1) {
        const at = index * DIGEST_BYTES;
        const digest = Buffer.from(digests.subarray(at, at + DIGEST_BYTES));
        yield { accountId, seq: from + BigInt(index), digest, block };
      }
    }
    if (seals.length < SEALS_PER_PAGE) return undefined;
  }
}

/**
 * Checks the chain from its first block to its end, and that it still contains the anchors' blocks.
 */
export async function checkChain(
  source: AuditSource,
  { head, anchors }: { readonly head: SealHead | undefined; readonly anchors: readonly SealHead[] },
  report: Report,
): Promise<void> {
  const end = head?.block ?? 0n;
  let previous = '';
  let expected = 1n;
  const anchored = new Map<bigint, string | undefined>();
  for (let after = 0n; after < end; after += BigInt(BLOCKS_PER_PAGE)) {
    for (const fields of await source.blocksAfter(after, end, BLOCKS_PER_PAGE)) {
      const { block, entries, seals } = fields;
      const [previousHash, storedHash] = [fields.previousHash, fields.hash].map(hex);
      const complain = (what: string, wanted: string, found: string) => {
        report({
          check: 'block',
          accountId: undefined,
          keyId: undefined,
          entryId: undefined,
          expected: `block ${String(expected)}: ${what} ${wanted}`,
          found,
        });
      };
      if (block !== expected) complain('number', String(expected), String(block));
      if (previousHash !== previous) complain('previous hash', previous, previousHash ?? '');
      const found = seals.reduce((sum, { digests }) => sum + digests.length / DIGEST_BYTES, 0);
      if (found !== entries) complain('entries', String(entries), String(found));
      const hash = hex(hashOfBlock(fields));
      if (hash !== storedHash) complain('hash', hash, storedHash ?? '');
      if (anchors.some((anchor) => anchor.block === block)) anchored.set(block, storedHash);
      previous = storedHash ?? '';
      expected = block + 1n;
    }
  }
  const complain = (wanted: string, found: string) => {
    report({
      check: 'block',
      accountId: undefined,
      keyId: undefined,
      entryId: undefined,
      expected: wanted,
      found,
    });
  };
  if (expected !== end + 1n) {
    complain(`blocks up to ${String(end)}`, `blocks up to ${String(expected - 1n)}`);
  }
  for (const { block, hash } of anchors) {
    const found = anchored.get(block);
    if (found !== hash) complain(`block ${String(block)}: anchored hash ${hash}`, found ?? 'none');
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
