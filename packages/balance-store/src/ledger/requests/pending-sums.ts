/**
 * Sums of requests that are not written yet. They are written every 30 seconds, because writing
 * them with each block would cost more than the block: many keys have one request in it. Holders
 * choose how many there are, so they are taken in small parts, between which requests are served.
 */

import { REQUEST_PERIOD_MS } from '../../request-record.js';
import type { RequestRecord } from '../../request-record.js';
import { DAY_MS, HOUR_MS } from '../base/hours.js';
import type { Row } from '../tables/tables.js';
import { labelTag } from './tags.js';

const MINUTE_MS = 60_000;
/** The lengths of the periods. Sums of the shortest ones are deleted after two days. */
export const FINE_MINUTES = REQUEST_PERIOD_MS / MINUTE_MS;
export const COARSE_MINUTES = HOUR_MS / MINUTE_MS;
export const DAY_MINUTES = DAY_MS / MINUTE_MS;
export const FINE_SUMS_MS = 48 * HOUR_MS;

const WRITE_EVERY_MS = 30_000;
/** If there are more, they are written before the 30 seconds are over. */
const MAX_PENDING = 5_000;
/** How many sums, and how many labels, one part has at most: it takes some 5 ms. */
const PART = 150;
/** How many series are remembered as written. */
const MAX_KNOWN = 50_000;

interface Figures extends Record<Exclude<Figure, 'charge'>, number> {
  charge: bigint;
}

interface Sum extends Figures {
  readonly series: number;
  readonly period: number;
  readonly request: RequestRecord;
  lastAt: number;
}

interface LabelSum extends Figures {
  readonly row: Omit<Row<'RequestLabel'>, Figure>;
}

type Figure = Exclude<keyof Row<'RequestSum'>, 'minutes' | 'period' | 'series'>;

/** A request that is written, and whether it can be listed. */
export interface AddedRequest {
  readonly series: number;
  readonly request: RequestRecord;
  readonly how: 'kept' | 'counted';
}

export interface TakenSums {
  /** Those of the sums. */
  readonly series: readonly Row<'RequestSeries'>[];
  readonly sums: readonly Row<'RequestSum'>[];
  readonly labels: readonly Row<'RequestLabel'>[];
}

export class PendingSums {
  readonly #now: () => number;
  /** By period, then by series. */
  readonly #sums = new Map<number, Map<number, Sum>>();
  readonly #labels = new Map<string, LabelSum>();
  readonly #known = new Set<number>();
  #count = 0;
  #countedSince: number;
  /** What {@link takePart} takes. */
  readonly #closedSums: Sum[] = [];
  readonly #closedLabels: LabelSum[] = [];

  constructor(now: () => number) {
    this.#now = now;
    this.#countedSince = now();
  }

  get isEmpty(): boolean {
    return this.#count === 0 && this.#closedSums.length === 0 && this.#closedLabels.length === 0;
  }

  /** Whether the sums should be written now. */
  get isDue(): boolean {
    return this.#now() - this.#countedSince >= WRITE_EVERY_MS || this.#count >= MAX_PENDING;
  }

  /** Whether the row of a series was written. */
  knows(series: number): boolean {
    return this.#known.has(series);
  }

  add({ series, request, how }: AddedRequest): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(series);
    const sum = this.#sumOf(series, request);
    sum.lastAt = Math.max(sum.lastAt, request.endedAt);
    addTo(sum, request, how);
    addTo(this.#labelSumOf(series, request, how), request, how);
  }

