/** Reads archives, their carried sums, and the counts of what is set aside, for an audit. */

import type { Pool } from 'pg';
import type { AuditCounts, AuditSource } from '../../ledger/audit/audit-source.js';
import { listArchives, listCarries } from '../archives.js';
import { LONG_TIMEOUT_MS, queryRows } from '../query.js';

const timeoutMs = LONG_TIMEOUT_MS;

export function archiveReaders(
  pool: Pool,
): Pick<AuditSource, 'archives' | 'carriesAfter' | 'hasCarriedCharges' | 'counts'> {
  return {
    archives: () => listArchives(pool),

    carriesAfter: (position, until, limit) => listCarries(pool, position, until, limit),

    async hasCarriedCharges(archive) {
      const rows = await queryRows(pool, {
        text:
          'SELECT FROM ledger_carry c CROSS JOIN LATERAL (SELECT FROM ledger l ' +
          'WHERE l.account_id = c.account_id AND l.seq BETWEEN c.from_seq AND c.to_seq ' +
          "AND l.kind = 'charge' LIMIT 1) l WHERE c.archive_id = $1 LIMIT 1",
        values: [archive],
        timeoutMs,
      });
      return rows.length > 0;
    },

    async counts() {
      const [counts] = await queryRows<Record<keyof AuditCounts, number>>(pool, {
        text:
          'SELECT (SELECT count(*)::int4 FROM quarantine) AS quarantined, ' +
          '(SELECT count(*)::int4 FROM settle_conflict) AS conflicts, ' +
          '(SELECT count(*)::int4 FROM hold WHERE orphaned_at IS NOT NULL) AS "orphanedHolds"',
        timeoutMs,
      });
      if (counts === undefined) throw new Error('the database returned no counts');
      return counts;
    },
  };
}
