/** Computes figures of the ledger as a whole, for monitoring. */

import type { Pool } from 'pg';
import { unitsFromNumeric } from '../numeric.js';
import type { LedgerSummary } from '../store.js';
import { WRITE_TIMEOUT_MS, queryRows } from './query.js';

interface StandingRow {
  readonly standing: keyof LedgerSummary['keys'];
  readonly keys: number;
}

interface MoneyRow {
  readonly accounts: number;
  readonly unspent: string;
  readonly overdrawn: string;
  readonly expired: string;
  readonly writtenOff: string;
}

interface CountsRow {
  readonly keysUnderPreviousPepper: number;
  readonly quarantined: number;
  readonly conflicts: number;
  readonly orphanedHolds: number;
  readonly undeliveredEvents: number;
  readonly oldestPendingEventAt: Date | null;
  readonly lastSealAt: Date | null;
  readonly lastEntryAt: Date | null;
  readonly clockBehindMs: number;
}

const NO_KEYS = { active: 0, exhausted: 0, suspended: 0, revoked: 0, expired: 0 };

export async function summarizeLedger(pool: Pool, pepperId: string): Promise<LedgerSummary> {
  const standings = await queryRows<StandingRow>(pool, {
    text: 'SELECT standing, count(*)::int4 AS keys FROM key_standing GROUP BY standing',
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  const [money] = await queryRows<MoneyRow>(pool, {
    text:
      'SELECT count(*)::int4 AS accounts, ' +
      'coalesce(sum(greatest(balance - due, 0)), 0)::text AS unspent, ' +
      'coalesce(sum(greatest(due - balance, 0)), 0)::text AS overdrawn, ' +
      'coalesce(sum(expired + due), 0)::text AS expired, ' +
      'coalesce(sum(written_off), 0)::text AS "writtenOff" FROM account CROSS JOIN LATERAL ' +
      '(SELECT CASE WHEN next_expiry_at <= now() THEN expired_credit(account, now()) ELSE 0 END ' +
      'AS due) e',
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  const [counts] = await queryRows<CountsRow>(pool, {
    text:
      "SELECT (SELECT count(*)::int4 FROM api_key WHERE state <> 'revoked' AND " +
      '(pepper_id <> $1 OR (previous_pepper_id <> $1 AND previous_until > clock_timestamp()))) ' +
      'AS "keysUnderPreviousPepper", ' +
      '(SELECT count(*)::int4 FROM quarantine) AS quarantined, ' +
      '(SELECT count(*)::int4 FROM settle_conflict) AS conflicts, ' +
      '(SELECT count(*)::int4 FROM hold WHERE orphaned_at IS NOT NULL) AS "orphanedHolds", ' +
      '(SELECT count(*)::int4 FROM event WHERE due_at IS NULL AND delivered_at IS NULL) ' +
      'AS "undeliveredEvents", ' +
      '(SELECT min(created_at) FROM event WHERE due_at IS NOT NULL) AS "oldestPendingEventAt", ' +
      '(SELECT max(sealed_at) FROM ledger_block) AS "lastSealAt", ' +
      'e.last AS "lastEntryAt", greatest(0, ' +
      'coalesce(extract(epoch FROM e.last - clock_timestamp()), 0) * 1000)::float8 ' +
      'AS "clockBehindMs" FROM (SELECT max(created_at) AS last FROM ledger) e',
    values: [pepperId],
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  if (counts === undefined || money === undefined)
    throw new Error('the database returned no counts');
  return {
    ...counts,
    oldestPendingEventAt: counts.oldestPendingEventAt ?? undefined,
    lastSealAt: counts.lastSealAt ?? undefined,
    lastEntryAt: counts.lastEntryAt ?? undefined,
    keys: Object.assign(
      { ...NO_KEYS },
      ...standings.map(({ standing, keys }) => ({ [standing]: keys })),
    ) as LedgerSummary['keys'],
    accounts: money.accounts,
    unspent: unitsFromNumeric(money.unspent),
    overdrawn: unitsFromNumeric(money.overdrawn),
    expired: unitsFromNumeric(money.expired),
    writtenOff: unitsFromNumeric(money.writtenOff),
  };
}
