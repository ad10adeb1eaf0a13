/** Turns rows of groups, members, budgets and raises into records, and names spenders. */

import { hash } from 'node:crypto';
import type { BudgetRaise, BudgetRecord, BudgetScope, BudgetPeriod } from '../../budget.js';
import type { Metadata } from '../../metadata.js';
import type { GroupRecord, MemberRecord, MemberState, Spender } from '../../spender.js';
import type { CountingTerms } from '../rules/budgets.js';
import { membersWithout } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

export const BUDGET_MEMBERS = membersWithout('Budget', []);

export function groupRecordOf(row: Row<'SpendGroup'>): GroupRecord {
  return { ...row, metadata: row.metadata as Metadata };
}

/** @param groups - The path of its group; `null` if it is in none. */
export function memberRecordOf(row: Row<'Member'>, groups: string | null): MemberRecord {
  return {
    ...row,
    groups: groups ?? '',
    metadata: row.metadata as Metadata,
    state: row.state as MemberState,
  };
}

export function budgetRecordOf(budget: Row<'Budget'>): BudgetRecord {
  const { endedSeq, fromAt, untilAt, counts, createdBy, ...row } = budget;
  return {
    ...row,
    scope: scopeOf({ ...row, counts }),
    period: row.period as BudgetPeriod,
    action: row.action as BudgetRecord['action'],
    shares: row.shares as readonly number[],
    from: fromAt,
    until: untilAt,
    isEnded: endedSeq !== null,
    // Versions that do not write it let only operators create budgets.
    createdBy: createdBy === 'holder' ? 'holder' : 'operator',
  };
}

/** The database's own list of scopes does not have the reserve, which is one of the account. */
export function scopeOf({ scope, counts }: Pick<Row<'Budget'>, 'scope' | 'counts'>): BudgetScope {
  return counts === PASSED ? 'reserve' : (scope as BudgetScope);
}

/** What a reserve counts. */
export const PASSED = 'passed';

export function countingTermsOf(
  row: Pick<
    Row<'Budget'>,
    | 'scope'
    | 'counts'
    | 'subject'
    | 'withinGroup'
    | 'onlyFor'
    | 'period'
    | 'zone'
    | 'fromAt'
    | 'untilAt'
  >,
): CountingTerms {
  const { subject, withinGroup, onlyFor, period, zone, fromAt, untilAt } = row;
  return {
    scope: scopeOf(row),
    subject,
    withinGroup,
    onlyFor,
    period,
    zone,
    fromAt: fromAt?.getTime() ?? null,
    untilAt: untilAt?.getTime() ?? null,
  };
}

export function raiseOf({ fromAt, untilAt, ...row }: Row<'BudgetRaise'>): BudgetRaise {
  return { ...row, from: fromAt, until: untilAt };
}

/** What of an amount's raises counts for this subject at this time. */
export function raisedBy(
  raises: readonly BudgetRaise[],
  { budgetId, subject, at }: { readonly budgetId: string; subject: string; at: number },
): bigint {
  return raises
    .filter(
      (raise) =>
        raise.budgetId === budgetId &&
        (raise.subject === null || raise.subject === subject) &&
        raise.from.getTime() <= at &&
        at < raise.until.getTime(),
    )
    .reduce((sum, { amount }) => sum + amount, 0n);
}

/** The most spenders of one account. Further tags and runs are counted together. */
export const MAX_SPENDERS = 1_000_000;
/** The text of the tags and runs that are counted together. */
export const OTHER = 'other';

/**
 * The columns of a spender. Its id covers all of them, and the salt of its account. An account
 * without a salt is erased: its charges have no tags and runs any more.
 */
export function spenderRowOf(
  accountId: string,
  salt: string,
  { memberId, groups, ...given }: Spender,
): Omit<Row<'Spender'>, 'number'> {
  const { tag, run } = salt === '' ? {} : given;
  const labels = (tag ?? run) === undefined ? null : digestOf('labels', salt, tag, run);
  const of = {
    accountId,
    memberId: memberId ?? null,
    groups: (groups ?? '') === '' ? null : (groups ?? null),
    labels,
    tag: tag ?? null,
    run: run ?? null,
  };
  return { id: spenderIdOf(of), ...of };
}

export function spenderIdOf({
  accountId,
  memberId,
  groups,
  labels,
}: Pick<Row<'Spender'>, 'accountId' | 'memberId' | 'groups' | 'labels'>): string {
  return digestOf('spender', accountId, memberId, groups, labels);
}

/** The SQL function `spender_digest` is the same. */
export function digestOf(...parts: readonly (string | null | undefined)[]): string {
  return hash('sha256', parts.map((part) => part ?? '').join('\n'), 'hex').slice(0, 32);
}

/** Those of its labels that are not erased. */
export function spenderOf({
  memberId,
  groups,
  tag,
  run,
}: Pick<Row<'Spender'>, 'memberId' | 'groups' | 'tag' | 'run'>): Spender {
  return {
    ...(memberId === null ? {} : { memberId }),
    ...(groups === null ? {} : { groups }),
    ...(tag === null ? {} : { tag }),
    ...(run === null ? {} : { run }),
  };
}

/** The spender without what is absent; `undefined` if nothing is left. */
export function presentSpender(spender: Spender | undefined): Spender | undefined {
  if (spender === undefined) return undefined;
  const present = Object.fromEntries(
    Object.entries(spender).filter(([, value]: [string, unknown]) => (value ?? '') !== ''),
  ) as Spender;
  return Object.keys(present).length === 0 ? undefined : present;
}

/** As the table of holds has it, and as PostgreSQL's functions take it. */
export function spenderText(spender: Spender | undefined): string | null {
  const present = presentSpender(spender);
  return present === undefined ? null : JSON.stringify(present);
}
