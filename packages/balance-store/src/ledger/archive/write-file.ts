/** Writes the file of an archive, block by block in the order of the chain. */

import { numericFromUnits } from '../../numeric.js';
import { LedgerArchiveError } from '../../errors.js';
import { SEALED_LEDGER as AT } from '../../generated/tables.js';
import type { LedgerScan } from '../scan/ledger-scan.js';
import { FORMAT, FORMAT_VERSION, blockLineOf, chargeLineOf } from './file-lines.js';
import type { EndLine, HeaderLine } from './file-lines.js';
import { createArchiveFile } from './file-writer.js';
import type { ArchiveFileWriter } from './file-writer.js';
import type { ArchivePlan } from './plan.js';

const BLOCKS_PER_PAGE = 2;

interface ArchiveWriting {
  readonly source: LedgerScan;
  readonly plan: ArchivePlan;
  readonly number: number;
  readonly after: Date | undefined;
  readonly until: Date;
  readonly file: string;
}

/**
 * If it throws, the unfinished file was removed.
 *
 * @throws {LedgerArchiveError} when the file exists or cannot be written.
 */
export async function writeArchiveFile(
  writing: ArchiveWriting,
  onProgress: (charges: number) => void,
): Promise<void> {
  const writer = createArchiveFile(writing.file);
  try {
    await writeLines(writing, writer, onProgress);
    writer.finish();
  } catch (error) {
    writer.abort();
    throw error;
  }
}

async function writeLines(
  { source, plan, number, after, until }: ArchiveWriting,
  writer: ArchiveFileWriter,
  onProgress: (charges: number) => void,
): Promise<void> {
  const [genesis] = await source.blocksAfter(0n, 1n, 1);
  if (genesis === undefined) throw new LedgerArchiveError('the ledger has no block yet');
  writer.write({
    format: FORMAT,
    version: FORMAT_VERSION,
    ledger: Buffer.from(genesis.hash).toString('hex'),
    number,
    after: after?.toISOString() ?? null,
    until: until.toISOString(),
  } satisfies HeaderLine);
  let written = 0;
  for (let last = plan.firstBlock - 1n; last < plan.lastBlock; last += BigInt(BLOCKS_PER_PAGE)) {
    for (const block of await source.blocksAfter(last, plan.lastBlock, BLOCKS_PER_PAGE)) {
      writer.write(blockLineOf(block));
      for (const charge of await source.chargesOf(block.block)) {
        if (BigInt(charge[AT.seq]) > (plan.lastSeqs.get(charge[AT.accountId]) ?? 0n)) continue;
        writer.write(chargeLineOf(charge));
        written += 1;
      }
    }
    onProgress(written);
  }
  writer.write({
    end: {
      accounts: plan.lastSeqs.size,
      charges: plan.charges,
      charged_usd: numericFromUnits(plan.charged),
      written_off_usd: numericFromUnits(plan.writtenOff),
      carry_digest: plan.carryDigest,
      digest: writer.digest(),
    },
  } satisfies EndLine);
}
