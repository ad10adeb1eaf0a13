/** Refuses groups, members and budgets that make no sense. Each error names the member at fault. */

import { BUDGET_PERIODS, BUDGET_SCOPES } from '../../budget.js';
import type { BudgetChange, NewBudget, NewRaise, NewRunBudget } from '../../budget.js';
import type { GroupChange, MemberChange, NewGroup, NewMember, Spender } from '../../spender.js';
import {
  assertAmount,
  assertId,
  assertMetadata,
  assertShares,
  assertText,
  assertTime,
} from './argument-checks.js';
import { isZone } from './budgets.js';

/** @throws {RangeError} */
export function assertGroupOrMember(
  given: NewGroup | NewMember | GroupChange | MemberChange,
): void {
  const { metadata, ...texts } = given;
  for (const [member, value] of Object.entries(texts) as [string, unknown][]) {
    if (typeof value === 'string') assertId(member, value);
  }
  assertMetadata(metadata);
}

const MAX_LABEL_LENGTH = 200;

/** @throws {RangeError} */
export function assertSpender(spender: Spender): void {
  for (const [member, value] of Object.entries(spender) as [string, unknown][]) {
    if (value === undefined) continue;
    const name = `spender.${member}`;
    if (typeof value !== 'string') throw new RangeError(`${name} is not a text`);
    assertText(name, value);
    if ((member === 'tag' || member === 'run') && value.length > MAX_LABEL_LENGTH) {
      throw new RangeError(`${name} has more than ${String(MAX_LABEL_LENGTH)} characters`);
    }
    // The digests of spenders have one line for each text.
    if (value.includes('\n')) throw new RangeError(`${name} has a line break`);
  }
}

/** @throws {RangeError} */
export function assertBudget(budget: NewBudget): void {
  const { scope, subject = null, withinGroup = null, period, zone = 'UTC', from, until } = budget;
  const { onlyFor = null } = budget;
  assertBudgetSettings(budget);
  if (!BUDGET_SCOPES.includes(scope)) {
    throw new RangeError(`scope is not one of ${BUDGET_SCOPES.join(', ')}`);
  }
  if (!BUDGET_PERIODS.includes(period)) {
    throw new RangeError(`period is not one of ${BUDGET_PERIODS.join(', ')}`);
  }
  if (subject !== null) assertId('subject', subject);
  if (scope === 'account' && (subject !== null || withinGroup !== null)) {
    throw new RangeError('subject: a budget of the account is for all of it');
  }
  if (scope === 'reserve' && (subject !== null || withinGroup !== null)) {
    throw new RangeError('subject: a reserve counts what others pass to it');
  }
  if (onlyFor !== null) {
    assertId('onlyFor', onlyFor);
    if (scope !== 'run' || subject === null)
      throw new RangeError('onlyFor is for a budget of a run');
  }
  if (scope === 'group' && (subject === null || withinGroup !== null)) {
    throw new RangeError('subject: a budget of a group names the group');
  }
  if (subject !== null && withinGroup !== null) {
    throw new RangeError('withinGroup is for a budget that each one has, which has no subject');
  }
  if (!isZone(zone)) throw new RangeError(`zone is not a time zone: ${zone}`);
  for (const [name, time] of Object.entries({ from, until })) assertTime(name, time);
  if (period !== 'once' && (from ?? null) !== null) {
    throw new RangeError('from is for a budget with the period once');
  }
  if (from != null && until != null && until <= from) {
    throw new RangeError('until is not after from');
  }
}

/** @throws {RangeError} */
export function assertBudgetSettings(settings: BudgetChange): void {
  const { name, amount, action, shares, contact, thenId } = settings;
  if (name !== undefined) assertId('name', name);
  if (amount !== undefined) {
    if (amount < 0n) throw new RangeError('amount is below 0');
    assertAmount('amount', amount);
  }
  if (action !== undefined && action !== 'refuse' && action !== 'notify') {
    throw new RangeError('action is neither refuse nor notify');
  }
  assertShares('shares', shares);
  if (typeof contact === 'string') assertId('contact', contact);
  if (typeof thenId === 'string') assertId('thenId', thenId);
}

/** @throws {RangeError} */
export function assertRunBudget({ run, onlyFor, name, amount }: NewRunBudget): void {
  assertSpender({ run });
  assertId('run', run);
  assertId('onlyFor', onlyFor);
  assertBudgetSettings({ name, amount });
}

/** @throws {RangeError} */
export function assertRaise({ amount, subject, until }: NewRaise): void {
  if (amount <= 0n) throw new RangeError('amount must be above zero');
  assertAmount('amount', amount);
  if (subject !== undefined) assertId('subject', subject);
  assertTime('until', until);
}
