/** Encodes the requests that are recorded together as one block, with its tags. */

import type { RequestBatch, RequestFacts, RequestRecord } from '../../request-record.js';
import type { Row } from '../tables/tables.js';
import type { KnownSeries } from './known-series.js';
import { clientTag, programTag, seriesOf, sessionTag } from './tags.js';

/** The rows of one batch, in the form in which they are stored. */
export interface StoredBatch {
  /** Batches with one id are stored once. */
  readonly id: string;
  /** Those that this process has not written yet, in the order in which every one locks them. */
  readonly series: readonly Row<'RequestSeries'>[];
  /** The latest last. None if all requests are only counted. */
  readonly blocks: readonly StoredBlock[];
  /** The requests that are only counted, as those of a block; kept until they are summed. */
  readonly counted: string | undefined;
}

export interface StoredBlock extends Omit<Row<'RequestBlock'>, 'seq'> {
  readonly firstAt: Date;
  readonly tags: readonly number[];
}

/**
 * The time between the ends of the first and the last request of a block is less. A gateway writes
 * each second, but requests may wait for a database that is away.
 */
export const BLOCK_SPAN_MS = 3_600_000;

/** A request in a block. What it has in common with others is in its series. */
export type BlockRow = readonly [
  id: string,
  series: number,
  endedAt: number,
  durationMs: number,
  firstByteMs: number | null,
  streamed: 0 | 1,
  clientLeft: 0 | 1,
  count: number,
  tokens: readonly [input: number, output: number, cacheRead: number, cacheWrite: number] | null,
  charge: string | null,
  errorMessage: string | null,
  fault: string | null,
  upstreamStatus: number | null,
  upstreamRequestId: string | null,
  traceId: string | null,
  client: string | null,
  sessionId: string | null,
  /** Blocks of earlier versions have none of them. */
  tag?: string | null,
  since?: number | null,
  memberId?: string | null,
];

