/**
 * Places and renews holds with SQL functions, and releases them with a `DELETE`, many holds per
 * query.
 */

import type { Pool } from 'pg';
import type { Hold, HoldOutcome, HoldRecord } from '../hold.js';
import type { HoldTable } from '../ledger/database/ledger-database.js';
import type { CapPeriod, KeyStanding } from '../key.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import {
  READ_TIMEOUT_MS,
  WRITE_TIMEOUT_MS,
  queryArrays,
  queryRows,
  reachingDatabase,
} from './query.js';
import { capUseOf } from './standing-reader.js';

type HoldRow = [
  ordinal: number,
  outcome: 'held' | 'short' | 'capped' | 'inactive',
  standing: KeyStanding | 'unknown',
  balance: string | null,
  held: string,
  heldByKey: string,
  capPeriod: CapPeriod | null,
  cap: string | null,
  capUsed: string | null,
];

/**
 * @param hot - The pool for requests.
 * @param admin - The pool for operators.
 */
export function createHoldTable(hot: Pool, admin: Pool): HoldTable {
  return {
    async place(holds, lifetimeMs) {
      const rows = await reachingDatabase(() =>
        queryArrays<HoldRow>(hot, placeQueryOf(holds, lifetimeMs)),
      );
      const outcomes: HoldOutcome[] = [];
      for (const row of rows) {
        const hold = holds[row[0] - 1];
        if (hold !== undefined) outcomes[row[0] - 1] = outcomeOf(row, hold);
      }
      return outcomes;
    },

    async renew(requestIds, lifetimeMs) {
      await reachingDatabase(() =>
        queryRows(hot, {
          text: 'SELECT renew_holds($1, $2::interval)',
          values: [requestIds, intervalOf(lifetimeMs)],
          timeoutMs: WRITE_TIMEOUT_MS,
        }),
      );
    },

    async release(requestIds) {
      await reachingDatabase(() => queryRows(hot, releaseQueryOf(requestIds)));
    },

    async list({ state, limit }) {
      const rows = await reachingDatabase(() =>
        queryRows<Omit<HoldRecord, 'amount'> & { readonly amount: string }>(admin, {
          text:
            'SELECT request_id AS "requestId", account_id AS "accountId", key_id AS "keyId", amount::text, ' +
            'created_at AS "createdAt", orphaned_at AS "orphanedAt" FROM hold ' +
            'WHERE (orphaned_at IS NULL) = $1 ORDER BY created_at DESC, request_id DESC LIMIT $2',
          values: [state === 'live', limit],
          timeoutMs: WRITE_TIMEOUT_MS,
        }),
      );
      return rows.map((row) => ({ ...row, amount: unitsFromNumeric(row.amount) }));
    },

    async count(state) {
      const [row] = await reachingDatabase(() =>
        queryRows<{ count: number }>(admin, {
          text: 'SELECT count(*)::int4 AS count FROM hold WHERE (orphaned_at IS NULL) = $1',
          values: [state === 'live'],
          timeoutMs: WRITE_TIMEOUT_MS,
        }),
      );
      return row?.count ?? 0;
    },
  };
}

/** The call of `place_holds` with its arguments. */
export function placeQueryOf(holds: readonly Hold[], lifetimeMs: number) {
  return {
    name: 'place_holds',
    text:
      'SELECT ordinal, outcome, standing, balance::text, held::text, held_by_key::text, ' +
      'cap_period, cap::text, cap_used::text ' +
      'FROM place_holds($1, $2, $3::numeric[], $4::interval)',
    values: [
      holds.map(({ requestId }) => requestId),
      holds.map(({ keyId }) => keyId),
      holds.map(({ amount }) => numericFromUnits(amount)),
      intervalOf(lifetimeMs),
    ],
    timeoutMs: READ_TIMEOUT_MS,
  };
}

export function releaseQueryOf(requestIds: readonly string[]) {
  return {
    name: 'release_holds',
    text:
      'DELETE FROM hold WHERE request_id IN (SELECT request_id FROM hold ' +
      'WHERE request_id = ANY ($1) ORDER BY request_id FOR UPDATE)',
    values: [requestIds],
    timeoutMs: WRITE_TIMEOUT_MS,
  };
}

function intervalOf(ms: number): string {
  return `${String(ms)} milliseconds`;
}

function outcomeOf(
  [, outcome, standing, balanceText, heldText, heldByKey, ...capColumns]: HoldRow,
  hold: Hold,
): HoldOutcome {
  if (standing !== 'active') return { outcome: 'inactive', standing };
  const { cap } = capUseOf(capColumns);
  if (outcome === 'capped' && cap !== undefined) {
    return { outcome, cap, held: unitsFromNumeric(heldByKey) };
  }
  const [balance, held] = [unitsFromNumeric(balanceText ?? '0'), unitsFromNumeric(heldText)];
  if (outcome !== 'short') return { outcome: 'held', balance, held };
  return { outcome, balance, held, shortfall: held + hold.amount - balance };
}