  /**
   * What names requests that are only counted is left out, so that a flood that names a new session
   * with each request adds no rows.
   */
  #labelSumOf(series: number, request: RequestRecord, how: 'kept' | 'counted'): LabelSum {
    const day = Math.floor(request.endedAt / DAY_MS);
    const client = (how === 'kept' ? request.client : undefined) ?? null;
    const sessionId = (how === 'kept' ? request.sessionId : undefined) ?? null;
    const tag = (how === 'kept' ? request.tag : undefined) ?? null;
    const name = `${String(day)} ${String(series)} ${client ?? ''} ${sessionId ?? ''} ${tag ?? ''}`;
    let sum = this.#labels.get(name);
    if (sum === undefined) {
      const label = BigInt(labelTag({ client, sessionId, tag }));
      sum = { row: { day, series: BigInt(series), label, client, sessionId, tag }, ...NOTHING };
      this.#labels.set(name, sum);
      this.#count += 1;
    }
    return sum;
  }

  #sumOf(series: number, request: RequestRecord): Sum {
    const period = Math.floor(request.endedAt / REQUEST_PERIOD_MS);
    let sums = this.#sums.get(period);
    if (sums === undefined) this.#sums.set(period, (sums = new Map<number, Sum>()));
    let sum = sums.get(series);
    if (sum === undefined) {
      sum = { series, period, request, lastAt: 0, ...NOTHING };
      sums.set(series, sum);
      this.#count += 1;
    }
    return sum;
  }

  /** Drops the sums of an account. */
  forget(accountId: string): void {
    const forgotten = new Set<bigint>();
    for (const sums of this.#sums.values()) {
      for (const [series, { request }] of sums) {
        if (request.accountId !== accountId) continue;
        sums.delete(series);
        forgotten.add(BigInt(series));
        this.#count -= 1;
      }
    }
    for (const [name, { row }] of this.#labels) {
      if (!forgotten.has(row.series)) continue;
      this.#labels.delete(name);
      this.#count -= 1;
    }
    // What is closed waits longer while the database is away.
    for (const { series, request } of this.#closedSums) {
      if (request.accountId === accountId) forgotten.add(BigInt(series));
    }
    keepOnly(this.#closedSums, ({ series }) => !forgotten.has(BigInt(series)));
    keepOnly(this.#closedLabels, ({ row }) => !forgotten.has(row.series));
    // Their rows may be deleted, too, so they are written again when they are used.
    this.#known.clear();
  }

  /** What is added from now on belongs to other sums, which are not taken before the next call. */
  close(): void {
    for (const sums of this.#sums.values()) this.#closedSums.push(...sums.values());
    this.#closedLabels.push(...this.#labels.values());
    this.#sums.clear();
    this.#labels.clear();
    this.#count = 0;
    this.#countedSince = this.#now();
  }

  /** Takes a part of the closed sums; undefined if there are none. */
  takePart(): TakenSums | undefined {
    const sums = this.#closedSums.splice(-PART);
    const labels = this.#closedLabels.splice(-PART);
    if (sums.length === 0 && labels.length === 0) return undefined;
    const series = new Map<bigint, Row<'RequestSeries'>>();
    const rows = new Map<string, Row<'RequestSum'>>();
    for (const sum of sums) {
      const row = seriesRow(sum.series, sum.request, sum.lastAt);
      const known = series.get(row.id);
      if (known === undefined || known.lastAt < row.lastAt) series.set(row.id, row);
      for (const minutes of [FINE_MINUTES, COARSE_MINUTES, DAY_MINUTES]) {
        addRow(rows, minutes, row.id, sum);
      }
    }
    return {
      series: sortedById([...series.values()]),
      sums: [...rows.values()].sort(inOrder),
      labels: labels
        .map(({ row, ...figures }) => ({ ...row, ...rowOf(figures, LABEL_FIGURES) }))
        .sort(inOrderOfLabels),
    };
  }
}

function keepOnly<Item>(items: Item[], isKept: (item: Item) => boolean): void {
  items.splice(0, items.length, ...items.filter(isKept));
}

function addTo(sum: Figures, request: RequestRecord, how: 'kept' | 'counted'): void {
  const { count, tokens, charge, firstByteMs } = request;
  sum.requests += count;
  if (how === 'kept') sum.kept += 1;
  sum.durationMs += request.durationMs * count;
  if (firstByteMs !== undefined) {
    sum.firstByteMs += firstByteMs * count;
    sum.firstBytes += count;
  }
  if (tokens !== undefined) {
    sum.inputTokens += tokens.input;
    sum.outputTokens += tokens.output;
    sum.cacheReadTokens += tokens.cacheRead;
    sum.cacheWriteTokens += tokens.cacheWrite;
  }
  if (charge !== undefined) sum.charge += charge;
}

const NOTHING = {
  requests: 0,
  kept: 0,
  durationMs: 0,
  firstByteMs: 0,
  firstBytes: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  charge: 0n,
} as const;
const FIGURES = Object.keys(NOTHING) as Figure[];
type LabelFigure = Exclude<Figure, 'kept'>;
const LABEL_FIGURES = FIGURES.filter((figure): figure is LabelFigure => figure !== 'kept');

/** @param before - The figures that the row has already. */
function rowOf<Name extends Figure>(
  figures: Figures,
  names: readonly Name[],
  before?: Readonly<Record<Name, bigint>>,
): Record<Name, bigint> {
  const entries = names.map((name) => [name, (before?.[name] ?? 0n) + BigInt(figures[name])]);
  return Object.fromEntries(entries) as Record<Name, bigint>;
}

function addRow(
  rows: Map<string, Row<'RequestSum'>>,
  minutes: number,
  series: bigint,
  sum: Sum,
): void {
  const period = Math.floor((sum.period * FINE_MINUTES) / minutes);
  const name = `${String(minutes)} ${String(period)} ${String(series)}`;
  rows.set(name, { minutes, period, series, ...rowOf(sum, FIGURES, rows.get(name)) });
}

export function seriesRow(
  id: number,
  request: RequestRecord,
  lastAt: number,
): Row<'RequestSeries'> {
  return {
    id: BigInt(id),
    accountId: request.accountId ?? null,
    keyId: request.keyId ?? null,
    model: request.model ?? null,
    endpoint: request.endpoint,
    status: request.status,
    errorType: request.errorType ?? null,
    upstreamAccount: request.upstreamAccount ?? null,
    lastAt: new Date(lastAt),
  };
}

/** Every process locks the rows in this order. */
export function sortedById(rows: readonly Row<'RequestSeries'>[]): readonly Row<'RequestSeries'>[] {
  return [...rows].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function inOrder(a: Row<'RequestSum'>, b: Row<'RequestSum'>): number {
  return a.minutes - b.minutes || a.period - b.period || (a.series < b.series ? -1 : 1);
}

function inOrderOfLabels(a: Row<'RequestLabel'>, b: Row<'RequestLabel'>): number {
  return (
    a.day - b.day ||
    (a.series === b.series ? (a.label < b.label ? -1 : 1) : a.series < b.series ? -1 : 1)
  );
}
