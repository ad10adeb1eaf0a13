/** Reads archives, their carried sums, and the counts of what is set aside, for an audit. */

import { setImmediate } from 'node:timers/promises';
import type { AuditSource } from '../../../ledger/audit/audit-source.js';
import { listArchives, listCarries } from '../archives.js';
import type { Connection } from '../connection.js';
import { pageReader } from './page.js';

export function archiveReaders(
  connection: Connection,
): Pick<AuditSource, 'archives' | 'carriesAfter' | 'hasCarriedCharges' | 'counts'> {
  const page = pageReader(connection);
  return {
    async archives() {
      await setImmediate();
      return listArchives(connection);
    },

    async carriesAfter(position, until, limit) {
      await setImmediate();
      return listCarries(connection, position, until, limit);
    },

    async hasCarriedCharges(archive) {
      const rows = await page<object>(
        'SELECT 1 FROM ledger_carry c CROSS JOIN ledger l ON l.account_id = c.account_id ' +
          "AND l.seq BETWEEN c.from_seq AND c.to_seq WHERE c.archive_id = ? AND l.kind = 'charge' " +
          'LIMIT 1',
        archive,
      );
      return rows.length > 0;
    },

    async counts() {
      const [counts] = await page<{
        readonly quarantined: number;
        readonly conflicts: number;
        readonly orphanedHolds: number;
      }>(
        'SELECT (SELECT count(*) FROM quarantine) AS quarantined, ' +
          '(SELECT count(*) FROM settle_conflict) AS conflicts, ' +
          '(SELECT count(*) FROM hold WHERE orphaned_at IS NOT NULL) AS orphanedHolds',
      );
      if (counts === undefined) throw new Error('the database returned no counts');
      return { ...counts };
    },
  };
}
