/**
 * Reads the number of charges per commit from the ledger, with plain SQL: PostgreSQL marks each row
 * with the transaction that wrote it.
 */

import pg from 'pg';

/**
 * @returns `read`, which counts all charges and commits so far, and `readLatest`, which counts
 * those since the last reading.
 */
export async function openBatchCounter(databaseUrl, keyIds) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows: accounts } = await client.query(
    'select distinct account_id as id from api_key where id = any($1)',
    [keyIds],
  );
  const accountIds = accounts.map(({ id }) => id);
  let counted = accountIds.map(() => '0');
  const total = { settled: 0, batches: 0 };

  async function readLatest() {
    const { rows } = await client.query(
      'select a.seq::text from unnest($1::text[]) with ordinality n (id, place) ' +
        'join account a on a.id = n.id order by n.place',
      [accountIds],
    );
    const now = rows.map(({ seq }) => seq);
    const { rows: counts } = await client.query(
      `select count(*)::int as settled, count(distinct l.xmin::text)::int as batches
         from unnest($1::text[], $2::bigint[], $3::bigint[]) n (id, counted, now)
         join ledger l on l.account_id = n.id and l.seq > n.counted and l.seq <= n.now
         where l.kind = 'charge'`,
      [accountIds, counted, now],
    );
    const [{ settled, batches }] = counts;
    counted = now;
    total.settled += settled;
    total.batches += batches;
    return { settled, batches };
  }

  return {
    readLatest,
    async read() {
      await readLatest();
      return { ...total };
    },
    close: () => client.end(),
  };
}
