/** Reads and changes a PostgreSQL database with plain SQL, without the code under test. */

import pg from 'pg';

/**
 * Runs one statement on a connection of its own.
 *
 * @returns {Promise<any[]>} the rows
 */
export function query(databaseUrl, sql) {
  return withClient(databaseUrl, async (client) => (await client.query(sql)).rows);
}

/**
 * Runs several statements on one connection, and closes the connection afterwards.
 *
 * @template Result
 * @param {string} databaseUrl
 * @param {(client: pg.Client) => Promise<Result>} work
 */
export async function withClient(databaseUrl, work) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
