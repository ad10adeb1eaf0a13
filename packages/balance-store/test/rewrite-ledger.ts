/** Changes a ledger with plain SQL, past the triggers that refuse to rewrite it. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { querySql } from './postgres-server.js';

/** Where a ledger is: the folder of an embedded one, or the address of a database. */
export type LedgerPlace = { readonly dataDir: string } | { readonly databaseUrl: string };

/** Waits for the store's own writes, allows any value, and does not wait for the disk. */
const PRAGMAS =
  'PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF; ' +
  'PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;';

/** Runs the statements, while the triggers are disabled. The ledger may be in use. */
export async function rewriteLedger(place: LedgerPlace, statements: string): Promise<void> {
  if ('databaseUrl' in place) {
    // No trigger runs in this session, and the tables stay as they are: if they were altered, all
    // other sessions would have to plan their queries anew.
    await querySql(place.databaseUrl, `SET session_replication_role = replica; ${statements}`);
    return;
  }
  const database = new DatabaseSync(join(place.dataDir, 'ledger.db'));
  try {
    database.exec(PRAGMAS);
    const triggers = database
      .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
      .all();
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
    database.exec(statements);
    for (const { sql } of triggers) database.exec(String(sql));
  } finally {
    database.close();
  }
}

const DAY_MS = 86_400_000;

/** Makes all entries older, and removes their seals, which contain the old times. */
export function ageLedger(place: LedgerPlace, days: number): Promise<void> {
  return rewriteLedger(
    place,
    'DELETE FROM ledger_seal; DELETE FROM ledger_block; ' +
      `${hoursEarlier(days)}; ` +
      `UPDATE ledger SET created_at = ${earlier(place, days * DAY_MS)}`,
  );
}

/** Makes the sums of hours older. */
export function hoursEarlier(days: number): string {
  return ['usage_hour', 'money_hour']
    .map((table) => `UPDATE ${table} SET hour = hour - ${String(days * 24)}`)
    .join('; ');
}

/** A time as an SQL literal of this ledger. */
export function timeLiteral(place: LedgerPlace, time: Date): string {
  return 'dataDir' in place ? String(time.getTime()) : `'${time.toISOString()}'::timestamptz`;
}

/** An SQL expression for the time of an entry, some milliseconds earlier. */
export function earlier(place: LedgerPlace, ms: number): string {
  return 'dataDir' in place
    ? `created_at - ${String(ms)}`
    : `created_at - interval '${String(ms)} milliseconds'`;
}
