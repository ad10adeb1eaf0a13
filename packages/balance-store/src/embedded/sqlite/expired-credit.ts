/** Reads credit that has expired although no entry says so yet. */

import { expiredCreditOf } from '../../ledger/books/lots.js';
import type { Connection } from './connection.js';
import { ZERO, unitsOf } from './money.js';

export interface ExpiredCreditRow {
  readonly spent: string;
  readonly allotted: string;
  /** What is left of each expired credit, with spaces between; null if none has expired. */
  readonly expiredLots: string | null;
}

/**
 * Selects `expiredLots` from the table `account`. It reads no other row unless a credit has
 * expired. It belongs to the statement that reads the balance, so that both are of the same state.
 */
export const EXPIRED_LOTS =
  "CASE WHEN account.next_expiry_at <= now_ms() THEN (SELECT group_concat(remaining, ' ') " +
  `FROM credit_lot WHERE credit_lot.account_id = account.id AND remaining <> '${ZERO}' ` +
  'AND credit_lot.expires_at <= now_ms()) END AS expiredLots';

/** What of the balance nobody may spend. */
export function expiredCreditIn({ spent, allotted, expiredLots }: ExpiredCreditRow): bigint {
  if (expiredLots === null) return 0n;
  const lots = expiredLots.split(' ').map((remaining) => ({ remaining: unitsOf(remaining) }));
  return expiredCreditOf({ spent: unitsOf(spent), allotted: unitsOf(allotted) }, lots);
}

/** Funds of an account, or those of them that may be spent. */
export interface Funds {
  readonly balance: bigint;
  readonly uncovered: bigint;
  /** Milliseconds since the epoch, as in the row of the account. */
  readonly nextExpiryAt: number | null;
  readonly emptiedBy: string | null;
}

/**
 * @param funds - As they are in the row of the account.
 * @returns the funds without credit that has expired
 */
export function spendableFunds(
  connection: Connection,
  accountId: string,
  { funds, now }: { readonly funds: Funds; readonly now: number },
): Funds {
  if (funds.nextExpiryAt === null || funds.nextExpiryAt > now) return funds;
  const row = connection.get<FundsRow>(SELECT_FUNDS, accountId);
  return row === undefined ? funds : spendableIn(row);
}

interface FundsRow extends ExpiredCreditRow {
  readonly balance: string;
  readonly uncovered: string;
  readonly nextExpiryAt: number | null;
  readonly emptiedBy: string | null;
}

const SELECT_FUNDS =
  'SELECT balance, uncovered, next_expiry_at AS nextExpiryAt, emptied_by AS emptiedBy, spent, ' +
  `allotted, ${EXPIRED_LOTS} FROM account WHERE id = ?`;

function spendableIn(row: FundsRow): Funds {
  const { nextExpiryAt, emptiedBy } = row;
  const expired = expiredCreditIn(row);
  return {
    balance: unitsOf(row.balance) - expired,
    uncovered: unitsOf(row.uncovered),
    nextExpiryAt,
    emptiedBy: expired > 0n ? 'expiry' : emptiedBy,
  };
}
