/**
 * The part of the audit about archives. The carries stay in the ledger in place of the archived
 * charges. Neither the carries nor the marks of the archives in the trail may change.
 */

import { SEALED_TRAIL } from '../../generated/tables.js';
import type { SealedTrail } from '../../generated/tables.js';
import type { LedgerArchive } from '../../archive.js';
import type { AuditDifference } from '../../audit.js';
import { createCarryDigest, createUsageDigest } from '../archive/carry.js';
import type { CarryRow } from '../rows/carry-row.js';
import { ARCHIVED, markDetailsOf } from '../rows/archive-mark.js';
import type { UsageFields } from '../scan/ledger-scan.js';
import type { CarriedRun } from '../scan/carried-sums.js';
import { detailsText } from '../rows/stored-trail.js';
import { HOUR_MS } from '../base/hours.js';

/**
 * Collects carries, sums of usage and marks during a whole audit. At the end it compares the
 * carries and the sums of usage with the digests in the ledger's records of archives, and these
 * records with the marks.
 */
export function createArchiveAudit(
  archives: readonly LedgerArchive[],
  complain: (found: AuditDifference) => void,
) {
  const marks = new Map<string, number>();
  const audited = archives.map((archive) => ({
    archive,
    untilHour: archive.until.getTime() / HOUR_MS,
    carries: createCarryDigest(),
    usage: createUsageDigest(),
  }));
  const closedHour = audited.at(-1)?.untilHour ?? 0;
  const differ = (expected: string, found: string, accountId?: string) => {
    complain({
      check: 'archive',
      accountId,
      keyId: undefined,
      entryId: undefined,
      expected,
      found,
    });
  };
  return {
    /**
     * The hourly totals of earlier hours are compared with digests and not with charges, because
     * these may have left the ledger.
     */
    closedHour,
    addCarry(row: CarryRow): void {
      const of = audited[row.archive - 1];
      of?.carries.add(row);
      if (of !== undefined) return;
      const from = `archive ${String(row.archive)}, to which the sums from entry ${String(row.from)}`;
      differ(`${from} on belong`, 'none', row.accountId);
    },
    /** Call it after the sums of a run. @param charges - How many charges they have. */
    endRun({ accountId, from, to }: CarriedRun, charges: bigint): void {
      if (charges === to - from + 1n) return;
      const expected = `${String(to - from + 1n)} charges carried from entry ${String(from)} on`;
      differ(expected, String(charges), accountId);
    },
    addUsage(sum: UsageFields): void {
      audited.find(({ untilHour }) => sum.hour < untilHour)?.usage.add(sum);
    },
    addTrail(row: SealedTrail): void {
      const [action, details] = [row[SEALED_TRAIL.action], row[SEALED_TRAIL.details]];
      if (action === ARCHIVED) marks.set(details, (marks.get(details) ?? 0) + 1);
    },
    finish(): void {
      audited.forEach(({ archive, carries, usage }, index) => {
        const name = `archive ${String(archive.number)}`;
        if (archive.number !== index + 1) differ(`archive ${String(index + 1)}`, name);
        const expect = (what: string, expected: string, found: string) => {
          if (expected !== found) differ(`${name}: ${what} ${expected}`, found);
        };
        expect('carried sums with the digest', archive.carryDigest, carries.hex());
        expect('sums of usage with the digest', archive.usageDigest, usage.hex());
        const details = detailsText(markDetailsOf(archive));
        if (marks.get(details) !== 1) differ(`${name}: its figures in the trail`, 'others or none');
        marks.delete(details);
      });
      for (const details of marks.keys())
        differ(`an archive as the trail records it: ${details}`, 'none');
    },
  };
}

export type ArchiveAudit = ReturnType<typeof createArchiveAudit>;
