/** Turns a key's row, with its account and its standing, into a {@link KeyRecord}. */

import type { CapPeriod, KeyCaps, KeyRecord, KeyScope, KeyStanding, KeyState } from '../key.js';
import type { Metadata } from '../metadata.js';
import { usedInWindows, windowStartsAt } from './cap-windows.js';
import type { WindowBases, WindowStarts } from './cap-windows.js';

/** @typeParam Amount - How the database returns an amount of USD. */
export interface StoredKey<Amount> extends StoredCaps<Amount> {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly metadata: unknown;
  readonly hint: string;
  readonly state: string;
  readonly scope: string;
  readonly models: unknown;
  readonly expiresAt: Date | null;
  readonly previousUntil: Date | null;
  readonly concurrency: number;
  readonly burst: number;
  readonly requestsPerMinute: number;
  readonly balance: Amount;
  readonly credited: Amount;
  readonly createdAt: Date;
  readonly lastChargedAt: Date | null;
  readonly standing: KeyStanding;
}

/** The columns from which the unused part of a key's caps is computed. */
export interface StoredCaps<Amount> {
  readonly capDay: Amount | null;
  readonly capWeek: Amount | null;
  readonly capMonth: Amount | null;
  readonly capTotal: Amount | null;
  readonly spent: Amount;
  readonly writtenOff: Amount;
  readonly dayStart: number;
  readonly dayBase: Amount;
  readonly weekStart: number;
  readonly weekBase: Amount;
  readonly monthStart: number;
  readonly monthBase: Amount;
}

/** @param unitsOf - Reads an amount into units of 10^-14 USD. */
export function keyRecordOf<Amount>(
  row: StoredKey<Amount>,
  unitsOf: (amount: Amount) => bigint,
  now: Date,
): KeyRecord {
  const { caps, used } = capsOf(row, unitsOf, windowStartsAt(now.getTime()));
  const { previousUntil } = row;
  return {
    id: row.id,
    accountId: row.accountId,
    name: row.name,
    externalId: row.externalId,
    metadata: row.metadata as Metadata,
    hint: row.hint,
    state: keyStateOf(row.state),
    scope: scopeOf(row.scope),
    models: row.models as readonly string[] | null,
    expiresAt: row.expiresAt,
    limits: {
      concurrency: row.concurrency,
      burst: row.burst,
      requestsPerMinute: row.requestsPerMinute,
    },
    caps,
    used,
    balance: unitsOf(row.balance),
    spent: unitsOf(row.spent),
    credited: unitsOf(row.credited),
    writtenOff: unitsOf(row.writtenOff),
    previousUntil: previousUntil !== null && previousUntil > now ? previousUntil : null,
    standing: row.standing,
    isActive: row.standing === 'active',
    createdAt: row.createdAt,
    lastChargedAt: row.lastChargedAt,
  };
}

/** The caps of a key, and the amount that it has used in the window of each cap. */
export function capsOf<Amount>(
  row: StoredCaps<Amount>,
  unitsOf: (amount: Amount) => bigint,
  current: WindowStarts,
): { readonly caps: KeyCaps; readonly used: Readonly<Record<CapPeriod, bigint>> } {
  const capOf = (amount: Amount | null) => (amount === null ? null : unitsOf(amount));
  return {
    caps: {
      day: capOf(row.capDay),
      week: capOf(row.capWeek),
      month: capOf(row.capMonth),
      total: capOf(row.capTotal),
    },
    used: usedInWindows(
      unitsOf(row.spent) + unitsOf(row.writtenOff),
      windowBasesOf(row, unitsOf),
      current,
    ),
  };
}

export function windowBasesOf<Amount>(
  row: StoredCaps<Amount>,
  unitsOf: (amount: Amount) => bigint,
): WindowBases {
  return {
    starts: { day: row.dayStart, week: row.weekStart, month: row.monthStart, total: 0 },
    bases: {
      day: unitsOf(row.dayBase),
      week: unitsOf(row.weekBase),
      month: unitsOf(row.monthBase),
      total: 0n,
    },
  };
}

function keyStateOf(text: string): KeyState {
  if (text === 'active' || text === 'suspended' || text === 'revoked') return text;
  throw new RangeError(`"${text}" is not a state of a key`);
}

function scopeOf(text: string): KeyScope {
  if (text === 'use' || text === 'manage') return text;
  throw new RangeError(`"${text}" is not a scope of a key`);
}
