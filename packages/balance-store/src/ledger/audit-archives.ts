/**
 * The part of the audit about archives. The carries stay in the ledger in place of the archived
 * charges. Neither the carries nor the marks of the archives in the trail may change.
 */

import { SEALED_TRAIL } from '../generated/tables.js';
import type { SealedTrail } from '../generated/tables.js';
import type { LedgerArchive } from '../archive.js';
import type { AuditDifference } from '../audit.js';
import { createCarryDigest, createUsageDigest } from './archive/carry.js';
import type { CarryPosition, CarryRow } from './archive/carry-row.js';
import { ARCHIVED, markDetailsOf } from './archive/mark.js';
import type { AuditSource, KeyRange, UsageFields } from './audit-source.js';
import { MAX_SEQ } from './audit-source.js';
import { detailsText } from './books/trail.js';
import { HOUR_MS } from './hours.js';

const CARRIES_PER_PAGE = 1_000;

/** A range of an account's entries that has only archived charges. */
export type CarriedRun = Pick<CarryRow, 'accountId' | 'from' | 'to'>;

/**
 * Sums ordered by account, entry number and key, of accounts above `after` and at most `last`.
 *
 * @param keys - Only those of these keys.
 */
export async function* readCarried(
  source: Pick<AuditSource, 'carriesAfter'>,
  after: string,
  last: string | undefined,
  keys?: KeyRange,
): AsyncGenerator<CarryRow, undefined> {
  let position: CarryPosition = { accountId: after, from: MAX_SEQ, keyId: '' };
  for (;;) {
    const page = await source.carriesAfter(
      position,
      { lastAccountId: last, keys },
      CARRIES_PER_PAGE,
    );
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < CARRIES_PER_PAGE) return undefined;
    position = end;
  }
}

export function isSameRun(a: CarriedRun | undefined, b: CarriedRun): boolean {
  return a?.accountId === b.accountId && a.from === b.from;
}

/** Finds the sums of runs. Calls must come in the order of account and entry number. */
export interface CarryCursor {
  /** The next sum whose run begins at or before this entry. Each sum is returned once. */
  takeBefore(accountId: string, seq: bigint): Promise<CarryRow | undefined>;
  /**
   * Whether a run carries this entry. Considers only the run of the sum that was taken last, and
   * those not taken yet.
   */
  carries(accountId: string, seq: bigint): Promise<boolean>;
}

export function createCarryCursor(carried: AsyncGenerator<CarryRow, undefined>): CarryCursor {
  let next: CarryRow | undefined;
  let last: CarryRow | undefined;
  let isStarted = false;
  async function advance(): Promise<void> {
    last = next;
    const step = await carried.next();
    next = step.done === true ? undefined : step.value;
    isStarted = true;
  }
  async function takeBefore(accountId: string, seq: bigint): Promise<CarryRow | undefined> {
    if (!isStarted) await advance();
    const isBefore =
      next !== undefined &&
      (next.accountId < accountId || (next.accountId === accountId && next.from <= seq));
    if (!isBefore) return undefined;
    await advance();
    return last;
  }
  return {
    takeBefore,
    async carries(accountId, seq) {
      while ((await takeBefore(accountId, seq)) !== undefined);
      return last?.accountId === accountId && seq >= last.from && seq <= last.to;
    },
  };
}

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
