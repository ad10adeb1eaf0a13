/** The parts of an archive that read the whole ledger or a whole file, and change neither. */

import { existsSync } from 'node:fs';
import type { ArchiveComparison, ArchiveProgress, LedgerArchive } from '../../archive.js';
import { LedgerArchiveError } from '../../errors.js';
import type { AuditSource } from '../audit-source.js';
import type { CarryRow } from './carry-row.js';
import { compareArchive, differencesFromChain, differencesFromPlan } from './compare-archive.js';
import { planArchive, readCarries, usageDigestOf } from './plan.js';
import type { ArchiveRange } from './plan.js';
import { verifyArchiveFile } from './verify-file.js';
import { writeArchiveFile } from './write-file.js';

export interface ArchiveToPrepare extends ArchiveRange {
  /** The end of the previous archive. */
  readonly after: Date | undefined;
  readonly file: string;
}

export interface ArchiveWork {
  /**
   * Writes the file of an archive, unless it exists, and reads it again.
   *
   * @returns what the ledger records of it; `undefined` if the archive would have no charges
   * @throws {LedgerArchiveError} when a file of this name is not that of this archive, or cannot be
   * written.
   */
  prepare(
    archive: ArchiveToPrepare,
    onProgress: (progress: ArchiveProgress) => void,
  ): Promise<Omit<LedgerArchive, 'createdAt'> | undefined>;
  /** The sums of the charges to archive, in the order of account, number and key. */
  carries(range: ArchiveRange): AsyncIterable<CarryRow>;
  compare(
    file: string,
    onProgress: ((charges: number) => void) | undefined,
  ): Promise<ArchiveComparison>;
}

export function createArchiveWork(source: AuditSource): ArchiveWork {
  return {
    prepare: (archive, onProgress) => prepare(source, archive, onProgress),
    carries: (range) => readCarries(source, range),
    compare: (file, onProgress) => compareArchive(source, file, onProgress),
  };
}

async function prepare(
  source: AuditSource,
  { number, until, after, file }: ArchiveToPrepare,
  onProgress: (progress: ArchiveProgress) => void,
): Promise<Omit<LedgerArchive, 'createdAt'> | undefined> {
  const progress = (stage: ArchiveProgress['stage'], done: number, total: number) => {
    onProgress({ stage, done, total });
  };
  const plan = await planArchive(source, { number, until }, (charges) => {
    progress('write', 0, charges);
  });
  if (plan === undefined) return undefined;
  if (!existsSync(file)) {
    await writeArchiveFile({ source, plan, number, until, after, file }, (done) => {
      progress('write', done, plan.charges);
    });
  }
  progress('verify', 0, plan.charges);
  const written = await verifyArchiveFile(file, {
    onProgress(done) {
      progress('verify', done, plan.charges);
    },
  });
  const [difference] = [
    ...differencesFromPlan(written, plan),
    ...(await differencesFromChain(written, source)),
  ];
  if (difference !== undefined) {
    throw new LedgerArchiveError(
      `${file} is not a file of this archive: it has ${difference.found}, but the ledger has ` +
        `${difference.expected}; nothing was changed, and nothing is overwritten`,
    );
  }
  return {
    number,
    until,
    charges: plan.charges,
    charged: plan.charged,
    writtenOff: plan.writtenOff,
    lastBlock: plan.lastBlock,
    lastHash: written.lastHash,
    carryDigest: written.carryDigest,
    usageDigest: await usageDigestOf(source, { after, until }),
    fileDigest: written.digest,
  };
}
