/** Determines the contents of an archive: its charges, their blocks, and their sums. */

import { LedgerArchiveError } from '../../errors.js';
import { SEALED_LEDGER } from '../../generated/tables.js';
import type { LedgerScan, LedgerPosition, UsagePosition } from '../scan/ledger-scan.js';
import { AFTER_ALL_IDS, MAX_SEQ } from '../scan/ledger-scan.js';
import { carriedChargeOf } from './archived-charge.js';
import { allRowsOf, createCarryDigest, createCarrySums, createUsageDigest } from './carry.js';
import type { CarriedCharge } from './carry.js';
import type { CarryRow } from '../rows/carry-row.js';
import { HOUR_MS } from '../base/hours.js';

/** Pages of more rows outlive minor GCs while they are decoded. */
const ROWS_PER_PAGE = 250;

export interface ArchivePlan {
  readonly charges: number;
  readonly charged: bigint;
  readonly writtenOff: bigint;
  readonly carryDigest: string;
  /** The first and the last block that seal one of the charges. */
  readonly firstBlock: bigint;
  readonly lastBlock: bigint;
  /** For each account, the number of its last archived entry. For the writing of the file. */
  readonly lastSeqs: Map<string, bigint>;
}

export interface ArchiveRange {
  /** The number of the archive. */
  readonly number: number;
  readonly until: Date;
}

/** @returns `undefined` if the archive would have no charges */
export async function planArchive(
  source: LedgerScan,
  range: ArchiveRange,
  onProgress: (charges: number) => void,
): Promise<ArchivePlan | undefined> {
  const lastSeqs = new Map<string, bigint>();
  const totals = { charges: 0, charged: 0n, writtenOff: 0n };
  const blocks = createBlockRange(source);
  const digest = createCarryDigest();
  const carries = readCarries(source, range, async ({ accountId, seq, delta, writtenOff }) => {
    await blocks.add(accountId, seq);
    lastSeqs.set(accountId, seq);
    totals.charges += 1;
    totals.charged -= delta;
    totals.writtenOff += writtenOff;
    if (totals.charges % ROWS_PER_PAGE === 0) onProgress(totals.charges);
  });
  for await (const carry of carries) digest.add(carry);
  onProgress(totals.charges);
  if (totals.charges === 0) return undefined;
  return { ...totals, carryDigest: digest.hex(), ...(await blocks.finish()), lastSeqs };
}

/**
 * The sums of the charges to archive, in their order. Holds some thousands of them, whatever the
 * ledger has.
 *
 * @param onCharge - Called once with each charge, in the order of account and number.
 */
export async function* readCarries(
  source: LedgerScan,
  { number, until }: ArchiveRange,
  onCharge?: (charge: CarriedCharge) => Promise<void>,
): AsyncGenerator<CarryRow> {
  let sums = createCarrySums(number);
  let accountId = '';
  // Only the last account may have more keys than are kept.
  const rows = () =>
    allRowsOf(sums, async (rest) => {
      for await (const charge of chargesBefore(source, until, accountId)) rest.add(charge);
    });
  for await (const charge of chargesBefore(source, until)) {
    if (charge.accountId !== accountId && sums.size() >= ROWS_PER_PAGE) {
      yield* rows();
      sums = createCarrySums(number);
    }
    ({ accountId } = charge);
    await onCharge?.(charge);
    sums.add(charge);
  }
  yield* rows();
}

/**
 * The charges of each account, or of one, that come before its first entry at or after `until`.
 * Later entries of the account are left out, even if the clock was set back and their time is
 * before `until`. So the archived charges of an account are all its charges up to one entry number.
 */
async function* chargesBefore(
  source: LedgerScan,
  until: Date,
  ofAccount?: string,
): AsyncGenerator<CarriedCharge> {
  let position = { accountId: ofAccount ?? '', seq: 0n };
  for (;;) {
    const page = await source.entriesAfter(position, ofAccount, ROWS_PER_PAGE);
    let isSkipping = false;
    for (const fields of page) {
      const charge = carriedChargeOf(fields);
      const { accountId, seq } = charge;
      if (isSkipping && accountId === position.accountId) continue;
      isSkipping = charge.createdAtMs >= until.getTime();
      position = { accountId, seq: isSkipping ? MAX_SEQ : seq };
      if (!isSkipping && fields[SEALED_LEDGER.kind] === 'charge') yield charge;
    }
    if (page.length < ROWS_PER_PAGE) return;
  }
}

/** Finds the first and the last block of charges, which come in the order of account and number. */
function createBlockRange(source: LedgerScan) {
  let firstBlock: bigint | undefined;
  let lastBlock = 0n;
  let last: LedgerPosition | undefined;
  async function blockOf({ accountId, seq }: LedgerPosition): Promise<bigint> {
    const block = await source.blockOf({ accountId, seq });
    if (block !== undefined) return block;
    throw new LedgerArchiveError(
      `entry ${String(seq)} of ${accountId} is not sealed yet: wait a minute and try again`,
    );
  }
  async function endAccount(): Promise<void> {
    const block = last === undefined ? 0n : await blockOf(last);
    if (block > lastBlock) lastBlock = block;
  }
  return {
    async add(accountId: string, seq: bigint): Promise<void> {
      if (last?.accountId !== accountId) {
        await endAccount();
        const block = await blockOf({ accountId, seq });
        if (firstBlock === undefined || block < firstBlock) firstBlock = block;
      }
      last = { accountId, seq };
    },
    async finish() {
      await endAccount();
      return { firstBlock: firstBlock ?? 0n, lastBlock };
    },
  };
}

/** The digest of the hourly totals from the end of the previous archive to the end of this one. */
export async function usageDigestOf(
  source: LedgerScan,
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
