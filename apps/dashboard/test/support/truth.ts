/**
 * What the figures of the pages and of the terminal should be, from the rows of a ledger's file and
 * the requests that were recorded. It shares no code with the product.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export interface Charge {
  readonly account: string;
  readonly key: string;
  readonly model: string;
  readonly at: number;
  /** Whether it names a spender, and the tag of that. */
  readonly isNamed: boolean;
  readonly tag: string | undefined;
  /** In units of 10^-14 USD, as is the cost. */
  readonly charged: bigint;
  readonly cost: bigint | undefined;
}

export interface Recorded {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly endedAt: number;
  readonly errorType?: string;
  readonly sessionId?: string;
  readonly tag?: string;
  readonly client?: string;
  readonly charge?: string;
}

export type Time = readonly [from: number, until: number];

const units = (text: string) => BigInt(text.replace('.', ''));

export function readTruth(folder: string) {
  const file = new DatabaseSync(join(folder, 'ledger.db'), { readOnly: true });
  const rows = file
    .prepare(
      'SELECT l.account_id, key_id, model, created_at, delta, cost, spender_id, tag ' +
        "FROM ledger l LEFT JOIN spender s ON s.id = spender_id WHERE kind = 'charge'",
    )
    .all();
  file.close();
  const charges = rows.map((row): Charge => ({
    account: String(row['account_id']),
    key: String(row['key_id']),
    model: String(row['model']),
    at: Number(row['created_at']),
    isNamed: row['spender_id'] !== null,
    tag: row['tag'] === null ? undefined : String(row['tag']),
    charged: -units(String(row['delta'])),
    cost: row['cost'] === null ? undefined : units(String(row['cost'])),
  }));
  const recorded = JSON.parse(
    readFileSync(join(folder, 'recorded.json'), 'utf8'),
  ) as readonly Recorded[];
  return { charges, recorded };
}

export function within<Item>(
  all: readonly Item[],
  timeOf: (item: Item) => number,
  [from, until]: Time,
): readonly Item[] {
  return all.filter((item) => timeOf(item) >= from && timeOf(item) < until);
}

export const sum = (amounts: readonly bigint[]) => amounts.reduce((all, more) => all + more, 0n);

/** `undefined` unless the cost of each charge is known. */
export function marginOf(charges: readonly Charge[]): bigint | undefined {
  if (charges.length === 0 || charges.some(({ cost }) => cost === undefined)) return undefined;
  return sum(charges.map(({ charged, cost = 0n }) => charged - cost));
}

/** The units of an amount that is shown with all its digits, such as `-12.5`. */
export function unitsOf(text: string): bigint {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const magnitude = BigInt(whole + fraction.padEnd(14, '0'));
  return sign === '-' ? -magnitude : magnitude;
}

/** The range of so many days that ends today, in UTC, and the same part of the time before. */
export function daysUntilNow(days: number, now: number, stepMs: number): readonly [Time, Time] {
  const until = (Math.floor(now / DAY) + 1) * DAY;
  const from = until - days * DAY;
  const passed = Math.ceil((now - from) / stepMs) * stepMs;
  const before = from - days * DAY;
  return [
    [from, until],
    [before, before + Math.min(days * DAY, passed)],
  ];
}

/** Whether a text such as `+12.5 %` is the change from one value to another. */
export function isChange(text: string, from: bigint, to: bigint): boolean {
  const shown = Number(text.replace('−', '-').replace(/[+% ]/g, ''));
  const exact = (Number(to - from) / Number(from)) * 100;
  return from !== 0n && Math.abs(shown - exact) <= (Math.abs(exact) >= 10 ? 0.61 : 0.11);
}
