/** Computes figures of the ledger as a whole, for monitoring. */

import type { LedgerSummary } from '../../store.js';
import type { Connection } from './connection.js';
import { FROM_KEY, STANDING_COLUMNS, UNDER_PREVIOUS_PEPPER, standingOfRow } from './keys.js';
import type { StandingRow } from './keys.js';
import { EXPIRED_LOTS, expiredCreditIn } from './expired-credit.js';
import type { ExpiredCreditRow } from './expired-credit.js';
import { unitsOf } from './money.js';
import { dateOf } from './time.js';

export function summarizeLedger(connection: Connection, pepperId: string): LedgerSummary {
  const now = Date.now();
  const keys = { active: 0, exhausted: 0, suspended: 0, revoked: 0, expired: 0 };
  const rows = connection.all<StandingRow>(`SELECT ${STANDING_COLUMNS} ${FROM_KEY}`);
  for (const row of rows) keys[standingOfRow(row, now).standing] += 1;
  const accounts = connection.all<
    ExpiredCreditRow & {
      readonly balance: string;
      readonly expired: string;
      readonly written_off: string;
    }
  >(`SELECT balance, expired, written_off, spent, allotted, ${EXPIRED_LOTS} FROM account`);
  let [unspent, overdrawn, expired, writtenOff] = [0n, 0n, 0n, 0n];
  for (const account of accounts) {
    const expiredCredit = expiredCreditIn(account);
    const balance = unitsOf(account.balance) - expiredCredit;
    if (balance > 0n) unspent += balance;
    else overdrawn -= balance;
    expired += unitsOf(account.expired) + expiredCredit;
    writtenOff += unitsOf(account.written_off);
  }
  const counts = connection.get<{
    readonly keysUnderPreviousPepper: number;
    readonly quarantined: number;
    readonly conflicts: number;
    readonly orphanedHolds: number;
    readonly undeliveredEvents: number;
    readonly oldestPendingEventAt: number | null;
    readonly lastSealAt: number | null;
    readonly lastEntryAt: number | null;
  }>(
    `SELECT (SELECT count(*) FROM api_key WHERE ${UNDER_PREVIOUS_PEPPER}) ` +
      'AS keysUnderPreviousPepper, ' +
      '(SELECT count(*) FROM quarantine) AS quarantined, ' +
      '(SELECT count(*) FROM settle_conflict) AS conflicts, ' +
      '(SELECT count(*) FROM hold WHERE orphaned_at IS NOT NULL) AS orphanedHolds, ' +
      '(SELECT count(*) FROM event WHERE due_at IS NULL AND delivered_at IS NULL) ' +
      'AS undeliveredEvents, ' +
      '(SELECT min(created_at) FROM event WHERE due_at IS NOT NULL) AS oldestPendingEventAt, ' +
      '(SELECT max(sealed_at) FROM ledger_block) AS lastSealAt, ' +
      '(SELECT max(created_at) FROM ledger) AS lastEntryAt',
    pepperId,
    pepperId,
    now,
  );
  if (counts === undefined) throw new Error('the database returned no counts');
  return {
    ...counts,
    oldestPendingEventAt: dateOf(counts.oldestPendingEventAt) ?? undefined,
    lastSealAt: dateOf(counts.lastSealAt) ?? undefined,
    lastEntryAt: dateOf(counts.lastEntryAt) ?? undefined,
    clockBehindMs: Math.max(0, (counts.lastEntryAt ?? 0) - now),
    keys,
    accounts: accounts.length,
    unspent,
    overdrawn,
    expired,
    writtenOff,
  };
}
