/** The record of requests. Each batch is one statement, in a transaction of its own. */

import type { Pool, QueryResultRow } from 'pg';
import type { RequestPruning } from '../request-record.js';
import type { FoundErasures, RequestTables, Summed } from '../ledger/requests/request-tables.js';
import { readBlock } from '../ledger/requests/batch.js';
import type { StoredBatch } from '../ledger/requests/batch.js';
import { factsOf, listRequests } from '../ledger/requests/list.js';
import type { FoundBlock, RequestSource } from '../ledger/requests/list.js';
import { BlockSums, COARSE_MINUTES } from '../ledger/requests/block-sums.js';
import {
  blockWithout,
  endOfBlocks,
  firstLabelledDay,
  oldSums,
  tagsOf,
} from '../ledger/requests/prune.js';
import type { KeptInPeriod } from '../ledger/requests/prune.js';
import {
  FIRST_BLOCK,
  FIRST_SUM,
  figuresOf,
  seriesConditions,
  sumsOf,
  sumsQuery,
} from '../ledger/requests/sums.js';
import type { SumRow } from '../ledger/requests/sums.js';
import { matching } from '../ledger/queries/search.js';
import { membersWithout } from '../ledger/tables/tables.js';
import type { Model, Row } from '../ledger/tables/tables.js';
import { unitsFromNumeric } from '../numeric.js';
import {
  READ_TIMEOUT_MS,
  WRITE_TIMEOUT_MS,
  inTransaction,
  numbered,
  queryRows,
  reachingDatabase,
} from './query.js';
import type { TransactionQueries } from './query.js';
import { recordset, select, textsOf } from './tables.js';

const BLOCKS_PER_PRUNING = 100;
const BLOCKS_PER_SUMMING = 64;

/**
 * @param pool - Has one connection, so that the record never takes one from requests.
 * @param admin - For reads and upkeep.
 */
export function createRequestTables(pool: Pool, admin: Pool): RequestTables {
  const source = createSource(admin);
  return {
    record: (batch) => reachingDatabase(() => recordBatch(pool, batch)),
    addToSums: () => reachingDatabase(() => addToSums(admin)),
    list: (query) => reachingDatabase(() => listRequests(source, query)),
    sums: (query) =>
      reachingDatabase(async () => {
        const { text, values } = sumsQuery(query, {
          sumOf: (value) => `sum(${value})::text`,
          sumOfCharge: 'sum(charge)::text',
        });
        const rows = await read<SumRow & QueryResultRow>(admin, numbered(text), values);
        return sumsOf(rows, query, unitsFromNumeric);
      }),
    recordedFrom: (of) =>
      reachingDatabase(async () => {
        if (of === 'requests') {
          const [block] = await read<{ first: Date | null }>(admin, FIRST_BLOCK);
          return block?.first ?? undefined;
        }
        const { text, unitMs } = FIRST_SUM[of];
        const [found] = await read<{ first: number | null }>(admin, text);
        return found?.first == null ? undefined : new Date(found.first * unitMs);
      }),
    prune: (pruning) =>
      reachingDatabase(async () => {
        const periods = await read<{ period: number; kept: string }>(
          admin,
          'SELECT period, sum(kept)::text AS kept FROM request_sum WHERE minutes = $1 ' +
            'GROUP BY period ORDER BY period DESC',
          [COARSE_MINUTES],
        );
        const counts = periods.map(({ period, kept }): KeptInPeriod => ({
          period,
          kept: Number(kept),
        }));
        return inTransaction(admin, 'write', (queries) =>
          deleteBlocks(queries, endOfBlocks(counts, pruning), pruning),
        );
      }),
    erasuresAfter: (seq, since) => reachingDatabase(() => readErasures(pool, seq, since)),
    erase: (accountId, series) =>
      reachingDatabase(() =>
        inTransaction(admin, 'write', (queries) => erase(queries, accountId, series)),
      ),
  };
}

function adding(model: 'RequestSum' | 'RequestLabel', table: string): string {
  const figures = figuresOf(model).map((name) => `${name} = ${table}.${name} + excluded.${name}`);
  return `DO UPDATE SET ${figures.join(', ')}`;
}

