/**
 * Adds up recorded requests. Sums are always made from what is stored, and written in the
 * transaction that takes it off the list of what is not summed yet (`request_unsummed`): whenever a
 * process ends, each request is in the sums once, or still on the list for whoever sums next.
 *
 * Holders choose how many sums there are, so they are taken in small parts, between which requests
 * are served.
 */

import { REQUEST_PERIOD_MS } from '../../request-record.js';
import { DAY_MS, HOUR_MS } from '../base/hours.js';
import type { Row } from '../tables/tables.js';
import { PLACE } from './batch.js';
import type { BlockRow } from './batch.js';
import { labelTag } from './tags.js';

const MINUTE_MS = 60_000;
/** The lengths of the periods. Sums of the shortest ones are deleted after two days. */
export const FINE_MINUTES = REQUEST_PERIOD_MS / MINUTE_MS;
export const COARSE_MINUTES = HOUR_MS / MINUTE_MS;
export const DAY_MINUTES = DAY_MS / MINUTE_MS;
export const FINE_SUMS_MS = 48 * HOUR_MS;

/** If there are more, one transaction adds no further blocks. */
const MAX_SUMS = 5_000;
/** How many sums, and how many labels, one part has at most: it takes some 5 ms. */
const PART = 150;

interface Figures extends Record<Exclude<Figure, 'charge'>, number> {
  charge: bigint;
}

interface Sum extends Figures {
  readonly series: number;
  readonly period: number;
}

interface LabelSum extends Figures {
  readonly row: Omit<Row<'RequestLabel'>, Figure>;
}

type Figure = Exclude<keyof Row<'RequestSum'>, 'minutes' | 'period' | 'series'>;

/** Whether requests can be listed, or are only counted. */
export type Recorded = 'kept' | 'counted';

export interface SumsPart {
  readonly sums: readonly Row<'RequestSum'>[];
  readonly labels: readonly Row<'RequestLabel'>[];
}

export class BlockSums {
  /** By period, then by series. */
  readonly #sums = new Map<number, Map<number, Sum>>();
  readonly #labels = new Map<string, LabelSum>();
  readonly #lastAt = new Map<number, number>();
  #count = 0;

  get isFull(): boolean {
    return this.#count >= MAX_SUMS;
  }

  add(rows: readonly BlockRow[], how: Recorded): void {
    for (const row of rows) {
      const [series, endedAt] = [row[PLACE.series], row[PLACE.endedAt]];
      this.#lastAt.set(series, Math.max(endedAt, this.#lastAt.get(series) ?? 0));
      addTo(this.#sumOf(row), row, how);
      addTo(this.#labelSumOf(row), row, how);
    }
  }

  /** The series, and when the last request of each ended. */
  series(): readonly (readonly [id: number, lastAt: number])[] {
    // Every process locks their rows in this order.
    return [...this.#lastAt].sort(([one], [other]) => one - other);
  }

  /** @param known - Requests of other series are left out: their account was erased meanwhile. */
  *parts(known: ReadonlySet<number>): Generator<SumsPart> {
    const sums = [...this.#sums.values()].flatMap((ofPeriod) => [...ofPeriod.values()]);
    const left = sums.filter(({ series }) => known.has(series));
    const labels = [...this.#labels.values()].filter(({ row }) => known.has(Number(row.series)));
    for (let first = 0; first < Math.max(left.length, labels.length); first += PART) {
      yield {
        sums: rowsOf(left.slice(first, first + PART)),
        labels: labels
          .slice(first, first + PART)
          .map(({ row, ...figures }) => ({ ...row, ...rowOf(figures, LABEL_FIGURES) })),
      };
    }
  }

  #labelSumOf(of: BlockRow): LabelSum {
    const [series, endedAt] = [of[PLACE.series], of[PLACE.endedAt]];
    const [client, sessionId] = [of[PLACE.client], of[PLACE.sessionId]];
    const tag = of[PLACE.tag] ?? null;
    const day = Math.floor(endedAt / DAY_MS);
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

  #sumOf(of: BlockRow): Sum {
    const period = Math.floor(of[PLACE.endedAt] / REQUEST_PERIOD_MS);
    const series = of[PLACE.series];
    let sums = this.#sums.get(period);
    if (sums === undefined) this.#sums.set(period, (sums = new Map<number, Sum>()));
    let sum = sums.get(series);
    if (sum === undefined) {
      sum = { series, period, ...NOTHING };
      sums.set(series, sum);
      this.#count += 1;
    }
    return sum;
  }
}

function addTo(sum: Figures, row: BlockRow, how: Recorded): void {
  const [, , , durationMs, firstByteMs, , , count, tokens, charge] = row;
  sum.requests += count;
  if (how === 'kept') sum.kept += 1;
  sum.durationMs += durationMs * count;
  if (firstByteMs !== null) {
    sum.firstByteMs += firstByteMs * count;
    sum.firstBytes += count;
  }
  if (tokens !== null) {
    const [input, output, cacheRead, cacheWrite] = tokens;
    sum.inputTokens += input;
    sum.outputTokens += output;
    sum.cacheReadTokens += cacheRead;
    sum.cacheWriteTokens += cacheWrite;
  }
  if (charge !== null) sum.charge += BigInt(charge);
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

/** By five minutes, by hour and by day. */
function rowsOf(sums: readonly Sum[]): readonly Row<'RequestSum'>[] {
  const rows = new Map<string, Row<'RequestSum'>>();
  for (const sum of sums) {
    for (const minutes of [FINE_MINUTES, COARSE_MINUTES, DAY_MINUTES]) {
      const period = Math.floor((sum.period * FINE_MINUTES) / minutes);
      const name = `${String(minutes)} ${String(period)} ${String(sum.series)}`;
      const figures = rowOf(sum, FIGURES, rows.get(name));
      rows.set(name, { minutes, period, series: BigInt(sum.series), ...figures });
    }
  }
  return [...rows.values()];
}
