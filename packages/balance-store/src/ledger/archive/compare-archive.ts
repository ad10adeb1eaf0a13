/** Compares the file of an archive with the ledger. */

import type { ArchiveComparison, ArchiveFileSummary } from '../../archive.js';
import { numericFromUnits } from '../../numeric.js';
import { readCarried } from '../scan/carried-sums.js';
import type { LedgerScan } from '../scan/ledger-scan.js';
import { MAX_DIFFERENCES } from '../../audit.js';
import { comparePositions } from './carry.js';
import type { CarryPosition, CarryRow } from '../rows/carry-row.js';
import type { ArchivePlan } from './plan.js';
import { verifyArchiveFile } from './verify-file.js';

type Difference = ArchiveComparison['differences'][number];

export function differencesFromPlan(
  file: ArchiveFileSummary,
  plan: ArchivePlan,
): readonly Difference[] {
  const sums = ({ charges, charged, writtenOff }: ArchiveFileSummary | ArchivePlan) =>
    `${String(charges)} charges of ${numericFromUnits(charged)} USD, ` +
    `${numericFromUnits(writtenOff)} USD written off`;
  const digest = ({ carryDigest }: ArchiveFileSummary | ArchivePlan) =>
    `sums by key with the digest ${carryDigest}`;
  return [
    ...differing(sums(plan), sums(file)),
    ...differing(digest(plan), digest(file)),
    ...differing(`last block ${String(plan.lastBlock)}`, `last block ${String(file.lastBlock)}`),
  ];
}

/**
 * Whether the file's blocks are the ledger's. The hash of the last block covers all blocks before
 * it.
 */
export async function differencesFromChain(
  { ledger, lastBlock, lastHash }: ArchiveFileSummary,
  source: LedgerScan,
): Promise<readonly Difference[]> {
  return [
    ...differing(textOfBlock(1n, await hashOf(source, 1n)), textOfBlock(1n, ledger)),
    ...differing(
      textOfBlock(lastBlock, await hashOf(source, lastBlock)),
      textOfBlock(lastBlock, lastHash),
    ),
  ];
}

async function hashOf(source: LedgerScan, block: bigint): Promise<string | undefined> {
  const [found] = await source.blocksAfter(block - 1n, block, 1);
  return found === undefined ? undefined : Buffer.from(found.hash).toString('hex');
}

function textOfBlock(block: bigint, hash: string | undefined): string {
  const name = `block ${String(block)}`;
  return hash === undefined ? `no ${name}` : `${name} with the hash ${hash}`;
}

function differing(expected: string, found: string): readonly Difference[] {
  return expected === found ? [] : [{ expected, found }];
}

/**
 * Compares sums that come one after the other with those that the ledger carries for an archive.
 * Both are in the order of account, number and key.
 */
function createCarryComparison(source: LedgerScan) {
  const differences: Difference[] = [];
  let carries: AsyncGenerator<CarryRow, undefined> | undefined;
  let next: CarryRow | undefined;
  const differ = (row: CarryRow, expected: string, found: string) => {
    const name = `from entry ${String(row.from)} of ${row.accountId} on, of key ${row.keyId}`;
    if (differences.length === MAX_DIFFERENCES) return;
    differences.push(...differing(`${name}: ${expected}`, `${name}: ${found}`));
  };
  async function advance(): Promise<void> {
    const step = await carries?.next();
    next = step?.value;
  }
  async function carriedBefore(position: CarryPosition | undefined): Promise<void> {
    while (next !== undefined) {
      if (position !== undefined && comparePositions(next, position) >= 0) return;
      differ(next, sumsText(next), NOTHING);
      await advance();
    }
  }
  return {
    async add(row: CarryRow): Promise<void> {
      if (carries === undefined) {
        carries = carriesOf(source, row.archive);
        await advance();
      }
      await carriedBefore(row);
      const isSame = next !== undefined && comparePositions(next, row) === 0;
      differ(row, next !== undefined && isSame ? sumsText(next) : NOTHING, sumsText(row));
      if (isSame) await advance();
    },
    async finish(): Promise<readonly Difference[]> {
      await carriedBefore(undefined);
      return differences;
    },
  };
}

const NOTHING = 'nothing';

function sumsText(row: CarryRow): string {
  return (
    `${String(row.charges)} charges of ${numericFromUnits(row.charged)} USD, ` +
    `${numericFromUnits(row.writtenOff)} USD written off (${numericFromUnits(row.overCap)} USD over caps), ` +
    `up to entry ${String(row.to)}, from ${row.firstAt.toISOString()} until ` +
    `${row.lastAt.toISOString()}, balance ${numericFromUnits(row.balanceAfter)} USD`
  );
}

/** @throws {LedgerArchiveError} when the file is not sound by itself. */
export async function compareArchive(
  source: LedgerScan,
  file: string,
  onProgress?: (charges: number) => void,
): Promise<ArchiveComparison> {
  const carries = createCarryComparison(source);
  const summary = await verifyArchiveFile(file, { onProgress, onCarry: (row) => carries.add(row) });
  const archive = (await source.archives())[summary.number - 1];
  const differences = [...(await differencesFromChain(summary, source))];
  if (archive === undefined) {
    differences.push({ expected: 'no such archive', found: `archive ${String(summary.number)}` });
  } else {
    differences.push(
      ...differing(`the digest ${archive.fileDigest}`, `the digest ${summary.digest}`),
      ...(await carries.finish()),
    );
  }
  return { file: summary, differences };
}

async function* carriesOf(source: LedgerScan, number: number): AsyncGenerator<CarryRow, undefined> {
  for await (const row of readCarried(source, '', undefined)) if (row.archive === number) yield row;
  return undefined;
}
