/** Reads keys. */

import type { Pool } from 'pg';
import type { PrismaClient } from '../generated/client.js';
import type { KeyTable } from '../ledger/ledger-database.js';
import { containing } from '../ledger/search.js';
import { keyRecordOf } from '../ledger/stored-key.js';
import type { StoredKey } from '../ledger/stored-key.js';
import { unitsFromNumeric } from '../numeric.js';
import { unitsFromDecimal } from './decimal.js';
import { metadataConditions, readList, sourceOf } from './list-parts.js';
import { throughPrisma } from './prisma-faults.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';

export function createKeyTable(prisma: PrismaClient, hot: Pool, admin: Pool): KeyTable {
  return {
    async get(id) {
      const row = await throughPrisma(() => prisma.keyStanding.findUnique({ where: { id } }));
      return row === null ? undefined : keyRecordOf(row, unitsFromDecimal, new Date());
    },

    async list({ accountId, name, externalId, metadata, ...page }) {
      const pattern = containing(name);
      const rows = await readList<StoredKey<string>>(admin, KEYS, page, [
        ['account_id = ?', accountId],
        ['(name ILIKE ? OR hint ILIKE ?)', pattern, pattern],
        ['external_id = ?', externalId],
        ...metadataConditions(metadata),
      ]);
      return rows.map((row) => keyRecordOf(row, unitsFromNumeric, new Date()));
    },

    async find(credentialHmac) {
      const [row] = await reachingDatabase(() =>
        queryRows<StoredKey<string>>(hot, { ...FIND_KEY, values: [credentialHmac] }),
      );
      return row === undefined ? undefined : keyRecordOf(row, unitsFromNumeric, new Date());
    },
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

const KEYS = sourceOf({ select: `SELECT ${KEY_COLUMNS} FROM key_standing`, from: 'key_standing' });

const FIND_KEY = {
  name: 'find_key',
  text:
    `SELECT ${KEY_COLUMNS} FROM key_standing WHERE credential_hmac = $1 ` +
    'UNION ALL ' +
    `SELECT ${KEY_COLUMNS} FROM key_standing ` +
    'WHERE previous_hmac = $1 AND previous_until > clock_timestamp()',
  timeoutMs: READ_TIMEOUT_MS,
} as const;