async function recordBatch(
  pool: Pool,
  { id, series, blocks, counted }: StoredBatch,
): Promise<void> {
  const stored = blocks.map(({ firstAt, endedAt, ids, requests, tags }, index) => ({
    index,
    first_at: firstAt,
    ended_at: endedAt,
    ids: Buffer.from(ids).toString('base64'),
    requests,
    tags: tags.map(String),
  }));
  await queryRows(pool, {
    name: 'record_requests',
    text:
      'WITH written AS (INSERT INTO request_write (id, written_at) VALUES ($4, now()) ' +
      'ON CONFLICT DO NOTHING RETURNING id), ' +
      `series AS (${insertOf('RequestSeries', '$1')} ${ONCE} ON CONFLICT (id) DO UPDATE ` +
      'SET last_at = greatest(request_series.last_at, excluded.last_at)), ' +
      "given AS (SELECT b.*, nextval(pg_get_serial_sequence('request_block', 'seq')) AS seq " +
      'FROM (SELECT * FROM json_to_recordset($2::json) AS r ("index" int4, first_at timestamptz, ' +
      `ended_at timestamptz, ids text, requests text, tags json) ${ONCE} ORDER BY "index") b), ` +
      'block AS (INSERT INTO request_block (seq, first_at, ended_at, ids, requests) ' +
      "SELECT seq, first_at, ended_at, decode(ids, 'base64'), requests FROM given), " +
      'unsummed AS (INSERT INTO request_unsummed (block, counted) SELECT seq, NULL FROM given ' +
      'UNION ALL SELECT NULL, $3 FROM written WHERE $3::text IS NOT NULL) ' +
      'INSERT INTO request_tag (tag, block) ' +
      'SELECT json_array_elements_text(tags)::int8, seq FROM given',
    values: [
      JSON.stringify(series.map((row) => textsOf('RequestSeries', row))),
      JSON.stringify(stored),
      counted ?? null,
      id,
    ],
    timeoutMs: WRITE_TIMEOUT_MS,
  });
}

/**
 * Adds some blocks to the sums in one transaction. It locks the first rows of what is not summed:
 * another process waits for it, and then adds those that follow.
 */
async function addToSums(pool: Pool): Promise<Summed> {
  const [some] = await read(pool, 'SELECT 1 FROM request_unsummed LIMIT 1');
  if (some === undefined) return { added: 0, isDone: true };
  return inTransaction(pool, 'write', async ({ rows }) => {
    const found = await rows<{ seq: string; block: string | null; counted: string | null }>(
      'SELECT u.seq::text AS seq, u.block::text AS block, u.counted FROM request_unsummed u ' +
        'ORDER BY u.seq LIMIT $1 FOR UPDATE',
      [BLOCKS_PER_SUMMING],
    );
    const sums = new BlockSums();
    const added: string[] = [];
    for (const { seq, block, counted } of found) {
      if (sums.isFull) break;
      added.push(seq);
      if (counted !== null) {
        sums.add(readBlock(counted), 'counted');
        continue;
      }
      // One at a time, so that requests are served between them.
      const [stored] = await rows<Pick<BlockRow, 'requests'>>(
        'SELECT requests FROM request_block WHERE seq = $1',
        [block],
      );
      if (stored !== undefined) sums.add(readBlock(stored.requests), 'kept');
    }
    await rows('DELETE FROM request_unsummed WHERE seq = ANY($1::int8[])', [added]);
    const known = await touchSeries(rows, sums.series());
    for (const { sums: some, labels } of sums.parts(known)) {
      await rows(ADD_TO_SUMS, [
        JSON.stringify(some.map((row) => textsOf('RequestSum', row))),
        JSON.stringify(labels.map((row) => textsOf('RequestLabel', row))),
      ]);
    }
    const isDone = added.length === found.length && added.length < BLOCKS_PER_SUMMING;
    return { added: added.length, isDone };
  });
}

const ADD_TO_SUMS =
  `WITH sums AS (${insertOf('RequestSum', '$1')} ON CONFLICT (minutes, period, series) ` +
  `${adding('RequestSum', 'request_sum')}) ` +
  `${insertOf('RequestLabel', '$2')} ON CONFLICT (day, series, label) ` +
  adding('RequestLabel', 'request_label');

