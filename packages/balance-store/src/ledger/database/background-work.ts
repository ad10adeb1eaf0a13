/**
 * The work that reads the whole ledger, or a whole file of an archive: operations of a thread, and
 * the side that calls them.
 */

import type { ArchiveProgress } from '../../archive.js';
import type { AuditOptions } from '../../audit.js';
import { LedgerArchiveError } from '../../errors.js';
import { prepareArchive } from '../archive/prepare-archive.js';
import type { ArchiveToPrepare } from '../archive/prepare-archive.js';
import type { CarryRow } from '../rows/carry-row.js';
import { compareArchive } from '../archive/compare-archive.js';
import { readCarries } from '../archive/plan.js';
import type { ArchiveRange } from '../archive/plan.js';
import { verifyArchiveFile } from '../archive/verify-file.js';
import { auditLedger } from '../audit/audit-ledger.js';
import type { AuditSource } from '../audit/audit-source.js';
import type { BackgroundWork, OnCharges } from './ledger-database.js';
import type { LedgerThread } from '../threads/thread-client.js';

export type BackgroundOperations = ReturnType<typeof createBackgroundOperations>;

export function createBackgroundOperations(source: AuditSource) {
  let carries: AsyncIterator<CarryRow> | undefined;
  return {
    audit: (
      options: Pick<AuditOptions, 'anchor'>,
      onProgress: AuditOptions['onProgress'] = undefined,
    ) => auditLedger(source, { ...options, onProgress }),
    prepareArchive: (
      archive: ArchiveToPrepare,
      onProgress: (progress: ArchiveProgress) => void = () => undefined,
    ) => prepareArchive(source, archive, onProgress),
    /**
     * A page of {@link BackgroundWork.carries}; an empty one after the last.
     *
     * @param range - Begins again.
     */
    async nextCarries(range: ArchiveRange | undefined, limit: number) {
      if (range !== undefined) carries = readCarries(source, range)[Symbol.asyncIterator]();
      if (carries === undefined) throw new LedgerArchiveError('the thread has ended: try again');
      const page: CarryRow[] = [];
      while (page.length < limit) {
        const next = await carries.next();
        if (next.done === true) break;
        page.push(next.value);
      }
      return page;
    },
    verifyArchive: (file: string, onProgress: OnCharges = undefined) =>
      verifyArchiveFile(file, { onProgress }),
    compareArchive: (file: string, onProgress: OnCharges = undefined) =>
      compareArchive(source, file, onProgress),
  };
}

const CARRIES_PER_PAGE = 250;

/** No timeouts: the work reads page by page, and its duration grows with the ledger. */
export function createBackgroundWork(thread: LedgerThread<BackgroundOperations>): BackgroundWork {
  return {
    audit: ({ anchor, onProgress }) => thread.call('audit', [{ anchor }], undefined, onProgress),
    prepareArchive: (archive, onProgress) =>
      thread.call('prepareArchive', [archive], undefined, onProgress),
    async *carries(range) {
      const next = (from: ArchiveRange | undefined) =>
        thread.call('nextCarries', [from, CARRIES_PER_PAGE], undefined);
      for (let page = await next(range); page.length > 0; page = await next(undefined)) yield* page;
    },
    verifyArchive: (file, onProgress) =>
      thread.call('verifyArchive', [file], undefined, onProgress),
    compareArchive: (file, onProgress) =>
      thread.call('compareArchive', [file], undefined, onProgress),
  };
}
