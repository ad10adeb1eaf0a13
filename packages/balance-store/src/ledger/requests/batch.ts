/** Encodes the requests that are recorded together as one block, with its tags and its sums. */

import type { RequestBatch, RequestFacts, RequestRecord } from '../../request-record.js';
import type { Row } from '../tables.js';
import type { PendingSums } from './pending-sums.js';
import { clientTag, programTag, seriesOf, sessionTag } from './tags.js';

/** The rows of one batch, in the form in which they are stored. */
export interface StoredBatch {
  readonly series: readonly Row<'RequestSeries'>[];
  /** Empty in a batch with a block: see `pending-sums.ts`. */
  readonly sums: readonly Row<'RequestSum'>[];
  readonly labels: readonly Row<'RequestLabel'>[];
  /** `undefined` if all requests are only counted. */
  readonly block: StoredBlock | undefined;
}

export interface StoredBlock extends Omit<Row<'RequestBlock'>, 'seq'> {
  readonly tags: readonly number[];
}

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
  /** Blocks of earlier versions do not have it. */
  tag?: string | null,
];

/** @param sums - Gets the sums of the requests. */
export function encodeBatch({ kept, counted }: RequestBatch, sums: PendingSums): StoredBatch {
  const rows = kept.map((request) => {
    const id = seriesOf(request);
    sums.add(id, request, 'kept');
    return rowOf(request, id);
  });
  for (const request of counted) sums.add(seriesOf(request), request, 'counted');
  const block = rows.length === 0 ? undefined : blockOf(rows);
  return { series: sums.takeAdded(), sums: [], labels: [], block };
}

export function blockOf(rows: readonly BlockRow[]): StoredBlock {
  const tags = new Set<number>();
  const ids: Uint8Array[] = [];
  let endedAt = 0;
  for (const row of rows) {
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
  const { tokens } = request;
  return [
    request.id,
    series,
    request.endedAt,
    request.durationMs,
    request.firstByteMs ?? null,
    request.streamed ? 1 : 0,
    request.clientLeft ? 1 : 0,
    request.count,
    tokens === undefined
      ? null
      : [tokens.input, tokens.output, tokens.cacheRead, tokens.cacheWrite],
    request.charge === undefined ? null : request.charge.toString(),
    request.errorMessage ?? null,
    request.fault ?? null,
    request.upstreamStatus ?? null,
    request.upstreamRequestId ?? null,
    request.traceId ?? null,
    request.client ?? null,
    request.sessionId ?? null,
    request.tag ?? null,
  ];
}

export function recordOf(row: BlockRow, facts: RequestFacts): RequestRecord {
  const [id, , endedAt, durationMs, firstByteMs, streamed, clientLeft, count] = row;
  const [, , , , , , , , tokens, charge, errorMessage, fault, upstreamStatus, ...ids] = row;
  const [upstreamRequestId, traceId, client, sessionId, tag] = ids;
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
    count,
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
