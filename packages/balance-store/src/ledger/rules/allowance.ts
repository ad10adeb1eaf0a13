/**
 * Allowances: promotional credits that an account gets in each calendar month (UTC). The id of one
 * is made of account and month, so that a month cannot have two, and it expires with the month.
 * Lots, seals, audits and books therefore need no rule of their own; a second balance would have to
 * be divided by every charge. An unused allowance costs two entries a month.
 *
 * Regular work books it within a minute, the first request or look at once: no request of an
 * exhausted key is refused in a new month. A change applies from the next month on, and a suspended
 * account gets none.
 */

import { capStartAt, renewalOf } from './caps.js';
import { DAY_MS } from '../base/hours.js';
import type { Row } from '../tables/tables.js';

type StoredAllowance = Pick<Row<'Account'>, 'allowance' | 'allowanceStart'>;

/** When an account can have its next allowance; `null` without an allowance. */
export function allowanceDueAt({ allowance, allowanceStart }: StoredAllowance): Date | null {
  if (allowance === null) return null;
  return renewalOf('month', new Date(allowanceStart * DAY_MS)) ?? null;
}

export interface AllowanceMonth {
  /** Its first day, in days since 1970-01-01. */
  readonly start: number;
  /** As people write it: `2026-12`. */
  readonly name: string;
  readonly endsAt: Date | undefined;
}

export function allowanceMonthOf(at: Date): AllowanceMonth {
  return {
    start: capStartAt('month', at.getTime()) / DAY_MS,
    name: at.toISOString().slice(0, 7),
    endsAt: renewalOf('month', at),
  };
}
