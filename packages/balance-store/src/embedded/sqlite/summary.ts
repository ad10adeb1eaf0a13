/** Figures of the ledger as a whole, for monitoring. */

import type { KeyState } from '../../key.js';
import type { LedgerSummary } from '../../store.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { standingOf } from './standing.js';

export function summarizeLedger(connection: Connection): LedgerSummary {
  const now = Date.now();
  const keys = { active: 0, exhausted: 0, suspended: 0, revoked: 0, expired: 0 };
  let [unspent, overdrawn] = [0n, 0n];
  const rows = connection.all<{
    readonly state: KeyState;
    readonly expires_at: number | null;
    readonly balance: string;
    readonly uncovered: string;
  }>('SELECT state, expires_at, balance, uncovered FROM api_key');
  for (const row of rows) {
    const balance = unitsOf(row.balance);
    const { state, expires_at: expiresAt } = row;
    keys[standingOf({ state, expiresAt, balance, uncovered: unitsOf(row.uncovered) }, now)] += 1;
    if (balance > 0n) unspent += balance;
    else overdrawn -= balance;
  }
  const counts = connection.get<{
    readonly quarantined: number;
    readonly conflicts: number;
    readonly orphanedHolds: number;
    readonly lastSealAt: number | null;
  }>(
    'SELECT (SELECT count(*) FROM quarantine) AS quarantined, ' +
      '(SELECT count(*) FROM settle_conflict) AS conflicts, ' +
      '(SELECT count(*) FROM hold WHERE orphaned_at IS NOT NULL) AS orphanedHolds, ' +
      '(SELECT max(sealed_at) FROM ledger_block) AS lastSealAt',
  );
  if (counts === undefined) throw new Error('the ledger was not counted');
  const lastSealAt = counts.lastSealAt === null ? undefined : new Date(counts.lastSealAt);
  return { ...counts, lastSealAt, keys, unspent, overdrawn };
}
