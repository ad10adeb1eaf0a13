/** The record of requests in its own file, `requests.db`. */

import type {
  RecordedPart,
  RequestPage,
  RequestPruning,
  RequestQuery,
  RequestSumQuery,
} from '../../request-record.js';
import { readBlock } from '../../ledger/requests/batch.js';
import type { StoredBatch, StoredBlock } from '../../ledger/requests/batch.js';
import { factsOf, listRequests as listFrom } from '../../ledger/requests/list.js';
import type { FoundBlock, RequestSource } from '../../ledger/requests/list.js';
import { BlockSums, COARSE_MINUTES } from '../../ledger/requests/block-sums.js';
import {
  blockWithout,
  endOfBlocks,
  firstLabelledDay,
  oldSums,
  tagsOf,
} from '../../ledger/requests/prune.js';
import type { KeptInPeriod } from '../../ledger/requests/prune.js';
import type { Summed } from '../../ledger/requests/request-tables.js';
import {
  FIRST_BLOCK,
  FIRST_SUM,
  figuresOf,
  seriesConditions,
  sumsOf,
  sumsQuery,
} from '../../ledger/requests/sums.js';
import type { SumRow } from '../../ledger/requests/sums.js';
import { DAY_MS } from '../../ledger/base/hours.js';
import { matching } from '../../ledger/queries/search.js';
import { membersWithout } from '../../ledger/tables/tables.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { sumUsd } from './sums.js';
import { insertRow, select } from './tables.js';
import type { SqliteRow } from './tables.js';

/** Other calls wait while one pruning is done, or while so many blocks are added to the sums. */
const BLOCKS_PER_PRUNING = 200;
const BLOCKS_PER_SUMMING = 16;

export function recordRequests(
  connection: Connection,
  { id, series, blocks, counted }: StoredBatch,
): void {
  connection.write(() => {
    const written = insertRow(
      connection,
      'RequestWrite',
      { id, writtenAt: new Date() },
      'ON CONFLICT DO NOTHING',
    );
    if (written === 0) return;
    for (const row of series) {
      insertRow(
        connection,
        'RequestSeries',
        row,
        'ON CONFLICT DO UPDATE SET last_at = max(last_at, excluded.last_at)',
      );
    }
    for (const block of blocks) {
      insertRow(connection, 'RequestUnsummed', { block: insertBlock(connection, block) });
    }
    if (counted !== undefined) insertRow(connection, 'RequestUnsummed', { counted });
  });
}

interface Unsummed {
  readonly seq: number;
  /** `null` if the block was deleted meanwhile. */
  readonly requests: string | null;
  readonly isKept: number;
}

export function addToSums(connection: Connection): Summed {
  const isEmpty = connection.get('SELECT 1 FROM request_unsummed LIMIT 1') === undefined;
  if (isEmpty) return { added: 0, isDone: true };
  return connection.write(() => {
    const found = connection.all<Unsummed>(
      'SELECT u.seq, coalesce(u.counted, b.requests) AS requests, u.counted IS NULL AS isKept ' +
        'FROM request_unsummed u LEFT JOIN request_block b ON b.seq = u.block ' +
        'ORDER BY u.seq LIMIT ?',
      BLOCKS_PER_SUMMING,
    );
    const sums = new BlockSums();
    let added = 0;
    for (const { seq, requests, isKept } of found) {
      if (sums.isFull) break;
      if (requests !== null) sums.add(readBlock(requests), isKept === 1 ? 'kept' : 'counted');
      connection.run('DELETE FROM request_unsummed WHERE seq = ?', seq);
      added += 1;
    }
    const known = sums
      .series()
      .filter(([id, lastAt]) => connection.run(TOUCH_SERIES, lastAt, id) > 0)
      .map(([id]) => id);
    for (const { sums: rows, labels } of sums.parts(new Set(known))) {
      for (const row of rows) insertRow(connection, 'RequestSum', row, ADD_TO_SUM);
      for (const row of labels) insertRow(connection, 'RequestLabel', row, ADD_TO_LABEL);
    }
    return { added, isDone: added === found.length && added < BLOCKS_PER_SUMMING };
  });
}

const TOUCH_SERIES = 'UPDATE request_series SET last_at = max(last_at, ?) WHERE id = ?';

const ADD_TO_SUM = adding('RequestSum');
const ADD_TO_LABEL = adding('RequestLabel');

