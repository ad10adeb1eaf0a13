/** Reads keys. */

import type { Pool } from 'pg';
import type { KeyRecord, KeyStanding, PresentedKey } from '../key.js';
import type { KeyTable } from '../ledger/ledger-database.js';
import { containing } from '../ledger/search.js';
import { ACCOUNT_MEMBERS_OF_KEY, KEY_MEMBERS, keyRecordOf } from '../ledger/stored-key.js';
import type { Row } from '../ledger/tables.js';
import { metadataConditions, readList, sourceOf } from './list-parts.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';
import type { TransactionQueries } from './query.js';
import { readerOf, select } from './tables.js';
import type { PostgresValues } from './tables.js';

/**
 * @param hot - The pool for requests.
 * @param admin - The pool for operators.
 */
export function createKeyTable(hot: Pool, admin: Pool): KeyTable {
  return {
    async get(id) {
      const [row] = await reachingDatabase(() =>
        queryRows<KeyRow>(hot, { ...GET_KEY, values: [id] }),
      );
      return row === undefined ? undefined : recordOf(row);
    },

    async list(
      { accountId, name, externalId, metadata, pepper, withoutRevoked, ...page },
      pepperId,
    ) {
      const pattern = containing(name);
      const previous = pepper === undefined ? undefined : pepperId;
      const rows = await readList<KeyRow>(admin, KEYS, page, [
        ['account_id = ?', accountId],
        ['(name ILIKE ? OR hint ILIKE ?)', pattern, pattern],
        ['external_id = ?', externalId],
        [UNDER_PREVIOUS_PEPPER, previous, previous],
        ...(withoutRevoked === true ? [["state <> 'revoked'"] as const] : []),
        ...metadataConditions(metadata),
      ]);
      return rows.map(recordOf);
    },

    async find({ hash, oldHash }) {
      const [row] = await reachingDatabase(() =>
        queryRows<FoundRow>(hot, { ...FIND_KEY, values: [bytesOf(hash), bytesOf(oldHash)] }),
      );
      if (row === undefined) return undefined;
      return { record: recordOf(row), presented: row.presented, hasOldHash: row.hasOldHash };
    },
  };
}

interface FoundRow extends KeyRow {
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

const KEY_COLUMNS = `${select('ApiKey', KEY_MEMBERS)}, ${select('Account', ACCOUNT_MEMBERS_OF_KEY)}, standing`;

const readKeyColumns = readerOf('ApiKey', KEY_MEMBERS);
const readAccountColumns = readerOf('Account', ACCOUNT_MEMBERS_OF_KEY);

/** A row of the view `key_standing`. */
type KeyRow = Pick<Row<'ApiKey', PostgresValues>, (typeof KEY_MEMBERS)[number]> &
  Pick<Row<'Account', PostgresValues>, (typeof ACCOUNT_MEMBERS_OF_KEY)[number]> & {
    readonly standing: KeyStanding;
  };

function recordOf(row: KeyRow): KeyRecord {
  return keyRecordOf(readAccountColumns(readKeyColumns(row)), new Date());
}

/** Reads a key in a transaction. */
export async function keyRecord(
  { rows }: TransactionQueries,
  keyId: string,
): Promise<KeyRecord | undefined> {
  const [row] = await rows<KeyRow>(GET_KEY.text, [keyId]);
  return row === undefined ? undefined : recordOf(row);
}

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
