/** Reads keys through Prisma, except for the look-up before each admission. */

import type { Pool } from 'pg';
import type { Prisma, PrismaClient } from '../generated/client.js';
import type { KeyFilter } from '../key.js';
import type { KeyTable } from '../ledger/ledger-database.js';
import { keyRecordOf } from '../ledger/stored-key.js';
import type { StoredKey } from '../ledger/stored-key.js';
import { unitsFromNumeric } from '../numeric.js';
import { unitsFromDecimal } from './decimal.js';
import { throughPrisma } from './prisma-faults.js';
import { READ_TIMEOUT_MS, WRITE_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';
import { containing, metadataConditions } from './search.js';

export function createKeyTable(prisma: PrismaClient, hot: Pool): KeyTable {
  return {
    async get(id) {
      const row = await throughPrisma(() => prisma.keyStanding.findUnique({ where: { id } }));
      return row === null ? undefined : keyRecordOf(row, unitsFromDecimal, new Date());
    },

    async list(filter, pepperId) {
      const rows = await throughPrisma(() =>
        prisma.keyStanding.findMany({
          where: conditionsOf(filter, pepperId),
          orderBy: { id: 'desc' },
          take: filter.limit,
        }),
      );
      return rows.map((row) => keyRecordOf(row, unitsFromDecimal, new Date()));
    },

    async find({ hash, oldHash }) {
      const [row] = await reachingDatabase(() =>
        queryRows<FoundRow>(hot, { ...FIND_KEY, values: [bytesOf(hash), bytesOf(oldHash)] }),
      );
      if (row === undefined) return undefined;
      const record = keyRecordOf(row, unitsFromNumeric, new Date());
      return { record, hasOldHash: row.hasOldHash };
    },

    async renewHash({ hash, oldHash, pepperId }) {
      await reachingDatabase(() =>
        queryRows(hot, { ...RENEW_HASH, values: [bytesOf(oldHash), bytesOf(hash), pepperId] }),
      );
    },
  };
}

interface FoundRow extends StoredKey<string> {
  readonly hasOldHash: boolean;
}

function bytesOf(hash: Uint8Array | null): Buffer | null {
  return hash === null ? null : Buffer.from(hash);
}

function conditionsOf(
  { after, accountId, name, externalId, metadata, pepper }: KeyFilter,
  pepperId: string,
): Prisma.KeyStandingWhereInput {
  return {
    ...(accountId === undefined ? {} : { accountId }),
    ...(externalId === undefined ? {} : { externalId }),
    AND: [
      ...(after === undefined ? [] : [{ id: { lt: after } }]),
      ...metadataConditions(metadata),
      ...(pepper === undefined ? [] : [underPreviousPepper(pepperId)]),
      ...(name === undefined
        ? []
        : [
            {
              OR: [{ name: containing(name) }, { hint: containing(name) }],
            },
          ]),
    ],
  };
}

function underPreviousPepper(pepperId: string): Prisma.KeyStandingWhereInput {
  const other = { not: pepperId };
  return {
    state: { not: 'revoked' },
    OR: [{ pepperId: other }, { previousPepperId: other, previousUntil: { gt: new Date() } }],
  };
}

/** The columns of {@link StoredKey}. */
export const KEY_COLUMNS =
  'id, account_id AS "accountId", name, external_id AS "externalId", metadata, hint, state, ' +
  'scope, models, expires_at AS "expiresAt", previous_until AS "previousUntil", concurrency, ' +
  'burst, requests_per_minute AS "requestsPerMinute", cap_day::text AS "capDay", ' +
  'cap_week::text AS "capWeek", cap_month::text AS "capMonth", cap_total::text AS "capTotal", ' +
  'spent::text, written_off::text AS "writtenOff", day_start AS "dayStart", ' +
  'day_base::text AS "dayBase", week_start AS "weekStart", week_base::text AS "weekBase", ' +
  'month_start AS "monthStart", month_base::text AS "monthBase", balance::text, ' +
  'credited::text, created_at AS "createdAt", last_charged_at AS "lastChargedAt", standing';

const FIND_KEY = {
  name: 'find_key',
  text:
    `SELECT ${KEY_COLUMNS}, credential_hmac IS NOT DISTINCT FROM $2 AS "hasOldHash" ` +
    'FROM key_standing WHERE credential_hmac IN ($1, $2) ' +
    'UNION ALL ' +
    `SELECT ${KEY_COLUMNS}, previous_hmac IS NOT DISTINCT FROM $2 FROM key_standing ` +
    'WHERE previous_hmac IN ($1, $2) AND previous_until > clock_timestamp()',
  timeoutMs: READ_TIMEOUT_MS,
} as const;

const RENEW_HASH = {
  text:
    'UPDATE api_key SET ' +
    'credential_hmac = CASE WHEN credential_hmac = $1 THEN $2 ELSE credential_hmac END, ' +
    'pepper_id = CASE WHEN credential_hmac = $1 THEN $3 ELSE pepper_id END, ' +
    'previous_hmac = CASE WHEN previous_hmac = $1 THEN $2 ELSE previous_hmac END, ' +
    'previous_pepper_id = CASE WHEN previous_hmac = $1 THEN $3 ELSE previous_pepper_id END ' +
    'WHERE credential_hmac = $1 OR previous_hmac = $1',
  timeoutMs: WRITE_TIMEOUT_MS,
} as const;
