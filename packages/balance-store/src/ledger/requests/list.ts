/**
 * Lists recorded requests, newest first. The filter selects series, whose tags find the blocks that
 * have requests of them. The newest blocks are read first without the tags: most filters find a
 * page in them, and reading all tags of a frequent series would take longer.
 */

import type {
  RequestFacts,
  RequestPage,
  RequestQuery,
  RequestRecord,
} from '../../request-record.js';
import type { Row } from '../tables/tables.js';
import { BLOCK_SPAN_MS, PLACE, hashOfId, readBlock, recordOf } from './batch.js';
import type { BlockRow } from './batch.js';
import { clientTag, programTag, sessionTag } from './tags.js';

export type FoundBlock = Pick<Row<'RequestBlock'>, 'seq' | 'requests'>;

export interface BlockRange {
  readonly first: bigint;
  /** Inclusive. */
  readonly last: bigint;
  readonly limit: number;
}

/** Reads of one database. The latest blocks come first. */
export interface RequestSource {
  findSeries(filter: RequestQuery): Promise<ReadonlyMap<number, RequestFacts>>;
  getSeries(ids: readonly number[]): Promise<ReadonlyMap<number, RequestFacts>>;
  /**
   * The first of the blocks that may have a request which ended at this time or later, written
   * `slack` milliseconds later at most than those that ended earlier.
   */
  firstBlock(from: Date, slackMs: number): Promise<bigint | undefined>;
  /**
   * Likewise the last of the blocks that may have a request which ended before this time; the last
   * of all without one. A block that does not say when its first request ended may have one if it
   * lasts less than `slack` milliseconds.
   */
  lastBlock(until: Date | undefined, slackMs: number): Promise<bigint | undefined>;
  blocks(range: BlockRange): Promise<readonly FoundBlock[]>;
  /** Blocks with one of these tags, and with the other one if it is given. */
  taggedBlocks(
    tags: readonly number[],
    other: number | undefined,
    range: BlockRange,
  ): Promise<readonly FoundBlock[]>;
  /** Blocks that ended in this time and contain this text. */
  blocksWithText(text: string, from: Date, until: Date): Promise<readonly FoundBlock[]>;
  /** Blocks whose `ids` contain these bytes. */
  blocksWithId(hash: Uint8Array, limit: number): Promise<readonly FoundBlock[]>;
}

/**
 * Processes write their blocks independently, and requests wait while the database is away: a block
 * is at most so much later in the order of blocks than by its times.
 */
const SLACK_MS = BLOCK_SPAN_MS;
const BLOCKS_PER_READ = 8;
/** How many blocks are read without tags before tags are used. */
const UNTAGGED_BLOCKS = 16;
/** How many blocks one page reads at most. */
const MAX_BLOCKS = 160;
/** A request ends at most this long after it began. */
const LONGEST_REQUEST_MS = 3 * 3_600_000;
/** How much the clocks of processes differ. */
const CLOCKS_MS = 60_000;

export async function listRequests(
  source: RequestSource,
  query: RequestQuery,
): Promise<RequestPage> {
  const matching = hasFacts(query) ? await source.findSeries(query) : undefined;
  if (matching?.size === 0) return { requests: [] };
  const page = new Page(query, matching);
  if (query.id !== undefined) {
    page.add(await blocksOfId(source, query.id));
    return page.finish(source);
  }
  const position = positionOf(query.cursor);
  const [first, end] = await Promise.all([
    query.from === undefined ? 0n : source.firstBlock(query.from, SLACK_MS),
    source.lastBlock(query.until, SLACK_MS),
  ]);
  if (first === undefined || end === undefined) return { requests: [] };
  page.startAt(position);
  let last = position === undefined || end < position.block ? end : position.block;
  const program = query.client === undefined ? undefined : programTag(query.client);
  const named = namedTags(query) ?? (matching && [...matching.keys()]);
  const tags = named ?? (program === undefined ? undefined : [program]);
  let read = 0;
  while (!page.isFull) {
    if (read >= MAX_BLOCKS) {
      page.stopBefore(last);
      break;
    }
    const range = { first, last, limit: BLOCKS_PER_READ };
    const found =
      tags === undefined || read < UNTAGGED_BLOCKS
        ? await source.blocks(range)
        : await source.taggedBlocks(tags, program, range);
    read += found.length;
    page.add(found);
    const oldest = found.at(-1);
    if (oldest === undefined) break;
    last = oldest.seq - 1n;
  }
  return page.finish(source);
}

/** What finds fewer blocks than the series of the query would. */
function namedTags({ sessionId, tag }: RequestQuery): readonly number[] | undefined {
  if (sessionId !== undefined) return [sessionTag(sessionId)];
  return tag === undefined ? undefined : [clientTag(tag)];
}

/** Collects the requests that fit the query. */
class Page {
  readonly #query: RequestQuery;
  readonly #matching: ReadonlyMap<number, RequestFacts> | undefined;
  readonly #rows: { readonly row: BlockRow; readonly block: bigint; readonly index: number }[] = [];
  #start: Position | undefined;
  #next: Position | undefined;

