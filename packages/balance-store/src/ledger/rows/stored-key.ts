/** Turns a key's row, with its account and its standing, into a {@link KeyRecord}. */

import type { CapPeriod, KeyCaps, KeyRecord, KeyScope, KeyStanding, KeyState } from '../../key.js';
import type { Metadata } from '../../metadata.js';
import { allowanceDueAt } from '../rules/allowance.js';
import { usedInWindows, windowStartsAt } from '../rules/cap-windows.js';
import type { WindowBases, WindowStarts } from '../rules/cap-windows.js';
import { membersWithout } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

/** Columns that no record of a key shows. */
const HIDDEN = [
  'credentialHmac',
  'previousHmac',
  'pepperId',
  'previousPepperId',
  'expiryNotifiedAt',
] as const;

export const KEY_MEMBERS = membersWithout('ApiKey', HIDDEN);

/** The columns from which the unused part of a key's caps is computed. */
export const CAP_MEMBERS = [
  'capDay',
  'capWeek',
  'capMonth',
  'capTotal',
  'spent',
  'writtenOff',
  'dayStart',
  'dayBase',
  'weekStart',
  'weekBase',
  'monthStart',
  'monthBase',
] as const;

type StoredCaps = Pick<Row<'ApiKey'>, (typeof CAP_MEMBERS)[number]>;

/** The columns of its account that a key's record shows. */
export const ACCOUNT_MEMBERS_OF_KEY = [
  'prices',
  'allowance',
  'allowanceStart',
  'nextExpiryAt',
  'balance',
  'credited',
] as const;

/** A key's row, with the columns of its account that its record shows, and its standing. */
export interface StoredKey
  extends
    Pick<Row<'ApiKey'>, (typeof KEY_MEMBERS)[number]>,
    Pick<Row<'Account'>, (typeof ACCOUNT_MEMBERS_OF_KEY)[number]> {
  readonly standing: KeyStanding;
  /** What has expired of the balance although no entry says so yet. */
  readonly expiredCredit: bigint;
}

export function keyRecordOf(row: StoredKey, now: Date): KeyRecord {
  const { caps, used } = capsOf(row, windowStartsAt(now.getTime()));
  const { previousUntil, standing } = row;
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
    prices: row.prices,
    allowanceDueAt: allowanceDueAt(row),
    nextExpiryAt: row.nextExpiryAt,
    balance: row.balance - row.expiredCredit,
    spent: row.spent,
    credited: row.credited,
    writtenOff: row.writtenOff,
    previousUntil: previousUntil !== null && previousUntil > now ? previousUntil : null,
    standing,
    isActive: standing === 'active',
    createdAt: row.createdAt,
    lastChargedAt: row.lastChargedAt,
  };
}

/** The caps of a key, and the amount that it has used in the window of each cap. */
export function capsOf(
  row: StoredCaps,
  current: WindowStarts,
): { readonly caps: KeyCaps; readonly used: Readonly<Record<CapPeriod, bigint>> } {
  return {
    caps: { day: row.capDay, week: row.capWeek, month: row.capMonth, total: row.capTotal },
    used: usedInWindows(row.spent + row.writtenOff, windowBasesOf(row), current),
  };
}

/** The columns of the given caps. */
export function capColumnsOf(caps: KeyCaps): CapColumns<bigint | null>;
export function capColumnsOf(caps: Partial<KeyCaps>): CapColumns<bigint | null | undefined>;
export function capColumnsOf({ day, week, month, total }: Partial<KeyCaps>) {
  return { capDay: day, capWeek: week, capMonth: month, capTotal: total };
}

type CapColumns<Cap> = { readonly [Period in CapPeriod as `cap${Capitalize<Period>}`]: Cap };

export function windowBasesOf(row: StoredCaps): WindowBases {
  return {
    starts: { day: row.dayStart, week: row.weekStart, month: row.monthStart, total: 0 },
    bases: { day: row.dayBase, week: row.weekBase, month: row.monthBase, total: 0n },
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
