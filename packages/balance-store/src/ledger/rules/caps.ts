/**
 * The caps of a key are budgets of this key alone: their periods begin at 00:00 UTC, and the budget
 * of `total` counts all its charges. The SQL function `tightest_cap` reads them on PostgreSQL.
 */

import { CAP_PERIODS } from '../../key.js';
import type { CapPeriod, CapUse, KeyCaps } from '../../key.js';
import { unitsFromNumeric } from '../../numeric.js';
import type { Row } from '../tables/tables.js';
import { periodAt } from './budgets.js';

/** A key has one budget for each period: a cap that is set again after its end is the same one. */
export function capId(keyId: string, period: CapPeriod): string {
  return `cap_${period}_${keyId}`;
}

export function newCap(
  { id: subject, accountId }: { readonly id: string; readonly accountId: string },
  { period, amount, createdAt }: { period: CapPeriod; amount: bigint; createdAt: Date },
): Row<'Budget'> {
  return {
    id: capId(subject, period),
    accountId,
    name: 'cap',
    scope: 'key',
    subject,
    withinGroup: null,
    onlyFor: null,
    counts: null,
    amount,
    period: period === 'total' ? 'once' : period,
    zone: 'UTC',
    fromAt: null,
    untilAt: null,
    action: 'refuse',
    shares: [],
    contact: null,
    thenId: null,
    createdAt,
    endedSeq: null,
    // The bounds of the operator say who may change it.
    createdBy: null,
    isCap: true,
  };
}

/** @param period - That of its budget. */
export function capPeriodOf(period: string): CapPeriod {
  return period === 'once' ? 'total' : (period as CapPeriod);
}

/** When a cap began to count what it counts now, in milliseconds since the epoch. */
export function capStartAt(period: CapPeriod, ms: number): number {
  return utcPeriod(period, ms).start;
}

/** When the current period ends and the cap starts anew; `undefined` for `total`. */
export function renewalOf(period: CapPeriod, now: Date): Date | undefined {
  const { end } = utcPeriod(period, now.getTime());
  return end === Infinity ? undefined : new Date(end);
}

function utcPeriod(period: CapPeriod, ms: number) {
  const terms = { zone: 'UTC', fromAt: null, untilAt: null };
  const found = periodAt({ ...terms, period: period === 'total' ? 'once' : period }, ms);
  return found ?? { start: 0, end: Infinity };
}

/** A cap, and what was used in the last period in which its key was charged. */
export interface StoredCap {
  readonly period: CapPeriod;
  readonly cap: bigint;
  readonly used: bigint;
  /** When that period began, in milliseconds since the epoch. */
  readonly startAt: number;
}

/** As the databases write it: the period of the budget, its amount, the start and what was used. */
type CapText = readonly [period: string, cap: string, startAt: number | null, used: string | null];

/** @param text - JSON of a list of {@link CapText}; `null`: no caps. */
export function storedCapsIn(text: string | null): readonly StoredCap[] {
  if (text === null) return [];
  return (JSON.parse(text) as readonly CapText[]).map(([period, cap, startAt, used]) => ({
    period: capPeriodOf(period),
    cap: unitsFromNumeric(cap),
    used: used === null ? 0n : unitsFromNumeric(used),
    startAt: startAt ?? 0,
  }));
}

/**
 * What is used of each cap at a time, the one with the smallest unused part first. A period that
 * begins later than the current one counts: the clock was set back since the key was charged.
 */
export function capUsesAt(caps: readonly StoredCap[], ms: number): readonly CapUse[] {
  return caps
    .map(({ period, cap, used, startAt }) => ({
      period,
      cap,
      used: startAt >= capStartAt(period, ms) ? used : 0n,
    }))
    .sort((a, b) => compare(a.cap - a.used, b.cap - b.used) || compare(a.period, b.period));
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : Number(a > b);
}

/** @param of - Each period at most once. */
export function byPeriod(of: readonly (readonly [CapPeriod, bigint])[]): KeyCaps {
  const caps = new Map(of);
  const entries = CAP_PERIODS.map((period) => [period, caps.get(period) ?? null] as const);
  return Object.fromEntries(entries) as KeyCaps;
}
