/** Turns a key's row, with its account and its standing, into a {@link KeyRecord}. */

import type { KeyRecord, KeyScope, KeyStanding, KeyState, Naming } from '../../key.js';
import type { Metadata } from '../../metadata.js';
import { allowanceDueAt } from '../rules/allowance.js';
import { byPeriod, capUsesAt, storedCapsIn } from '../rules/caps.js';
import { membersWithout } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

/** Columns in which earlier versions had caps, and what these counted from. Nothing uses them. */
const FORMER_CAPS = [
  'capDay',
  'capWeek',
  'capMonth',
  'capTotal',
  'dayStart',
  'dayBase',
  'weekStart',
  'weekBase',
  'monthStart',
  'monthBase',
] as const;

/** Columns that no record of a key shows. */
const HIDDEN = [
  'credentialHmac',
  'previousHmac',
  'pepperId',
  'previousPepperId',
  'expiryNotifiedAt',
  ...FORMER_CAPS,
] as const;

export const KEY_MEMBERS = membersWithout('ApiKey', HIDDEN);

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
  /** The path of the group of its member. */
  readonly groups: string | null;
  /** See `storedCapsIn`. */
  readonly capTexts: string | null;
  /** What has expired of the balance although no entry says so yet. */
  readonly expiredCredit: bigint;
}

export function keyRecordOf(row: StoredKey, now: Date): KeyRecord {
  const caps = capUsesAt(storedCapsIn(row.capTexts), now.getTime());
  const used = byPeriod(caps.map((use) => [use.period, use.used]));
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
    allowedNetworks: row.allowedNetworks as readonly string[] | null,
    expiresAt: row.expiresAt,
    limits: {
      concurrency: row.concurrency,
      burst: row.burst,
      requestsPerMinute: row.requestsPerMinute,
    },
    memberId: row.memberId,
    groups: row.groups ?? '',
    naming: row.naming as Naming | null,
    caps: byPeriod(caps.map(({ period, cap }) => [period, cap])),
    used: { ...used, total: row.spent + row.writtenOff },
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

function keyStateOf(text: string): KeyState {
  if (text === 'active' || text === 'suspended' || text === 'revoked') return text;
  throw new RangeError(`"${text}" is not a state of a key`);
}

function scopeOf(text: string): KeyScope {
  if (text === 'use' || text === 'manage') return text;
  throw new RangeError(`"${text}" is not a scope of a key`);
}
