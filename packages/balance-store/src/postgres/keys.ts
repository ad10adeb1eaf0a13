/** Reads keys. */

import type { Pool } from 'pg';
import type { KeyRecord, KeyStanding, PresentedKey } from '../key.js';
import type { FoundKey, KeyTable } from '../ledger/database/ledger-database.js';
import type { CredentialHashes } from '../ledger/rules/pepper.js';
import { createQueryBatcher } from '../ledger/base/query-batcher.js';
import { ACCOUNT_MEMBERS_OF_KEY, KEY_MEMBERS, keyRecordOf } from '../ledger/rows/stored-key.js';
import type { Row } from '../ledger/tables/tables.js';
import { unitsFromNumeric } from '../numeric.js';
import { metadataConditions, readList, sourceOf } from './list-parts.js';
import { createNameSearch, nameConditions } from './name-search.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';
import type { TransactionQueries } from './query.js';
import { readerOf, select } from './tables.js';
import type { PostgresValues } from './tables.js';

/**
 * @param hot - The pool for requests.
 * @param admin - The pool for operators.
 */
export function createKeyTable(hot: Pool, admin: Pool): KeyTable {
  const get = createKeyReader(hot);
  const find = createKeySearch(hot);
  const nameSearch = createNameSearch(admin);
  return {
    async get(id) {
      return (await get(id)) ?? undefined;
    },

    async list(
      { accountId, memberId, name, externalId, metadata, pepper, withoutRevoked, ...page },
      pepperId,
    ) {
      const previous = pepper === undefined ? undefined : pepperId;
      const rows = await readList<KeyRow>(admin, KEYS, page, [
        ['account_id = ?', accountId],
        ['member_id = ?', memberId],
        ...(await nameConditions(nameSearch, ['name', 'hint'], name)),
        ['external_id = ?', externalId],
        [UNDER_PREVIOUS_PEPPER, previous, previous],
        ...(withoutRevoked === true ? [["state <> 'revoked'"] as const] : []),
        ...metadataConditions(metadata),
      ]);
      return rows.map(recordOf);
    },

    async find(hashes) {
      return (await find(hashes)) ?? undefined;
    },
  };
}

/**
 * @returns A function that reads a key by its id. As with credentials, look-ups of one event-loop
 *   tick share one query, because each takes a connection that other requests wait for.
 */
function createKeyReader(hot: Pool): (id: string) => Promise<KeyRecord | null> {
  return createQueryBatcher(async (ids: readonly string[]) => {
    // PostgreSQL refuses a query with NUL, and with it the look-ups of others.
    const wanted = [...new Set(ids)].filter((id) => !id.includes('\0'));
    const rows = await reachingDatabase(() =>
      queryRows<KeyRow>(hot, { ...GET_KEYS, values: [wanted] }),
    );
    const rowBy = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => {
      const row = rowBy.get(id);
      return row === undefined ? null : recordOf(row);
    });
  });
}

/** @returns A function that finds the key of a credential. */
function createKeySearch(hot: Pool): (hashes: CredentialHashes) => Promise<FoundKey | null> {
  return createQueryBatcher(async (questions: readonly CredentialHashes[]) => {
    const wanted = questions.flatMap(({ hash, oldHash }) =>
      oldHash === null ? [hash] : [hash, oldHash],
    );
    const rows = await reachingDatabase(() =>
      queryRows<FoundRow>(hot, { ...FIND_KEYS, values: [wanted.map(bytesOf)] }),
    );
    const rowBy = new Map(rows.map((row) => [`${row.presented} ${hexOf(row.hash)}`, row]));
    return questions.map(({ hash, oldHash }) => {
      for (const presented of ['current', 'replaced'] as const)
        for (const each of [hash, oldHash]) {
          const row = each === null ? undefined : rowBy.get(`${presented} ${hexOf(each)}`);
          if (row === undefined) continue;
          return { record: recordOf(row), presented, hasOldHash: each === oldHash };
        }
      return null;
    });
  });
}

interface FoundRow extends KeyRow {
  readonly presented: PresentedKey['presented'];
  /** The hash under which the row was found. */
  readonly hash: Buffer;
}

function hexOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('hex');
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

/** See `storedCapsIn`. Of an account without budgets, nothing is looked up. */
const CAP_TEXTS =
  'CASE WHEN budgeted THEN (' +
  'SELECT json_agg(json_build_array(b.period, b.amount::text, u.start_at, u.used::text))::text ' +
  'FROM budget b LEFT JOIN budget_use u ON u.budget_id = b.id ' +
  "WHERE b.account_id = key_standing.account_id AND coalesce(b.subject, '') = key_standing.id " +
  'AND b.ended_seq IS NULL AND b.is_cap) END AS "capTexts"';
const KEY_COLUMNS =
  `${select('ApiKey', KEY_MEMBERS)}, ${select('Account', ACCOUNT_MEMBERS_OF_KEY)}, standing, ` +
  'expired_credit::text AS "expiredCredit", (SELECT g.path FROM member m ' +
  'JOIN spend_group g ON g.id = m.group_id WHERE m.id = key_standing.member_id) AS groups, ' +
  CAP_TEXTS;

const readKeyColumns = readerOf('ApiKey', KEY_MEMBERS);
const readAccountColumns = readerOf('Account', ACCOUNT_MEMBERS_OF_KEY);

/** A row of the view `key_standing`. */
type KeyRow = Pick<Row<'ApiKey', PostgresValues>, (typeof KEY_MEMBERS)[number]> &
  Pick<Row<'Account', PostgresValues>, (typeof ACCOUNT_MEMBERS_OF_KEY)[number]> & {
    readonly standing: KeyStanding;
    readonly expiredCredit: string;
    readonly groups: string | null;
    readonly capTexts: string | null;
  };

function recordOf(row: KeyRow): KeyRecord {
  const expiredCredit = unitsFromNumeric(row.expiredCredit);
  return keyRecordOf({ ...readAccountColumns(readKeyColumns(row)), expiredCredit }, new Date());
}

/** Reads a key in a transaction. */
export async function keyRecord(
  { rows }: TransactionQueries,
  keyId: string,
): Promise<KeyRecord | undefined> {
  const [row] = await rows<KeyRow>(GET_KEYS.text, [[keyId]]);
  return row === undefined ? undefined : recordOf(row);
}

const KEYS = sourceOf({ select: `SELECT ${KEY_COLUMNS} FROM key_standing`, from: 'key_standing' });

/** Holders of keys read their balance with it, so it must not wait for operators. */
const GET_KEYS = {
  name: 'get_keys',
  text: `SELECT ${KEY_COLUMNS} FROM key_standing WHERE id = ANY ($1)`,
  timeoutMs: READ_TIMEOUT_MS,
} as const;

const FIND_KEYS = {
  name: 'find_keys',
  text:
    `SELECT ${KEY_COLUMNS}, 'current' AS presented, credential_hmac AS hash FROM key_standing ` +
    'WHERE credential_hmac = ANY ($1::bytea[]) ' +
    'UNION ALL ' +
    `SELECT ${KEY_COLUMNS}, 'replaced', previous_hmac FROM key_standing ` +
    'WHERE previous_hmac = ANY ($1::bytea[]) AND previous_until > clock_timestamp()',
  timeoutMs: READ_TIMEOUT_MS,
} as const;
