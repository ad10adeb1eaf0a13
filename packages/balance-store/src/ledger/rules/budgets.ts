/**
 * Which charges count for a budget, and in which period. The SQL functions `budget_subject` and
 * `budget_start` have the same rules for PostgreSQL; `budgets-contract.ts` compares them.
 */

import { DAY_MS, HOUR_MS } from '../base/hours.js';
import type {
  BudgetPeriod,
  BudgetRecord,
  BudgetScope,
  BudgetTerms,
  BudgetUse,
} from '../../budget.js';
import type { NewEvent } from '../../event.js';
import { numericFromUnits } from '../../numeric.js';
import type { Spender } from '../../spender.js';
import { reachedShares } from './notice-shares.js';

/** The columns of a budget that decide what it counts. Times are milliseconds since the epoch. */
export interface CountingTerms {
  readonly scope: string;
  readonly subject: string | null;
  readonly withinGroup: string | null;
  readonly onlyFor: string | null;
  readonly period: string;
  readonly zone: string;
  readonly fromAt: number | null;
  readonly untilAt: number | null;
}

/**
 * For whom a charge of this key and spender counts: empty for a budget of one subject, otherwise
 * the id or the text of its own subject. `undefined`: it does not count.
 */
export function subjectOf(
  {
    scope,
    subject,
    withinGroup,
    onlyFor,
  }: Pick<CountingTerms, 'scope' | 'subject' | 'withinGroup' | 'onlyFor'>,
  keyId: string,
  spender: Spender,
): string | undefined {
  if (onlyFor !== null && onlyFor !== (spender.memberId ?? keyId)) return undefined;
  if (withinGroup !== null && !isIn(spender.groups, withinGroup)) return undefined;
  switch (scope as BudgetScope) {
    case 'account':
      return '';
    case 'group':
      return subject !== null && isIn(spender.groups, subject) ? '' : undefined;
    case 'member':
      return one(subject, spender.memberId);
    case 'key':
      return one(subject, keyId);
    case 'tag':
      return one(subject, spender.tag);
    case 'run':
      return one(subject, spender.run);
    case 'reserve':
      return undefined;
  }
}

function isIn(groups: string | undefined, groupId: string): boolean {
  return groups?.includes(`/${groupId}/`) === true;
}

function one(subject: string | null, found: string | undefined): string | undefined {
  if (subject === null) return found;
  return found === subject ? '' : undefined;
}

export interface Period {
  /** Milliseconds since the epoch; 0 for one that began always. */
  readonly start: number;
  /** Exclusive; `Infinity` for one that never ends. */
  readonly end: number;
}

/**
 * When the period of a budget ends that a time is in.
 *
 * @returns `null` if it never ends, or if the budget counts nothing at that time
 */
export function budgetRenewal(
  { period, zone, from, until }: Pick<BudgetTerms, 'period' | 'zone' | 'from' | 'until'>,
  at: Date,
): Date | null {
  const [fromAt, untilAt] = [from?.getTime() ?? null, until?.getTime() ?? null];
  const end = periodAt({ period, zone, fromAt, untilAt }, at.getTime())?.end ?? Infinity;
  return end === Infinity ? null : new Date(end);
}

/** The period of a budget at a time, or `undefined` if it counts nothing then. */
export function periodAt(
  { period, zone, fromAt, untilAt }: Pick<CountingTerms, 'period' | 'zone' | 'fromAt' | 'untilAt'>,
  ms: number,
): Period | undefined {
  if ((fromAt !== null && ms < fromAt) || (untilAt !== null && ms >= untilAt)) return undefined;
  if (period === 'once') return { start: fromAt ?? 0, end: untilAt ?? Infinity };
  const { start, end } = calendarPeriod(period as Exclude<BudgetPeriod, 'once'>, zone, ms);
  return { start, end: untilAt === null ? end : Math.min(end, untilAt) };
}

function calendarPeriod(period: Exclude<BudgetPeriod, 'once'>, zone: string, ms: number): Period {
  const local = new Date(ms + offsetAt(zone, ms));
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const at = (of: number) => midnight(zone, of);
  switch (period) {
    case 'day': {
      const today = Date.UTC(year, month, day);
      return { start: at(today), end: at(today + DAY_MS) };
    }
    case 'week': {
      // Sundays are 0.
      const monday = Date.UTC(year, month, day - ((local.getUTCDay() + 6) % 7));
      return { start: at(monday), end: at(monday + 7 * DAY_MS) };
    }
    case 'month':
      return { start: at(Date.UTC(year, month)), end: at(Date.UTC(year, month + 1)) };
  }
}

