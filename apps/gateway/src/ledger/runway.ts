/** How long the money of an account lasts, if its keys go on spending as they did. */

import type { UnspentCredit } from '@gateway/balance-store';
import { DAY_MS } from '../base/times.js';

/** The pace is that of these days in UTC, of which today is the last. */
export const PACE_DAYS = 7;

export function paceDays(now: number): { readonly from: Date; readonly until: Date } {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return { from: new Date(today - (PACE_DAYS - 1) * DAY_MS), until: new Date(today + DAY_MS) };
}

/**
 * @param spent - In the days of {@link paceDays}. A new account has spent all of it in less time,
 * but less than a day says nothing of a pace.
 */
export function paceOf(createdAt: Date, spent: bigint, now: number): Pace {
  const from = Math.max(paceDays(now).from.getTime(), createdAt.getTime());
  return { spent, from: Math.min(from, now - DAY_MS), until: now };
}

/** In milliseconds since the epoch. */
export interface Pace {
  /** What all keys of the account spent from `from` to `until`, in units of 10^-14 USD. */
  readonly spent: bigint;
  readonly from: number;
  readonly until: number;
}

/** The last time that the gateway's times can have: their years have four digits. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * When the money is used up, counted from the end of the pace. Credit is spent in the order in
 * which the ledger spends it: first what expires first. Credit that expires before it can be spent
 * is not counted.
 *
 * @returns `undefined` if nothing was spent, so that no time can be foreseen. The end of the pace
 * if nothing is left.
 */
export function lastsUntil(
  { lots, other }: UnspentCredit,
  { spent, from, until }: Pace,
): Date | undefined {
  if (spent <= 0n) return undefined;
  const overMs = BigInt(until - from);
  let atMs = BigInt(until);
  for (const { remaining, expiresAt } of [...lots, { remaining: other, expiresAt: null }]) {
    const usedUpMs = atMs + (remaining * overMs) / spent;
    if (expiresAt === null) atMs = usedUpMs;
    else {
      // A credit that is not used up takes the whole time until it expires.
      const expiryMs = BigInt(expiresAt.getTime());
      const endMs = usedUpMs < expiryMs ? usedUpMs : expiryMs;
      if (endMs > atMs) atMs = endMs;
    }
  }
  return new Date(Math.min(Number(atMs), LAST_MS));
}
