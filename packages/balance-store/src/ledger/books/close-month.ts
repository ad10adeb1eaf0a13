/**
 * Closes months and numbers statements. No later entry has a time before the end of a closed month:
 * see `entry_time.sql` and `entry-clock.ts`.
 */

import type {
  ClosedMonth,
  MonthOutcome,
  IssuedStatement,
  MonthToClose,
  NewStatement,
} from '../../closed-month.js';
import type { SealHead } from '../../audit.js';
import {
  CLOSED,
  ISSUED,
  closedMonthOf,
  figuresText,
  hashOfClosing,
  hashOfStatement,
  issuedStatementOf,
} from '../rows/stored-closed-month.js';
import { recordChange } from './trail.js';
import type { LedgerTransaction } from './transaction.js';

/**
 * A charge that began in the month may still be on its way to the database when it ends. The server
 * ends statements and transactions much earlier than after this time.
 */
const IN_FLIGHT_MS = 10 * 60_000;

type Refused = Exclude<MonthOutcome, { readonly outcome: 'closed' }>;

/**
 * @returns why the month cannot be closed now; if it is closed already, its closing; otherwise
 * `undefined`
 */
export async function checkClosing(
  transaction: LedgerTransaction,
  { month, from, until }: MonthToClose,
): Promise<MonthOutcome | undefined> {
  await transaction.months.lockClosings();
  const months = (await transaction.months.closedMonths()).map(closedMonthOf);
  const closed = months.find((known) => known.month === month);
  if (closed !== undefined) return { outcome: 'closed', closed, isNew: false };
  return refusalOf(transaction, { from, until }, months.at(-1));
}

async function refusalOf(
  transaction: LedgerTransaction,
  { from, until }: Pick<MonthToClose, 'from' | 'until'>,
  last: ClosedMonth | undefined,
): Promise<Refused | undefined> {
  if (last !== undefined && last.until.getTime() !== from.getTime()) {
    return { outcome: 'not_next', nextFrom: last.until };
  }
  const closableAt = new Date(until.getTime() + IN_FLIGHT_MS);
  return (await transaction.now()) < closableAt ? { outcome: 'not_over', closableAt } : undefined;
}

/** @param computed - Read after `checkClosing` found that the month is over. */
export async function closeMonth(
  transaction: LedgerTransaction,
  of: MonthToClose,
  computed: Pick<ClosedMonth, 'figures' | 'digest'> & { readonly head: SealHead | undefined },
): Promise<MonthOutcome> {
  const known = await checkClosing(transaction, of);
  if (known !== undefined) return known;
  const { head, figures, digest } = computed;
  const at = await transaction.now();
  const row = {
    month: of.month,
    fromAt: of.from,
    untilAt: of.until,
    zone: of.zone,
    figures: figuresText(figures),
    digest,
    previousHash: (await transaction.months.closedMonths()).at(-1)?.hash ?? '',
    block: head?.block ?? 0n,
    blockHash: head?.hash ?? '',
    closedAt: at,
    closedBy: of.by.name,
  };
  const closed = { ...row, hash: hashOfClosing(row) };
  await transaction.months.insertClosedMonth(closed);
  await recordChange(transaction, {
    action: CLOSED,
    accountId: null,
    by: of.by,
    at,
    details: { month: of.month, hash: closed.hash },
  });
  return { outcome: 'closed', closed: closedMonthOf(closed), isNew: true };
}

/**
 * Gives the statement the next number of its issuer, unless the account has one of this kind and
 * month already.
 *
 * @returns `undefined` if the month is not closed
 */
export async function issueStatement(
  transaction: LedgerTransaction,
  { by, ...statement }: NewStatement,
): Promise<IssuedStatement | undefined> {
  await transaction.months.lockClosings();
  const { issuer, kind, month, accountId } = statement;
  const known = await transaction.months.issuedStatement(month, accountId, kind);
  if (known !== undefined) return issuedStatementOf(known);
  if (!(await transaction.months.closedMonths()).some((closed) => closed.month === month)) {
    return undefined;
  }
  const at = await transaction.now();
  const number = (await transaction.months.lastStatement(issuer)) + 1;
  const row = { ...statement, number, issuedAt: at };
  const issued = { ...row, hash: hashOfStatement(row) };
  await transaction.months.insertStatement(issued);
  await recordChange(transaction, {
    action: ISSUED,
    accountId,
    by,
    at,
    details: { issuer, number, kind, month, hash: issued.hash },
  });
  return issuedStatementOf(issued);
}
