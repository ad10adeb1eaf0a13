/** The authoritative admission read: reads the standings of many keys in one query. */

import type { Pool } from 'pg';
import type { EmptiedBy } from '../account.js';
import type { CapPeriod, CapUse, KeyStanding } from '../key.js';
import { createQueryBatcher } from '../ledger/base/query-batcher.js';
import { unitsFromNumeric } from '../numeric.js';
import type { Standing } from '../store.js';
import { arrayText } from './array-text.js';
import { READ_TIMEOUT_MS, queryArrays, reachingDatabase } from './query.js';

type StandingRow = [
  id: string,
  standing: KeyStanding,
  balance: string,
  uncovered: string,
  emptiedBy: EmptiedBy | null,
  capPeriod: CapPeriod | null,
  cap: string | null,
  capUsed: string | null,
  isBudgeted: boolean,
];

/** With `now()`: PostgreSQL would plan a function of a volatile argument again in each reading. */
const READ_STANDINGS =
  'SELECT k.id, standing_of(state_in(a.state, k.state), k.expires_at, f.balance, a.uncovered), ' +
  "f.balance::text, a.uncovered::text, CASE WHEN f.balance < a.balance THEN 'expiry' " +
  'ELSE a.emptied_by END, c.period, c.cap::text, c.used::text, a.budgeted AND EXISTS (' +
  'SELECT FROM budget b WHERE b.account_id = a.id AND b.ended_seq IS NULL AND NOT b.is_cap) ' +
  'FROM api_key k JOIN account a ON a.id = k.account_id ' +
  'CROSS JOIN LATERAL (SELECT CASE WHEN a.next_expiry_at <= now() ' +
  'THEN a.balance - expired_credit(a, now()) ELSE a.balance END AS balance) f ' +
  'LEFT JOIN LATERAL (SELECT t.* FROM tightest_cap(k, now()) t WHERE a.budgeted) c ON true ' +
  'WHERE k.id = ANY ($1)';

/** Reads the columns of `tightest_cap`. The result is empty for a key without caps. */
function capUseOf([period, cap, used]: readonly [CapPeriod | null, string | null, string | null]): {
  readonly cap?: CapUse;
} {
  if (period === null || cap === null || used === null) return {};
  return { cap: { period, cap: unitsFromNumeric(cap), used: unitsFromNumeric(used) } };
}

/**
 * @returns a function that reads a key's standing. Reads of one event-loop tick share one query.
 */
export function createStandingReader(pool: Pool): (keyId: string) => Promise<Standing> {
  return createQueryBatcher(async (keyIds: readonly string[]) => {
    const rows = await reachingDatabase(() =>
      queryArrays<StandingRow>(pool, standingsQueryOf([...new Set(keyIds)])),
    );
    const standings = new Map<string, Standing>(
      rows.map(([id, standing, balance, uncovered, emptiedBy, period, cap, used, isBudgeted]) => [
        id,
        {
          standing,
          balance: unitsFromNumeric(balance),
          uncovered: unitsFromNumeric(uncovered),
          ...(standing === 'exhausted' && emptiedBy !== null ? { emptiedBy } : {}),
          ...capUseOf([period, cap, used]),
          ...(isBudgeted ? { isBudgeted } : {}),
        },
      ]),
    );
    return keyIds.map((keyId) => standings.get(keyId) ?? { standing: 'unknown' });
  });
}

export function standingsQueryOf(keyIds: readonly string[]) {
  return {
    name: 'read_standings',
    text: READ_STANDINGS,
    values: [arrayText(keyIds)],
    timeoutMs: READ_TIMEOUT_MS,
  };
}
