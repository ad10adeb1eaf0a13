/** Figures of the ledger as a whole, for monitoring. */

import type { Pool } from 'pg';
import { unitsFromNumeric } from '../numeric.js';
import type { LedgerSummary } from '../store.js';
import { WRITE_TIMEOUT_MS, queryRows } from './query.js';

interface StandingRow {
  readonly standing: keyof LedgerSummary['keys'];
  readonly keys: number;
  readonly unspent: string;
  readonly overdrawn: string;
}

interface CountsRow {
  readonly quarantined: number;
  readonly conflicts: number;
  readonly orphanedHolds: number;
  readonly lastSealAt: Date | null;
}

const NO_KEYS = { active: 0, exhausted: 0, suspended: 0, revoked: 0, expired: 0 };

export async function summarizeLedger(pool: Pool): Promise<LedgerSummary> {
  const standings = await queryRows<StandingRow>(pool, {
    text:
      'SELECT standing, count(*)::int4 AS keys, sum(greatest(balance, 0))::text AS unspent, ' +
      'sum(greatest(-balance, 0))::text AS overdrawn FROM key_standing GROUP BY standing',
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  const [counts] = await queryRows<CountsRow>(pool, {
    text:
      'SELECT (SELECT count(*)::int4 FROM quarantine) AS quarantined, ' +
      '(SELECT count(*)::int4 FROM settle_conflict) AS conflicts, ' +
      '(SELECT count(*)::int4 FROM hold WHERE orphaned_at IS NOT NULL) AS "orphanedHolds", ' +
      '(SELECT max(sealed_at) FROM ledger_block) AS "lastSealAt"',
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  if (counts === undefined) throw new Error('the ledger was not counted');
  const sumOf = (amount: 'unspent' | 'overdrawn'): bigint =>
    standings.reduce((sum, row) => sum + unitsFromNumeric(row[amount]), 0n);
  return {
    ...counts,
    lastSealAt: counts.lastSealAt ?? undefined,
    keys: Object.assign(
      { ...NO_KEYS },
      ...standings.map(({ standing, keys }) => ({ [standing]: keys })),
    ) as LedgerSummary['keys'],
    unspent: sumOf('unspent'),
    overdrawn: sumOf('overdrawn'),
  };
}