  constructor(query: RequestQuery, matching: ReadonlyMap<number, RequestFacts> | undefined) {
    this.#query = query;
    this.#matching = matching;
  }

  startAt(position: Position | undefined): void {
    this.#start = position;
  }

  /** One request more than the page holds is read, to know whether there is a next page. */
  get isFull(): boolean {
    return this.#rows.length > this.#query.limit;
  }

  stopBefore(block: bigint): void {
    this.#next = { block, index: Number.MAX_SAFE_INTEGER };
  }

  add(blocks: readonly FoundBlock[]): void {
    for (const { seq, requests } of blocks) {
      const rows = readBlock(requests);
      const end =
        seq === this.#start?.block ? Math.min(rows.length, this.#start.index) : rows.length;
      for (let index = end - 1; index >= 0 && !this.isFull; index -= 1) {
        const row = rows[index];
        if (row !== undefined && this.#fits(row)) this.#rows.push({ row, block: seq, index });
      }
    }
  }

  #fits(row: BlockRow): boolean {
    const { from, until, sessionId, client, tag, id } = this.#query;
    if (this.#matching?.has(row[PLACE.series]) === false) return false;
    if (from !== undefined && row[PLACE.endedAt] < from.getTime()) return false;
    if (until !== undefined && row[PLACE.endedAt] >= until.getTime()) return false;
    if (sessionId !== undefined && row[PLACE.sessionId] !== sessionId) return false;
    if (client !== undefined && row[PLACE.client] !== client) return false;
    if (tag !== undefined && row[PLACE.tag] !== tag) return false;
    return id === undefined || IDS.some((place) => row[place] === id);
  }

  async finish(source: RequestSource): Promise<RequestPage> {
    const found = this.#rows.slice(0, this.#query.limit);
    const facts =
      this.#matching ??
      (await source.getSeries([...new Set(found.map(({ row }) => row[PLACE.series]))]));
    // The series of a request that is being erased is gone before the request is.
    const requests = found.flatMap(({ row }): RequestRecord[] => {
      const known = facts.get(row[PLACE.series]);
      return known === undefined ? [] : [recordOf(row, known)];
    });
    const last = found.at(-1);
    const next = this.isFull ? last : this.#next;
    if (next === undefined || this.#query.id !== undefined) return { requests };
    return { requests, next: `${String(next.block)}-${String(next.index)}` };
  }
}

const IDS = [PLACE.id, PLACE.upstreamRequestId, PLACE.traceId, PLACE.sessionId] as const;

interface Position {
  readonly block: bigint;
  /** The requests before this place in the block follow. */
  readonly index: number;
}

/** @throws {RangeError} when the cursor is not one of {@link RequestPage}. */
function positionOf(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  const [, block, index] = /^(\d{1,18})-(\d{1,16})$/.exec(cursor) ?? [];
  if (block === undefined || index === undefined) {
    throw new RangeError('the cursor does not belong to a page of requests');
  }
  return { block: BigInt(block), index: Number(index) };
}

async function blocksOfId(source: RequestSource, id: string): Promise<readonly FoundBlock[]> {
  const [, time] = /^req_([0-9a-f]{12})7[0-9a-f]{19}$/.exec(id) ?? [];
  if (time !== undefined) {
    const began = Number.parseInt(time, 16);
    const until = new Date(began + LONGEST_REQUEST_MS + BLOCK_SPAN_MS);
    return source.blocksWithText(id, new Date(began - CLOCKS_MS), until);
  }
  const [given, session] = await Promise.all([
    source.blocksWithId(hashOfId(id), MAX_BLOCKS),
    source.taggedBlocks([sessionTag(id)], undefined, {
      first: 0n,
      last: BigInt(Number.MAX_SAFE_INTEGER),
      limit: MAX_BLOCKS,
    }),
  ]);
  const bySeq = new Map([...given, ...session].map((block) => [block.seq, block]));
  return [...bySeq.values()].sort((a, b) => (a.seq > b.seq ? -1 : 1));
}

/** Whether the filter says anything about what is stored in series. */
function hasFacts(filter: RequestQuery): boolean {
  return SERIES_CONDITIONS.some((name) => filter[name] !== undefined);
}

const SERIES_CONDITIONS = [
  'accountId',
  'keyId',
  'model',
  'endpoint',
  'errorType',
  'upstreamAccount',
  'statusFrom',
  'statusUntil',
  'failed',
] as const;

export function factsOf(row: Omit<Row<'RequestSeries'>, 'id' | 'lastAt'>): RequestFacts {
  return {
    accountId: row.accountId ?? undefined,
    keyId: row.keyId ?? undefined,
    model: row.model ?? undefined,
    endpoint: row.endpoint,
    status: row.status,
    errorType: row.errorType ?? undefined,
    upstreamAccount: row.upstreamAccount ?? undefined,
  };
}
