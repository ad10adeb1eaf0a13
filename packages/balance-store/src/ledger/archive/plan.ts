/** Determines the contents of an archive: its charges, their blocks, and their sums. */

import { LedgerArchiveError } from '../../errors.js';
import { SEALED_LEDGER } from '../../generated/tables.js';
import type { AuditSource, UsagePosition } from '../audit-source.js';
import { MAX_SEQ } from '../audit-source.js';
import { carriedChargeOf } from './archived-charge.js';
import { createCarrySums, createUsageDigest } from './carry.js';
import type { CarryRow } from './carry-row.js';
import { HOUR_MS } from '../hours.js';

const ROWS_PER_PAGE = 1_000;
/** Sorts after every id. */
const AFTER_ALL_IDS = '\u{10ffff}';

export interface ArchivePlan {
  readonly carries: readonly CarryRow[];
  readonly charges: number;
  readonly charged: bigint;
  readonly writtenOff: bigint;
  /** The first and the last block that seal one of the charges. */
  readonly firstBlock: bigint;
  readonly lastBlock: bigint;
  /** For each account, the number of its last archived entry. */
  readonly lastSeqs: ReadonlyMap<string, bigint>;
}

/**
 * Takes the charges of each account that come before its first entry at or after `until`. Later
 * entries of the account are left out, even if the clock was set back and their time is before
 * `until`. So the archived charges of an account are all its charges up to one entry number
 * (`lastSeqs`).
 *
 * @returns `undefined` if there are none.
 */
export async function planArchive(
  source: AuditSource,
  { number, until }: { readonly number: number; readonly until: Date },
  onProgress: (charges: number) => void,
): Promise<ArchivePlan | undefined> {
  const sums = createCarrySums(number);
  const firstSeqs = new Map<string, bigint>();
  const lastSeqs = new Map<string, bigint>();
  const totals = { charges: 0, charged: 0n, writtenOff: 0n };
  let position = { accountId: '', seq: 0n };
  for (;;) {
    const page = await source.entriesAfter(position, undefined, ROWS_PER_PAGE);
    let isSkipping = false;
    for (const fields of page) {
      const charge = carriedChargeOf(fields);
      const { accountId, seq } = charge;
      if (isSkipping && accountId === position.accountId) continue;
      isSkipping = charge.createdAtMs >= until.getTime();
      position = { accountId, seq: isSkipping ? MAX_SEQ : seq };
      if (isSkipping || fields[SEALED_LEDGER.kind] !== 'charge') continue;
      sums.add(charge);
      if (!firstSeqs.has(accountId)) firstSeqs.set(accountId, seq);
      lastSeqs.set(accountId, seq);
      totals.charges += 1;
      totals.charged -= charge.delta;
      totals.writtenOff += charge.writtenOff;
    }
    onProgress(totals.charges);
    if (page.length < ROWS_PER_PAGE) break;
  }
  if (totals.charges === 0) return undefined;
  const firsts = await blocksOf(source, firstSeqs);
  const lasts = await blocksOf(source, lastSeqs);
  return {
    carries: sums.rows(),
    ...totals,
    firstBlock: firsts.reduce((least, block) => (block < least ? block : least)),
    lastBlock: lasts.reduce((most, block) => (block > most ? block : most)),
    lastSeqs,
  };
}

async function blocksOf(
  source: AuditSource,
  seqs: ReadonlyMap<string, bigint>,
): Promise<readonly bigint[]> {
  const blocks: bigint[] = [];
  for (const [accountId, seq] of seqs) {
    const block = await source.blockOf({ accountId, seq });
    if (block === undefined) {
      throw new LedgerArchiveError(
        `entry ${String(seq)} of ${accountId} is not sealed yet: wait a minute and try again`,
      );
    }
    blocks.push(block);
  }
  return blocks;
}

/** The digest of the hourly totals from the end of the previous archive to the end of this one. */
export async function usageDigestOf(
  source: AuditSource,
  { after, until }: { readonly after: Date | undefined; readonly until: Date },
): Promise<string> {
  const digest = createUsageDigest();
  const fromHour = (after?.getTime() ?? 0) / HOUR_MS;
  const range = { lastAccountId: AFTER_ALL_IDS, hour: until.getTime() / HOUR_MS };
  let position: UsagePosition = {
    accountId: '',
    hour: 0,
    keyId: '',
    model: '',
    endpoint: '',
    upstreamAccount: '',
    ratesId: '',
  };
  for (;;) {
    const page = await source.usageAfter(position, range, ROWS_PER_PAGE);
    for (const row of page) if (row.hour >= fromHour) digest.add(row);
    const end = page.at(-1);
    if (end === undefined) return digest.hex();
    position = end;
  }
}
