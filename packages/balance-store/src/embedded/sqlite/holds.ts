/**
 * Places, renews and releases holds, by the same rules as the SQL functions `place_holds` and
 * `renew_holds` on PostgreSQL.
 */

import type { Hold, HoldOutcome, HoldRecord, HoldState } from '../../hold.js';
import { spenderText } from '../../ledger/rows/spenders.js';
import { findBudgets, lackingBudget } from './budgets.js';
import type { Connection } from './connection.js';
import { assertNotNegative, textOf, unitsOf } from './money.js';
import { readStanding } from './keys.js';
import { dateOf } from './time.js';

export function placeHolds(
  connection: Connection,
  holds: readonly Hold[],
  lifetimeMs: number,
): readonly HoldOutcome[] {
  return connection.write(() => {
    const now = Date.now();
    makeOrphans(connection, now);
    return holds.map((hold) => placeHold(connection, hold, now, lifetimeMs));
  });
}

function placeHold(
  connection: Connection,
  { requestId, keyId, amount, spender = {} }: Hold,
  now: number,
  lifetimeMs: number,
): HoldOutcome {
  assertNotNegative(amount);
  const standing = readStanding(connection, keyId, now);
  if (standing.standing !== 'active') {
    return { outcome: 'inactive', standing: standing.standing };
  }
  const { balance, cap } = standing;
  const accountId = accountOf(connection, keyId);
  const held = heldBy(connection, accountId);
  const live = connection.get(
    'SELECT 1 FROM hold WHERE request_id = ? AND orphaned_at IS NULL',
    requestId,
  );
  if (live !== undefined) return { outcome: 'held', balance, held };
  if (cap !== undefined || standing.isBudgeted === true) {
    const request = { accountId, keyId, spender, amount };
    const lacking = lackingBudget(connection, findBudgets(connection, request), request, now);
    if (lacking !== undefined) return { outcome: 'over_budget', ...lacking };
  }
  const shortfall = held + amount - balance;
  if (shortfall > 0n) return { outcome: 'short', balance, held, shortfall };
  connection.run(
    'INSERT INTO hold (request_id, account_id, key_id, amount, created_at, expires_at, spender) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (request_id) DO UPDATE SET ' +
      'account_id = excluded.account_id, key_id = excluded.key_id, amount = excluded.amount, created_at = excluded.created_at, ' +
      'expires_at = excluded.expires_at, orphaned_at = NULL, spender = excluded.spender',
    requestId,
    accountId,
    keyId,
    textOf(amount),
    now,
    now + lifetimeMs,
    spenderText(spender),
  );
  return { outcome: 'held', balance, held: held + amount };
}

/** Sum of the account's live holds. */
export function heldBy(connection: Connection, accountId: string): bigint {
  return connection
    .all<{ readonly amount: string }>(
      'SELECT amount FROM hold WHERE account_id = ? AND orphaned_at IS NULL',
      accountId,
    )
    .reduce((sum, { amount }) => sum + unitsOf(amount), 0n);
}

function accountOf(connection: Connection, keyId: string): string {
  const row = connection.get<{ readonly account_id: string }>(
    'SELECT account_id FROM api_key WHERE id = ?',
    keyId,
  );
  if (row === undefined) throw new Error(`key ${keyId} was not found after its standing was read`);
  return row.account_id;
}

export function renewHolds(
  connection: Connection,
  requestIds: readonly string[],
  lifetimeMs: number,
): void {
  connection.write(() => {
    const now = Date.now();
    for (const requestId of requestIds) {
      connection.run(
        'UPDATE hold SET expires_at = ? WHERE request_id = ? AND orphaned_at IS NULL',
        now + lifetimeMs,
        requestId,
      );
    }
    makeOrphans(connection, now);
  });
}

function makeOrphans(connection: Connection, now: number): void {
  connection.run(
    'UPDATE hold SET orphaned_at = ? WHERE orphaned_at IS NULL AND expires_at <= ?',
    now,
    now,
  );
}

export function releaseHolds(connection: Connection, requestIds: readonly string[]): void {
  connection.write(() => {
    for (const requestId of requestIds) {
      connection.run('DELETE FROM hold WHERE request_id = ?', requestId);
    }
  });
}

export function countHolds(connection: Connection, state: HoldState): number {
  const row = connection.get<{ readonly count: number }>(
    'SELECT count(*) AS count FROM hold WHERE (orphaned_at IS NULL) = ?',
    state === 'live' ? 1 : 0,
  );
  return row?.count ?? 0;
}

export function listHolds(
  connection: Connection,
  { state, limit }: { readonly state: HoldState; readonly limit: number },
): readonly HoldRecord[] {
  return connection
    .all<{
      readonly request_id: string;
      readonly account_id: string;
      readonly key_id: string;
      readonly amount: string;
      readonly created_at: number;
      readonly orphaned_at: number | null;
    }>(
      'SELECT request_id, account_id, key_id, amount, created_at, orphaned_at FROM hold ' +
        'WHERE (orphaned_at IS NULL) = ? ORDER BY created_at DESC, request_id DESC LIMIT ?',
      state === 'live' ? 1 : 0,
      limit,
    )
    .map((row) => ({
      requestId: row.request_id,
      accountId: row.account_id,
      keyId: row.key_id,
      amount: unitsOf(row.amount),
      createdAt: new Date(row.created_at),
      orphanedAt: dateOf(row.orphaned_at),
    }));
}
