/**
 * The mark of an archive: a sealed row of the trail. It repeats the figures of the archive's row in
 * the table `ledger_archive`.
 */

import type { LedgerArchive } from '../../archive.js';

/** The `action` of the mark's row. */
export const ARCHIVED = 'ledger.archive';

/** The `details` of the mark's row. The audit computes them again and compares the texts. */
export function markDetailsOf(
  archive: Omit<LedgerArchive, 'createdAt'>,
): Readonly<Record<string, unknown>> {
  return {
    archive: archive.number,
    until: archive.until.toISOString(),
    charges: archive.charges,
    charged: archive.charged,
    written_off: archive.writtenOff,
    last_block: archive.lastBlock.toString(),
    last_hash: archive.lastHash,
    carry_digest: archive.carryDigest,
    usage_digest: archive.usageDigest,
    file_digest: archive.fileDigest,
  };
}
