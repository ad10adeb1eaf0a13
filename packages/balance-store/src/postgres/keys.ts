/** Reads keys. */

import type { Pool } from 'pg';
import type { PresentedKey } from '../key.js';
import type { KeyTable } from '../ledger/ledger-database.js';
import { containing } from '../ledger/search.js';
import { keyRecordOf } from '../ledger/stored-key.js';
import type { StoredKey } from '../ledger/stored-key.js';
import { unitsFromNumeric } from '../numeric.js';
import { metadataConditions, readList, sourceOf } from './list-parts.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';

/**
 * @param hot - The pool for requests.
 * @param admin - The pool for operators.
 */
export function createKeyTable(hot: Pool, admin: Pool): KeyTable {
  return {
    async get(id) {
      const [row] = await reachingDatabase(() =>
        queryRows<StoredKey<string>>(hot, { ...GET_KEY, values: [id] }),
      );
      return row === undefined ? undefined : keyRecordOf(row, unitsFromNumeric, new Date());
    },

    async list(
      { accountId, name, externalId, metadata, pepper, withoutRevoked, ...page },
      pepperId,
    ) {
      const pattern = containing(name);
      const previous = pepper === undefined ? undefined : pepperId;
      const rows = await readList<StoredKey<string>>(admin, KEYS, page, [
        ['account_id = ?', accountId],
        ['(name ILIKE ? OR hint ILIKE ?)', pattern, pattern],
        ['external_id = ?', externalId],
        [UNDER_PREVIOUS_PEPPER, previous, previous],
        ...(withoutRevoked === true ? [["state <> 'revoked'"] as const] : []),
        ...metadataConditions(metadata),
      ]);
      return rows.map((row) => keyRecordOf(row, unitsFromNumeric, new Date()));
    },

    async find({ hash, oldHash }) {
      const [row] = await reachingDatabase(() =>
        queryRows<FoundRow>(hot, { ...FIND_KEY, values: [bytesOf(hash), bytesOf(oldHash)] }),
      );
      if (row === undefined) return undefined;
      const record = keyRecordOf(row, unitsFromNumeric, new Date());
      return { record, presented: row.presented, hasOldHash: row.hasOldHash };
    },
  };
}

interface FoundRow extends StoredKey<string> {
  readonly presented: PresentedKey['presented'];
  readonly hasOldHash: boolean;
}

export function bytesOf(hash: Uint8Array | null): Buffer | null {
  return hash === null ? null : Buffer.from(hash);
}

/**
 * Condition for keys that still need the previous pepper, either for their credential or for a
 * previous credential that still works. Its parameters: the id of the current pepper, twice.
 */
const UNDER_PREVIOUS_PEPPER =
  "(state <> 'revoked' AND " +
  '(pepper_id <> ? OR (previous_pepper_id <> ? AND previous_until > now())))';

/** The columns of {@link StoredCaps}. */
export const CAP_COLUMNS =
  'cap_day::text AS "capDay", cap_week::text AS "capWeek", cap_month::text AS "capMonth", ' +
  'cap_total::text AS "capTotal", spent::text, written_off::text AS "writtenOff", ' +
  'day_start AS "dayStart", day_base::text AS "dayBase", week_start AS "weekStart", ' +
  'week_base::text AS "weekBase", month_start AS "monthStart", month_base::text AS "monthBase"';

/** The columns of {@link StoredKey}. */
export const KEY_COLUMNS =
  'id, account_id AS "accountId", name, external_id AS "externalId", metadata, hint, state, ' +
  'scope, models, expires_at AS "expiresAt", previous_until AS "previousUntil", concurrency, ' +
  `burst, requests_per_minute AS "requestsPerMinute", ${CAP_COLUMNS}, balance::text, ` +
  'credited::text, created_at AS "createdAt", last_charged_at AS "lastChargedAt", standing';

const KEYS = sourceOf({ select: `SELECT ${KEY_COLUMNS} FROM key_standing`, from: 'key_standing' });

/** Holders of keys read their balance with it, so it must not wait for operators. */
const GET_KEY = {
  name: 'get_key',
  text: `SELECT ${KEY_COLUMNS} FROM key_standing WHERE id = $1`,
  timeoutMs: READ_TIMEOUT_MS,
} as const;

const FIND_KEY = {
  name: 'find_key',
  text:
    `SELECT ${KEY_COLUMNS}, 'current' AS presented, ` +
    'credential_hmac IS NOT DISTINCT FROM $2 AS "hasOldHash" FROM key_standing ' +
    'WHERE credential_hmac IN ($1, $2) ' +
    'UNION ALL ' +
    `SELECT ${KEY_COLUMNS}, 'replaced', previous_hmac IS NOT DISTINCT FROM $2 ` +
    'FROM key_standing ' +
    'WHERE previous_hmac IN ($1, $2) AND previous_until > clock_timestamp()',
  timeoutMs: READ_TIMEOUT_MS,
} as const;
