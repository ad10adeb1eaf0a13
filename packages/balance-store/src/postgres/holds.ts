/**
 * Places and renews holds with SQL functions, and releases them with a `DELETE`, many holds per
 * query.
 */

import type { Pool } from 'pg';
import type { Hold, HoldOutcome, HoldRecord } from '../hold.js';
import type { HoldTable } from '../ledger/database/ledger-database.js';
import type { KeyStanding } from '../key.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import {
  READ_TIMEOUT_MS,
  WRITE_TIMEOUT_MS,
  queryArrays,
  queryRows,
  reachingDatabase,
} from './query.js';
import { arrayText } from './array-text.js';
import { BUDGET_COLUMNS, budgetInJson, budgetUseOf } from './spenders.js';
import { spenderText } from '../ledger/rows/spenders.js';

type HoldRow = [
  ordinal: number,
  outcome: 'held' | 'short' | 'over_budget' | 'inactive',
  standing: KeyStanding | 'unknown',
  balance: string | null,
  held: string,
  ...last: LastColumns,
];

/** The budget that leaves too little, if one does. */
type LastColumns = [
  at: Date,
  budget: Readonly<Record<string, unknown>> | null,
  subject: string | null,
  most: string | null,
  used: string | null,
  held: string | null,
  chainLeft: string | null,
  chainRoom: string | null,
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
      'SELECT ordinal, outcome, standing, balance::text, held::text, clock_timestamp(), ' +
      `CASE WHEN outcome = 'over_budget' THEN (SELECT to_json(b) FROM (SELECT ${BUDGET_COLUMNS}) b) END, ` +
      'budget_subject, budget_amount::text, budget_used::text, budget_held::text, ' +
      'chain_left::text, chain_room::text ' +
      'FROM place_holds($1, $2, $3::numeric[], $4::interval, $5::jsonb[])',
    values: [
      holds.map(({ requestId }) => requestId),
      holds.map(({ keyId }) => keyId),
      holds.map(({ amount }) => numericFromUnits(amount)),
      intervalOf(lifetimeMs),
      arrayText(holds.map(({ spender }) => spenderText(spender))),
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

function outcomeOf(row: HoldRow, hold: Hold): HoldOutcome {
  const [, outcome, standing, balanceText, heldText] = row;
  const [at, budget, subject, most, used, heldOfBudget, chainLeft, chainRoom] = row.slice(
    5,
  ) as LastColumns;
  if (standing !== 'active') return { outcome: 'inactive', standing };
  if (outcome === 'over_budget' && budget !== null) {
    const state = {
      subject: subject ?? '',
      most: most ?? '0',
      used: used ?? '0',
      held: heldOfBudget ?? '0',
    };
    const use = budgetUseOf(budgetInJson(budget), state, at);
    if (chainLeft === null || chainRoom === null) return { outcome, use };
    const chain = { left: unitsFromNumeric(chainLeft), room: unitsFromNumeric(chainRoom) };
    return { outcome, use, chain };
  }
  const [balance, held] = [unitsFromNumeric(balanceText ?? '0'), unitsFromNumeric(heldText)];
  if (outcome !== 'short') return { outcome: 'held', balance, held };
  return { outcome, balance, held, shortfall: held + hold.amount - balance };
}
