import type { ArchiveFileSummary } from '../../archive.js';
import { verifyArchiveFile } from './verify-file.js';

/**
 * Verifies the file of an archive without its ledger: every charge against its digest in the chain,
 * the chain from block to block, the amounts, the sums, and the digest of the file.
 *
 * @param onProgress - Called with the number of charges so far.
 * @throws {LedgerArchiveError} names the line that is wrong.
 */
export async function verifyArchive(
  file: string,
  onProgress?: (charges: number) => void,
): Promise<ArchiveFileSummary> {
  return verifyArchiveFile(file, { onProgress });
}
