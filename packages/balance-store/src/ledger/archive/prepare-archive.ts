/** The part of an archive that reads the whole ledger and writes the file. */

import { existsSync } from 'node:fs';
import type { ArchiveProgress, LedgerArchive } from '../../archive.js';
import { LedgerArchiveError } from '../../errors.js';
import type { LedgerScan } from '../scan/ledger-scan.js';
import { differencesFromChain, differencesFromPlan } from './compare-archive.js';
import { planArchive, usageDigestOf } from './plan.js';
import type { ArchiveRange } from './plan.js';
import { verifyArchiveFile } from './verify-file.js';
import { writeArchiveFile } from './write-file.js';

export interface ArchiveToPrepare extends ArchiveRange {
  /** The end of the previous archive. */
  readonly after: Date | undefined;
  readonly file: string;
}

/** What the ledger records of an archive. */
export type PreparedArchive = Omit<LedgerArchive, 'createdAt'>;

export async function prepareArchive(
  source: LedgerScan,
  { number, until, after, file }: ArchiveToPrepare,
  onProgress: (progress: ArchiveProgress) => void,
): Promise<PreparedArchive | undefined> {
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
  // Verification needs the memory for its sums.
  plan.lastSeqs.clear();
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
