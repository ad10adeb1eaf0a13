/**
 * Searches names without regard to upper and lower case. PostgreSQL's `ILIKE` follows the locale of
 * the database: under `C`, which `initdb` takes from `LANG=C`, `Ä` and `ä` are different letters.
 * ICU's root collation folds all of Unicode, as JavaScript and the embedded ledger do.
 */

import type { Pool } from 'pg';
import { containing } from '../ledger/queries/search.js';
import type { Condition } from '../ledger/queries/search.js';
import { READ_TIMEOUT_MS, isSqlError, queryRows, reachingDatabase } from './query.js';

/** Asks the server once, when a name is first searched. @returns the collation for `ILIKE` */
type NameSearch = () => Promise<typeof ICU | ''>;

const ICU = ' COLLATE "und-x-icu"';

export function createNameSearch(pool: Pool): NameSearch {
  let known: typeof ICU | '' | undefined;
  return async () => (known ??= (await hasIcu(pool)) ? ICU : '');
}

/** @returns the condition that one of the columns contains this text; none without a text. */
export async function nameConditions(
  search: NameSearch,
  columns: readonly string[],
  text: string | undefined,
): Promise<readonly Condition[]> {
  const pattern = containing(text);
  if (pattern === undefined) return [];
  const collation = await reachingDatabase(search);
  const matches = columns.map((column) => `${column} ILIKE ?::text${collation}`);
  return [[`(${matches.join(' OR ')})`, ...columns.map(() => pattern)]];
}

/** A server may be built without ICU, and ICU does not know every encoding. */
async function hasIcu(pool: Pool): Promise<boolean> {
  try {
    return await foldsUnicode(pool, ICU);
  } catch (error) {
    if (isSqlError(error)) return false;
    throw error;
  }
}

async function foldsUnicode(pool: Pool, collation: string): Promise<boolean> {
  const [row] = await queryRows<{ folds: boolean }>(pool, {
    text: `SELECT $1::text ILIKE $2::text${collation} AS folds`,
    values: ['Ä', 'ä'],
    timeoutMs: READ_TIMEOUT_MS,
  });
  return row?.folds === true;
}

/** @returns a sentence for the operator if names can be found by the same case only. */
export async function nameSearchRemark(pool: Pool): Promise<string | undefined> {
  if ((await hasIcu(pool)) || (await foldsUnicode(pool, ''))) return undefined;
  const [row] = await queryRows<{ locale: string }>(pool, {
    text: 'SELECT datctype AS locale FROM pg_database WHERE datname = current_database()',
    timeoutMs: READ_TIMEOUT_MS,
  });
  return (
    `The server has no ICU, and the database the locale ${row?.locale ?? '?'}: searches by name ` +
    'tell upper from lower case in letters other than A to Z. Create the database with LOCALE ' +
    "'C.UTF-8' and TEMPLATE template0."
  );
}
