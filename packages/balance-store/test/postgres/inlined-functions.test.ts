/**
 * PostgreSQL puts an SQL function's expression into the query that calls it, but only if nothing in
 * it is more volatile than the function says, and no argument that it uses twice is volatile.
 * Otherwise it parses and plans the function again in each query, which costs more than the query.
 */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPostgresStore } from '../../src/postgres/index.js';
import { standingsQueryOf } from '../../src/postgres/standing-reader.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

/**
 * Not called for each request, or, with an aggregate, called only where credit has expired, only
 * when a share of a budget is reached, or only for budgets in chains.
 */
const CALLED_SELDOM = new Set([
  'budget_has_address',
  'budget_left',
  'expired_credit',
  'sealed_field',
  'sealed_moment',
]);

let server: PostgresServer;
let database: string;
beforeAll(async () => {
  server = await usePostgresServer();
  database = await server.createDatabase();
  const store = await openPostgresStore({ connectionString: database, pepper: 'of the test' });
  await store.close();
});
afterAll(() => server.stop());

async function planOf(sql: string, values: readonly string[] = []): Promise<string> {
  const rows = await querySql(database, `EXPLAIN (VERBOSE) ${sql}`, values);
  return rows.map((row) => String(row['QUERY PLAN'])).join('\n');
}

describe('SQL functions that requests call', () => {
  // F459: "day_of" and "hour_of" called themselves immutable and used what is only stable: 0.3 ms
  // of each batch of charges.
  it('are part of the query that calls them', async () => {
    const functions = await querySql(
      database,
      'SELECT proname AS name, proretset AS "isSet", ' +
        'array(SELECT format_type(t, NULL) FROM unnest(proargtypes) t) AS types ' +
        "FROM pg_proc JOIN pg_language l ON l.oid = prolang WHERE lanname = 'sql' " +
        "AND pronamespace = 'public'::regnamespace ORDER BY 1",
    );
    const called: string[] = [];
    for (const { name, isSet, types } of functions) {
      if (CALLED_SELDOM.has(String(name)) || String(name).endsWith('_digest')) continue;
      const given = (types as string[]).map((type, index) => `NULL::${type} AS a${String(index)}`);
      const call = `${String(name)}(${given.map((_, index) => `s.a${String(index)}`).join(', ')})`;
      // Without OFFSET the arguments would be constants, and the call computed when it is planned.
      const from = `FROM (SELECT ${given.join(', ')} OFFSET 0) s`;
      const plan = await planOf(
        isSet === true
          ? `SELECT f.* ${from} CROSS JOIN LATERAL ${call} f`
          : `SELECT ${call} ${from}`,
      );
      expect({ name, plan }).toEqual({
        name,
        plan: expect.not.stringMatching(new RegExp(`\\b${String(name)}\\(`)),
      });
      called.push(String(name));
    }
    expect(called).toEqual(expect.arrayContaining(['hour_of', 'tightest_cap', 'standing_of']));
  });

  // F472: its caps were looked up with `clock_timestamp()`, so that two functions were planned for
  // each key: three times the cost of the reading.
  it('are part of the reading of standings', async () => {
    const { text, values } = standingsQueryOf(['key_a', 'key_b']);
    const plan = await planOf(text, values);
    expect(plan).toContain('public.api_key');
    expect(plan).not.toMatch(
      /Function Scan|tightest_cap\(|budget_start\(|standing_of\(|state_in\(/,
    );
  });
});