/** @param known - The series that are written already. */
export function encodeBatch(
  { kept, counted }: RequestBatch,
  id: string,
  known: Pick<KnownSeries, 'has'>,
): StoredBatch {
  const series = new Map<number, Row<'RequestSeries'>>();
  const rowsOf = (requests: readonly RequestRecord[], nameless: Partial<RequestRecord>) =>
    requests.map((request) => {
      const of = seriesOf(request);
      if (!known.has(of)) series.set(of, seriesRow(of, request));
      return rowOf({ ...request, ...nameless }, of);
    });
  const blocks = inBlocks(rowsOf(kept, {}));
  const others = rowsOf(counted, NAMELESS);
  return {
    id,
    series: [...series.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    blocks,
    counted: others.length === 0 ? undefined : JSON.stringify(others),
  };
}

/**
 * What names requests that are only counted is left out, so that a flood that names a new session
 * with each request adds no sums.
 */
const NAMELESS = {
  id: '',
  errorMessage: undefined,
  fault: undefined,
  upstreamRequestId: undefined,
  traceId: undefined,
  client: undefined,
  sessionId: undefined,
  tag: undefined,
  memberId: undefined,
} as const satisfies Partial<RequestRecord>;

function seriesRow(id: number, request: RequestRecord): Row<'RequestSeries'> {
  return {
    id: BigInt(id),
    accountId: request.accountId ?? null,
    keyId: request.keyId ?? null,
    model: request.model ?? null,
    endpoint: request.endpoint,
    status: request.status,
    errorType: request.errorType ?? null,
    upstreamAccount: request.upstreamAccount ?? null,
    lastAt: new Date(request.endedAt),
  };
}

/** In the order in which the requests ended, which is almost the one in which they come. */
function inBlocks(rows: readonly BlockRow[]): readonly StoredBlock[] {
  const sorted = [...rows].sort((a, b) => a[PLACE.endedAt] - b[PLACE.endedAt]);
  const blocks: StoredBlock[] = [];
  let first = 0;
  for (let index = 1; index <= sorted.length; index += 1) {
    const [begin, next] = [sorted[first], sorted[index]];
    if (begin === undefined) break;
    if (next !== undefined && next[PLACE.endedAt] - begin[PLACE.endedAt] < BLOCK_SPAN_MS) continue;
    blocks.push(blockOf(sorted.slice(first, index)));
    first = index;
  }
  return blocks;
}

export function blockOf(rows: readonly BlockRow[]): StoredBlock {
  const tags = new Set<number>();
  const ids: Uint8Array[] = [];
  let [firstAt, endedAt] = [Infinity, 0];
  for (const row of rows) {
    firstAt = Math.min(firstAt, row[PLACE.endedAt]);
    endedAt = Math.max(endedAt, row[PLACE.endedAt]);
    tags.add(row[PLACE.series]);
    const sessionId = row[PLACE.sessionId];
    if (sessionId !== null) tags.add(sessionTag(sessionId));
    const client = row[PLACE.client];
    if (client !== null) tags.add(programTag(client));
    const tag = row[PLACE.tag] ?? null;
    if (tag !== null) tags.add(clientTag(tag));
    for (const id of [row[PLACE.upstreamRequestId], row[PLACE.traceId]]) {
      if (id !== null) ids.push(hashOfId(id));
    }
  }
  return {
    firstAt: new Date(firstAt),
    endedAt: new Date(endedAt),
    ids: Buffer.concat(ids),
    requests: JSON.stringify(rows),
    tags: [...tags].sort((a, b) => a - b),
  };
}

export function readBlock(requests: string): readonly BlockRow[] {
  return JSON.parse(requests) as readonly BlockRow[];
}

/** The places of members that are read from rows. */
export const PLACE = {
  id: 0,
  series: 1,
  endedAt: 2,
  upstreamRequestId: 13,
  traceId: 14,
  client: 15,
  sessionId: 16,
  tag: 17,
} as const;

function rowOf(request: RequestRecord, series: number): BlockRow {
  const { tokens: of, since, memberId } = request;
  const tokens: BlockRow[8] | undefined = of && [of.input, of.output, of.cacheRead, of.cacheWrite];
  const row = [
    request.id,
    series,
    request.endedAt,
    request.durationMs,
    request.firstByteMs ?? null,
    request.streamed ? 1 : 0,
    request.clientLeft ? 1 : 0,
    request.count,
    tokens ?? null,
    request.charge === undefined ? null : request.charge.toString(),
    request.errorMessage ?? null,
    request.fault ?? null,
    request.upstreamStatus ?? null,
    request.upstreamRequestId ?? null,
    request.traceId ?? null,
    request.client ?? null,
    request.sessionId ?? null,
    request.tag ?? null,
  ] as const;
  if (memberId !== undefined) return [...row, since ?? null, memberId];
  return since === undefined ? row : [...row, since];
}

export function recordOf(row: BlockRow, facts: RequestFacts): RequestRecord {
  const [id, , endedAt, durationMs, firstByteMs, streamed, clientLeft, count] = row;
  const [, , , , , , , , tokens, charge, errorMessage, fault, upstreamStatus, ...ids] = row;
  const [upstreamRequestId, traceId, client, sessionId, tag, since, memberId] = ids;
  return {
    id,
    ...facts,
    endedAt,
    durationMs,
    firstByteMs: firstByteMs ?? undefined,
    streamed: streamed === 1,
    clientLeft: clientLeft === 1,
    tokens:
      tokens === null
        ? undefined
        : { input: tokens[0], output: tokens[1], cacheRead: tokens[2], cacheWrite: tokens[3] },
    charge: charge === null ? undefined : BigInt(charge),
    errorMessage: errorMessage ?? undefined,
    fault: fault ?? undefined,
    upstreamStatus: upstreamStatus ?? undefined,
    upstreamRequestId: upstreamRequestId ?? undefined,
    traceId: traceId ?? undefined,
    client: client ?? undefined,
    sessionId: sessionId ?? undefined,
    tag: tag ?? undefined,
    memberId: memberId ?? undefined,
    count,
    since: since ?? undefined,
  };
}

/**
 * Three bytes of a hash (FNV-1a), because a search reads those of all blocks. They only narrow the
 * search: what has the same hash is compared afterwards.
 */
export function hashOfId(id: string): Uint8Array {
  let value = 0x811c9dc5;
  for (let index = 0; index < id.length; index += 1) {
    value = Math.imul(value ^ id.charCodeAt(index), 0x01000193);
  }
  // The first bytes of the four that earlier versions stored, so that a search also finds those.
  return Uint8Array.of(value, value >>> 8, value >>> 16);
}
