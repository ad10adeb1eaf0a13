/** Compares the file of an archive with the ledger. */

import type { ArchiveComparison } from '../../archive.js';
import { numericFromUnits } from '../../numeric.js';
import type { AuditSource } from '../audit-source.js';
import type { CarryRow } from './carry-row.js';
import type { ArchivePlan } from './plan.js';
import { verifyArchiveFile } from './verify-file.js';
import type { VerifiedFile } from './verify-file.js';

type Difference = ArchiveComparison['differences'][number];

export function differencesFromPlan(file: VerifiedFile, plan: ArchivePlan): readonly Difference[] {
  const sums = ({ charges, charged, writtenOff }: VerifiedFile | ArchivePlan) =>
    `${String(charges)} charges of ${numericFromUnits(charged)} USD, ` +
    `${numericFromUnits(writtenOff)} USD written off`;
  return [
    ...differing(sums(plan), sums(file)),
    ...differencesOfCarries(plan.carries, file.carries),
    ...differing(`last block ${String(plan.lastBlock)}`, `last block ${String(file.lastBlock)}`),
  ];
}

/**
 * Whether the file's blocks are the ledger's. The hash of the last block covers all blocks before
 * it.
 */
export async function differencesFromChain(
  { ledger, lastBlock, lastHash }: VerifiedFile,
  source: AuditSource,
): Promise<readonly Difference[]> {
  return [
    ...differing(textOfBlock(1n, await hashOf(source, 1n)), textOfBlock(1n, ledger)),
    ...differing(
      textOfBlock(lastBlock, await hashOf(source, lastBlock)),
      textOfBlock(lastBlock, lastHash),
    ),
  ];
}

async function hashOf(source: AuditSource, block: bigint): Promise<string | undefined> {
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

function differencesOfCarries(
  ledger: readonly CarryRow[],
  file: readonly CarryRow[],
): readonly Difference[] {
  const nameOf = (row: CarryRow) =>
    `from entry ${String(row.from)} of ${row.accountId} on, of key ${row.keyId}`;
  const textOf = (row: CarryRow) =>
    `${String(row.charges)} charges of ${numericFromUnits(row.charged)} USD, ` +
    `${numericFromUnits(row.writtenOff)} USD written off (${numericFromUnits(row.overCap)} USD over caps), ` +
    `up to entry ${String(row.to)}, from ${row.firstAt.toISOString()} until ` +
    `${row.lastAt.toISOString()}, balance ${numericFromUnits(row.balanceAfter)} USD`;
  const found = new Map(file.map((row) => [nameOf(row), textOf(row)]));
  const differences: Difference[] = [];
  for (const row of ledger) {
    const name = nameOf(row);
    const text = found.get(name) ?? 'nothing';
    found.delete(name);
    differences.push(...differing(`${name}: ${textOf(row)}`, `${name}: ${text}`));
  }
  for (const [name, text] of found) {
    differences.push({ expected: `${name}: nothing`, found: `${name}: ${text}` });
  }
  return differences;
}

/** @throws {LedgerArchiveError} when the file is not sound by itself. */
export async function compareArchive(
  source: AuditSource,
  file: string,
  onProgress?: (charges: number) => void,
): Promise<ArchiveComparison> {
  const { carries, ...summary } = await verifyArchiveFile(file, onProgress);
  const archive = (await source.archives())[summary.number - 1];
  const differences = [...(await differencesFromChain({ ...summary, carries }, source))];
  if (archive === undefined) {
    differences.push({ expected: 'no such archive', found: `archive ${String(summary.number)}` });
  } else {
    differences.push(
      ...differing(`the digest ${archive.fileDigest}`, `the digest ${summary.digest}`),
      ...differencesOfCarries(await carriesOf(source, archive.number), carries),
    );
  }
  return { file: summary, differences };
}

const CARRIES_PER_PAGE = 1_000;

async function carriesOf(source: AuditSource, number: number): Promise<readonly CarryRow[]> {
  const carries: CarryRow[] = [];
  let position = { accountId: '', from: 0n, keyId: '' };
  for (;;) {
    const page = await source.carriesAfter(position, undefined, CARRIES_PER_PAGE);
    carries.push(...page.filter(({ archive }) => archive === number));
    const end = page.at(-1);
    if (end === undefined || page.length < CARRIES_PER_PAGE) return carries;
    position = end;
  }
}