/** @returns those whose rows exist; an erasure waits for them, and then also deletes their sums */
async function touchSeries(
  rows: TransactionQueries['rows'],
  series: readonly (readonly [id: number, lastAt: number])[],
): Promise<ReadonlySet<number>> {
  const found = await rows<{ id: string }>(
    'WITH given AS MATERIALIZED (SELECT s.id, g.last_at FROM request_series s ' +
      'JOIN unnest($1::int8[], $2::timestamptz[]) AS g (id, last_at) ON g.id = s.id ' +
      'ORDER BY s.id FOR NO KEY UPDATE OF s) ' +
      'UPDATE request_series s SET last_at = greatest(s.last_at, g.last_at) FROM given g ' +
      'WHERE s.id = g.id RETURNING s.id::text AS id',
    [series.map(([id]) => String(id)), series.map(([, lastAt]) => new Date(lastAt))],
  );
  return new Set(found.map(({ id }) => Number(id)));
}

/** Nothing is written again under the id of an earlier write. */
const ONCE = 'WHERE EXISTS (SELECT FROM written)';

function insertOf(model: Model, parameter: string): string {
  const { table, columns, values } = recordset(model, parameter);
  return `INSERT INTO ${table} (${columns}) ${values}`;
}

function read<Found extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Found[]> {
  return queryRows<Found>(pool, { text, values, timeoutMs: READ_TIMEOUT_MS });
}

const BLOCK = select('RequestBlock', ['seq', 'requests']);
/** As it is read; the number is a text. */
interface BlockRow {
  readonly seq: string;
  readonly requests: string;
}
const FACTS = select('RequestSeries', membersWithout('RequestSeries', ['lastAt']));

function createSource(pool: Pool): RequestSource {
  const blocks = async (text: string, values: readonly unknown[]) => {
    const rows = await read<BlockRow & QueryResultRow>(
      pool,
      `SELECT ${BLOCK} FROM request_block WHERE ${text}`,
      values,
    );
    return rows.map((row): FoundBlock => ({ ...row, seq: BigInt(row.seq) }));
  };
  const series = async (where: string, values: readonly unknown[]) => {
    const rows = await read<SeriesRow & QueryResultRow>(
      pool,
      `SELECT ${FACTS} FROM request_series ${where}`,
      values,
    );
    return new Map(rows.map((row) => [Number(row.id), factsOf(row)]));
  };
  const blockWhere = async (text: string, values: readonly unknown[] = []) => {
    const [found] = await read<{ seq: string }>(
      pool,
      `SELECT b.seq::text AS seq FROM request_block b ${text} LIMIT 1`,
      values,
    );
    return found && BigInt(found.seq);
  };
  return {
    findSeries(filter) {
      const { where, values } = matching(...seriesConditions(filter));
      return series(numbered(where), values);
    },
    getSeries: (ids) => series('WHERE id = ANY($1::int8[])', [ids.map(String)]),
    firstBlock: (from, slackMs) =>
      blockWhere(
        "WHERE b.ended_at >= $1 AND b.ended_at < $2::int4 * interval '1 ms' + " +
          '(SELECT min(ended_at) FROM request_block WHERE ended_at >= $1) ORDER BY b.seq',
        [from, slackMs],
      ),
    lastBlock: (until, slackMs) =>
      until === undefined
        ? blockWhere('ORDER BY b.seq DESC')
        : blockWhere(
            "WHERE b.ended_at < $1::timestamptz + $2::int4 * interval '1 ms' " +
              'AND (b.first_at IS NULL OR b.first_at < $1) AND b.ended_at >= coalesce(' +
              '(SELECT max(ended_at) FROM request_block WHERE ended_at < $1), $1) ' +
              "- $2::int4 * interval '1 ms' ORDER BY b.seq DESC",
            [until, slackMs],
          ),
    blocks: ({ first, last, limit }) =>
      blocks('request_block.seq BETWEEN $1 AND $2 ORDER BY request_block.seq DESC LIMIT $3', [
        first.toString(),
        last.toString(),
        limit,
      ]),
    taggedBlocks: (tags, other, { first, last, limit }) =>
      blocks(
        'request_block.seq IN (SELECT DISTINCT block FROM request_tag t WHERE tag = ANY($1::int8[]) ' +
          'AND block BETWEEN $2 AND $3 AND ($5::int8 IS NULL OR EXISTS ' +
          '(SELECT FROM request_tag o WHERE o.tag = $5 AND o.block = t.block)) ' +
          'ORDER BY block DESC LIMIT $4) ORDER BY request_block.seq DESC',
        [tags.map(String), first.toString(), last.toString(), limit, other?.toString() ?? null],
      ),
    blocksWithText: (text, from, until) =>
      blocks(
        'ended_at >= $1 AND ended_at < $2 AND strpos(requests, $3) > 0 ' +
          'ORDER BY request_block.seq DESC LIMIT 2',
        [from, until, text],
      ),
    blocksWithId: (hash, limit) =>
      blocks('position($1::bytea IN ids) > 0 ORDER BY request_block.seq DESC LIMIT $2', [
        Buffer.from(hash),
        limit,
      ]),
  };
}