/** Adds the figures of a row to those that are stored. */
function adding(model: 'RequestSum' | 'RequestLabel'): string {
  const counts = figuresOf(model).filter((name) => name !== 'charge');
  const added = counts.map((name) => `${name} = ${name} + excluded.${name}`);
  return `ON CONFLICT DO UPDATE SET ${added.join(', ')}, charge = add_usd(charge, excluded.charge)`;
}

/** @returns its number */
function insertBlock(connection: Connection, { tags, ...block }: StoredBlock): bigint {
  insertRow(connection, 'RequestBlock', block);
  const found = connection.get<{ readonly seq: number }>('SELECT last_insert_rowid() AS seq');
  const seq = BigInt(found?.seq ?? 0);
  tagBlock(connection, seq, tags);
  return seq;
}

function tagBlock(connection: Connection, block: bigint, tags: readonly number[]): void {
  for (const tag of tags) {
    connection.run('INSERT INTO request_tag (tag, block) VALUES (?, ?)', tag, block);
  }
}

function untagBlock(connection: Connection, block: number, requests: string): void {
  for (const tag of tagsOf(requests)) {
    connection.run('DELETE FROM request_tag WHERE tag = ? AND block = ?', tag, block);
  }
}

export function listRequests(connection: Connection, query: RequestQuery): Promise<RequestPage> {
  return connection.readAsync(() => listFrom(sourceOf(connection), query));
}

export function sumRequests(connection: Connection, query: RequestSumQuery) {
  const { text, values } = sumsQuery(query, {
    sumOf: (value) => `sum(${value})`,
    sumOfCharge: sumUsd('charge'),
  });
  return sumsOf(connection.all<SumRow>(text, ...values), query, unitsOf);
}

export function recordedFrom(connection: Connection, of: RecordedPart): Date | undefined {
  const { text, unitMs } = of === 'requests' ? { text: FIRST_BLOCK, unitMs: 1 } : FIRST_SUM[of];
  const found = connection.get<{ readonly first: number | null }>(text);
  return found?.first == null ? undefined : new Date(found.first * unitMs);
}

/** @returns how many blocks it deleted; if it is the limit, there may be more */
export function pruneRequests(
  connection: Connection,
  pruning: RequestPruning,
): { readonly isDone: boolean } {
  const periods = connection.all<KeptInPeriod>(
    'SELECT period, sum(kept) AS kept FROM request_sum WHERE minutes = ? GROUP BY period ' +
      'ORDER BY period DESC',
    COARSE_MINUTES,
  );
  const end = endOfBlocks(periods, pruning).getTime();
  return connection.write(() => {
    const blocks = connection.all<FoundRow>(
      'SELECT seq, requests FROM request_block WHERE ended_at < ? ORDER BY ended_at LIMIT ?',
      end,
      BLOCKS_PER_PRUNING,
    );
    for (const block of blocks) deleteBlock(connection, block);
    const before = pruning.before.getTime();
    for (const { minutes, period } of oldSums(pruning)) {
      connection.run('DELETE FROM request_sum WHERE minutes = ? AND period < ?', minutes, period);
    }
    connection.run('DELETE FROM request_label WHERE day < ?', firstLabelledDay(new Date(end)));
    connection.run('DELETE FROM request_series WHERE last_at < ?', before);
    connection.run('DELETE FROM request_write WHERE written_at < ?', Date.now() - DAY_MS);
    return { isDone: blocks.length < BLOCKS_PER_PRUNING };
  });
}

function deleteBlock(connection: Connection, { seq, requests }: FoundRow): void {
  untagBlock(connection, seq, requests);
  connection.run('DELETE FROM request_block WHERE seq = ?', seq);
}

export function eraseRequests(
  connection: Connection,
  accountId: string,
  others: readonly number[],
): void {
  connection.write(() => {
    const ids = connection
      .all<{ readonly id: number }>('SELECT id FROM request_series WHERE account_id = ?', accountId)
      .map(({ id }) => id);
    const erased = new Set([...ids, ...others]);
    const series = JSON.stringify([...erased]);
    const blocks = connection.all<{ readonly seq: number }>(
      'SELECT DISTINCT block AS seq FROM request_tag ' +
        'WHERE tag IN (SELECT value FROM json_each(?))',
      series,
    );
    for (const { seq } of blocks) {
      const found = connection.get<FoundRow>(
        'SELECT seq, requests FROM request_block WHERE seq = ?',
        seq,
      );
      if (found === undefined) continue;
      const rest = blockWithout(found.requests, erased);
      if (rest === undefined) {
        deleteBlock(connection, found);
        continue;
      }
      untagBlock(connection, seq, found.requests);
      connection.run(
        'UPDATE request_block SET ids = ?, requests = ? WHERE seq = ?',
        rest.ids,
        rest.requests,
        seq,
      );
      tagBlock(connection, BigInt(seq), rest.tags);
    }
    for (const table of ['request_sum', 'request_label']) {
      connection.run(
        `DELETE FROM ${table} WHERE series IN (SELECT value FROM json_each(?))`,
        series,
      );
    }
    connection.run('DELETE FROM request_series WHERE account_id = ?', accountId);
  });
}