/**
 * When a day begins in a time zone. Where the clocks skip midnight, the day begins with the skipped
 * hour; where they repeat it, with the second one. So does PostgreSQL.
 *
 * @param day - 00:00 UTC of the day of the same date.
 */
function midnight(zone: string, day: number): number {
  const before = offsetAt(zone, day - DAY_MS);
  const after = offsetAt(zone, day + DAY_MS);
  const [early, late] = [day - before, day - after];
  if (before === after) return early;
  if (offsetAt(zone, late) === after) return late;
  return early;
}

const formats = new Map<string, Intl.DateTimeFormat>();
/** The offset of the last hour that was asked for in each zone: a busy ledger asks for one. */
const offsets = new Map<string, { readonly hour: number; readonly offset: number }>();

/** How far the clocks of a zone are ahead of UTC, in milliseconds. */
function offsetAt(zone: string, ms: number): number {
  if (zone === 'UTC') return 0;
  // Offsets change at whole quarters of an hour of UTC.
  const hour = Math.floor(ms / (HOUR_MS / 4));
  const known = offsets.get(zone);
  if (known?.hour === hour) return known.offset;
  const parts = new Map(
    formatOf(zone)
      .formatToParts(hour * (HOUR_MS / 4))
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  const offset = local - hour * (HOUR_MS / 4);
  offsets.set(zone, { hour, offset });
  return offset;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(zone, format);
  }
  return format;
}

/** Whether this is the name of a time zone. */
export function isZone(zone: string): boolean {
  // Offsets such as `+01:00` are no names; PostgreSQL reads their sign the other way round.
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    return formatOf(zone) !== undefined;
  } catch {
    return false;
  }
}

/** Those that refuse first, then the one with the least left. */
export function byRoom(a: BudgetUse, b: BudgetUse): number {
  if (a.budget.action !== b.budget.action) return a.budget.action === 'refuse' ? -1 : 1;
  const [left, right] = [roomOf(a), roomOf(b)];
  if (left !== right) return left < right ? -1 : 1;
  return a.budget.id < b.budget.id ? -1 : 1;
}

/** What a new request may hold; may be below zero. */
export function roomOf({
  amount,
  used,
  held,
}: Pick<BudgetUse, 'amount' | 'used' | 'held'>): bigint {
  return amount - used - held;
}

/** Whether a hold of this amount fits. An empty budget has no room, not even for 0. */
export function hasRoom(use: BudgetUse, amount: bigint): boolean {
  return use.used < use.amount && roomOf(use) >= amount;
}

/**
 * The events of a use that grows. The function `count_spending` has the same rule for PostgreSQL.
 *
 * @param of.noticeShares - Those that the account's customer chose, for caps.
 */
export function budgetEvents(
  {
    budget,
    subject,
    amount,
    keyId,
    noticeShares,
  }: {
    readonly budget: BudgetRecord;
    readonly subject: string;
    readonly amount: bigint;
    readonly keyId: string;
    readonly noticeShares: readonly number[];
  },
  change: { readonly before: bigint; readonly after: bigint },
): readonly NewEvent[] {
  const { isCap, period } = budget;
  const event = { accountId: budget.accountId, keyId };
  const most = numericFromUnits(amount);
  const data = {
    ...(isCap
      ? { period: period === 'once' ? 'total' : period, cap: most }
      : { budget: budget.id, subject, amount: most }),
    used: numericFromUnits(change.after),
  };
  const isReached = change.before < amount && change.after >= amount;
  const [reached, share] = isCap
    ? (['cap.reached', 'cap.share'] as const)
    : (['budget.reached', 'budget.share'] as const);
  return [
    ...(isReached ? [{ ...event, type: reached, data }] : []),
    ...reachedShares(isCap ? noticeShares : budget.shares, { whole: amount, ...change }).map(
      (percent) => ({ ...event, type: share, data: { ...data, share: String(percent) } }),
    ),
  ];
}