type SeriesRow = Omit<Row<'RequestSeries'>, 'id' | 'lastAt'> & { readonly id: string };

async function deleteBlocks(
  { rows }: TransactionQueries,
  end: Date,
  pruning: RequestPruning,
): Promise<{ readonly isDone: boolean }> {
  const old = await rows<BlockRow>(
    `DELETE FROM request_block WHERE seq IN (SELECT b.seq FROM request_block b WHERE b.ended_at < $1 ` +
      `ORDER BY b.ended_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING ${BLOCK}`,
    [end, BLOCKS_PER_PRUNING],
  );
  for (const block of old) await untag(rows, block);
  for (const { minutes, period } of oldSums(pruning)) {
    await rows('DELETE FROM request_sum WHERE minutes = $1 AND period < $2', [minutes, period]);
  }
  await rows('DELETE FROM request_label WHERE day < $1', [firstLabelledDay(end)]);
  await rows('DELETE FROM request_series WHERE last_at < $1', [pruning.before]);
  await rows("DELETE FROM request_write WHERE written_at < now() - interval '1 day'", []);
  return { isDone: old.length < BLOCKS_PER_PRUNING };
}

async function untag(rows: TransactionQueries['rows'], { seq, requests }: BlockRow): Promise<void> {
  await rows('DELETE FROM request_tag WHERE block = $1 AND tag = ANY($2::int8[])', [
    seq,
    tagsOf(requests).map(String),
  ]);
}

async function readErasures(pool: Pool, seq: bigint, since: Date): Promise<FoundErasures> {
  const [found] = await queryRows<{ last: string; accountIds: readonly string[] }>(pool, {
    name: 'erasures_after',
    text:
      'SELECT coalesce(max(trail.seq), $1::int8)::text AS last, coalesce(array_agg(account_id) ' +
      "FILTER (WHERE action = 'account.erase' AND created_at >= $2), '{}') AS \"accountIds\" " +
      'FROM trail WHERE trail.seq > $1::int8',
    values: [seq.toString(), since],
    timeoutMs: READ_TIMEOUT_MS,
  });
  return { accountIds: found?.accountIds ?? [], last: BigInt(found?.last ?? seq) };
}

async function erase(
  { rows }: TransactionQueries,
  accountId: string,
  others: readonly number[],
): Promise<void> {
  const found = await rows<{ id: string }>(
    'DELETE FROM request_series WHERE account_id = $1 RETURNING id::text AS id',
    [accountId],
  );
  const erased = new Set([...found.map(({ id }) => Number(id)), ...others]);
  const ids = [...erased].map(String);
  const blocks = await rows<{ seq: string }>(
    'SELECT DISTINCT block::text AS seq FROM request_tag WHERE tag = ANY($1::int8[])',
    [ids],
  );
  for (const { seq } of blocks) {
    const [block] = await rows<BlockRow>(
      `SELECT ${BLOCK} FROM request_block WHERE request_block.seq = $1 FOR UPDATE`,
      [seq],
    );
    if (block === undefined) continue;
    await untag(rows, block);
    const rest = blockWithout(block.requests, erased);
    if (rest === undefined) {
      await rows('DELETE FROM request_block WHERE seq = $1', [seq]);
      continue;
    }
    await rows('UPDATE request_block SET ids = $2, requests = $3 WHERE seq = $1', [
      seq,
      Buffer.from(rest.ids),
      rest.requests,
    ]);
    await rows('INSERT INTO request_tag (tag, block) SELECT tag, $2 FROM unnest($1::int8[]) tag', [
      rest.tags.map(String),
      seq,
    ]);
  }
  await rows('DELETE FROM request_sum WHERE series = ANY($1::int8[])', [ids]);
  await rows('DELETE FROM request_label WHERE series = ANY($1::int8[])', [ids]);
}
