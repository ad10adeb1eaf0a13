/**
 * Reads the number of charges per commit from the ledger, with plain SQL: PostgreSQL marks each row
 * with the transaction that wrote it.
 */

import pg from 'pg';

/**
 * @returns `read` for all charges and commits so far, `readLatest` for those since the last
 * reading.
 */
export async function openBatchCounter(databaseUrl, keyId) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  let lastSeq = '0';
  const total = { settled: 0, batches: 0 };

  async function readLatest() {
    const { rows } = await client.query(
      `select count(*)::int as settled, count(distinct xmin::text)::int as batches, max(seq)::text as last
         from ledger where key_id = $1 and kind = 'charge' and seq > $2`,
      [keyId, lastSeq],
    );
    const [{ settled, batches, last }] = rows;
    lastSeq = last ?? lastSeq;
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