const BLOCK = select('RequestBlock', ['seq', 'requests']);
type FoundRow = Pick<SqliteRow<'RequestBlock'>, 'seq' | 'requests'>;
const FACTS = select('RequestSeries', membersWithout('RequestSeries', ['lastAt']));

function sourceOf(connection: Connection): RequestSource {
  const blocks = (
    text: string,
    ...values: readonly (number | bigint | string | Uint8Array | null)[]
  ) =>
    Promise.resolve(
      connection
        .all<FoundRow>(`SELECT ${BLOCK} FROM request_block WHERE ${text}`, ...values)
        .map((row): FoundBlock => ({ ...row, seq: BigInt(row.seq) })),
    );
  const series = (where: string, ...values: readonly (number | bigint | string)[]) =>
    Promise.resolve(
      new Map(
        connection
          .all<Omit<SqliteRow<'RequestSeries'>, 'lastAt'>>(
            `SELECT ${FACTS} FROM request_series ${where}`,
            ...values,
          )
          .map((row) => [row.id, factsOf(row)]),
      ),
    );
  const blockWhere = (text: string, ...values: readonly number[]): bigint | undefined => {
    const found = connection.get<{ readonly seq: number }>(
      `SELECT seq FROM request_block ${text} LIMIT 1`,
      ...values,
    );
    return found && BigInt(found.seq);
  };
  return {
    findSeries(filter) {
      const { where, values } = matching(...seriesConditions(filter));
      return series(where, ...values);
    },
    getSeries: (ids) => series('WHERE id IN (SELECT value FROM json_each(?))', JSON.stringify(ids)),
    firstBlock(from, slackMs) {
      const found = connection.get<{ readonly first: number | null }>(
        'SELECT min(ended_at) AS first FROM request_block WHERE ended_at >= ?',
        from.getTime(),
      );
      if (found?.first == null) return Promise.resolve(undefined);
      const range = [from.getTime(), found.first + slackMs];
      const where = 'WHERE ended_at >= ? AND ended_at < ? ORDER BY seq';
      return Promise.resolve(blockWhere(where, ...range));
    },
    lastBlock(until, slackMs) {
      if (until === undefined) return Promise.resolve(blockWhere('ORDER BY seq DESC'));
      const end = until.getTime();
      const found = connection.get<{ readonly last: number | null }>(
        'SELECT max(ended_at) AS last FROM request_block WHERE ended_at < ?',
        end,
      );
      return Promise.resolve(
        blockWhere(
          'WHERE ended_at >= ? AND ended_at < ? AND (first_at IS NULL OR first_at < ?) ' +
            'ORDER BY seq DESC',
          (found?.last ?? end) - slackMs,
          end + slackMs,
          end,
        ),
      );
    },
    blocks: ({ first, last, limit }) =>
      blocks('seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?', first, last, limit),
    taggedBlocks: (tags, other, { first, last, limit }) =>
      blocks(
        'seq IN (SELECT DISTINCT block FROM request_tag AS t WHERE tag IN ' +
          '(SELECT value FROM json_each(?)) AND block BETWEEN ? AND ? AND (? IS NULL OR EXISTS ' +
          '(SELECT 1 FROM request_tag AS o WHERE o.tag = ? AND o.block = t.block)) ' +
          'ORDER BY block DESC LIMIT ?) ORDER BY seq DESC',
        JSON.stringify(tags),
        first,
        last,
        other ?? null,
        other ?? null,
        limit,
      ),
    blocksWithText: (text, from, until) =>
      blocks(
        'ended_at >= ? AND ended_at < ? AND instr(requests, ?) > 0 ORDER BY seq DESC LIMIT 2',
        from.getTime(),
        until.getTime(),
        text,
      ),
    blocksWithId: (hash, limit) =>
      blocks('instr(ids, ?) > 0 ORDER BY seq DESC LIMIT ?', hash, limit),
  };
}
