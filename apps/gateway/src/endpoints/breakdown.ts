/**
 * Spend, tokens, requests, errors and latency by one dimension and by time, beside the period
 * before. Money and tokens are the ledger's sums of charges, also those by member, group, tag and
 * run. Failed requests and times are those of the record of requests, and so are all figures of
 * programs, sessions and errors, which the ledger does not know. The record is kept for some days:
 * the answer says from when on, and what the ledger has that no group has.
 */

import { z } from 'zod';
import type {
  BalanceStore,
  RequestDimension,
  RequestSum,
  RequestSumQuery,
  SpendingDimension,
  SpendingSum,
  UsageDimension,
  UsageFigure,
  UsageQuery,
  UsageSum,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { DAY_MS, HOUR_MS } from '../base/times.js';
import { csvOf } from './csv.js';
import { help, hour, rangeOf, wholeNumber } from './fields.js';
import { factOf, spendOf } from './requests.js';
import { line } from './storable.js';
import {
  ALSO_METADATA,
  SPENDER_GROUPS,
  filterFieldOf,
  metadataGroup,
  spenderDimensionOf,
  spenderFields,
} from './spending.js';
import type { MetadataGroup, SpenderFilter } from './spending.js';
import { costFigures } from './views.js';
import { daysIn, isWholeHours, isZone } from '../base/zones.js';

export const HOLDER_GROUPS = [
  'model',
  'key',
  'endpoint',
  'client',
  'session',
  ...SPENDER_GROUPS,
  'error',
] as const;
export const OPERATOR_GROUPS = [...HOLDER_GROUPS, 'account', 'upstream'] as const;
type NamedGroup = (typeof OPERATOR_GROUPS)[number];
type Group = NamedGroup | MetadataGroup;

const range = rangeOf(hour);
const said = (says: string) => ({ says });

/** The figures by which groups are ordered. */
export const HOLDER_SORTS = ['charged', 'tokens', 'charges', 'requests', 'failed'] as const;
export const OPERATOR_SORTS = [...HOLDER_SORTS, 'margin'] as const;
type Sort = (typeof OPERATOR_SORTS)[number];

/**
 * @param groups - What the reader may group by.
 * @param sorts - What the reader may sort by.
 */
export function breakdownFields<
  Groups extends readonly [NamedGroup, ...NamedGroup[]],
  Sorts extends readonly [Sort, ...Sort[]],
>(groups: Groups, sorts: Sorts) {
  return {
    by: z
      .union([z.enum(groups), metadataGroup], {
        error: `must be one of ${groups.join(', ')}, ${ALSO_METADATA}`,
      })
      .default('model')
      .register(help, said(`what to group by: one of ${groups.join(', ')}, ${ALSO_METADATA}`)),
    from: range.from,
    until: range.until,
    every: z
      .enum(['hour', 'day'])
      .default('day')
      .register(help, said('how long the spans are: hour or day')),
    zone: z
      .string()
      .max(64)
      .refine(isZone, 'must be a time zone, such as Europe/Rome')
      .default('UTC')
      .register(help, said('the time zone of the days, such as Europe/Rome')),
    model: line.min(1).max(200).optional().register(help, said('only those of this model')),
    ...spenderFields,
    sort: z
      .enum(sorts)
      .default('charged')
      .register(help, said(`the figure by which all groups are ordered: ${sorts.join(', ')}`)),
    order: z
      .enum(['most', 'least'])
      .optional()
      .register(help, said('which come first; default: most, and of margins the least')),
    top: wholeNumber
      .min(1)
      .max(100)
      .default(20)
      .register(help, said('how many groups; all others are one')),
  } as const;
}

export interface BreakdownQuery {
  readonly by: Group;
  readonly from: Date;
  readonly until: Date;
  readonly every: 'hour' | 'day';
  readonly zone: string;
  readonly model?: string | undefined;
  readonly sort: Sort;
  readonly order?: 'most' | 'least' | undefined;
  readonly top: number;
}

/** A member of the query that is refused, and why. */
export class BreakdownError extends Error {
  readonly member: string;

  constructor(member: string, message: string) {
    super(message);
    this.member = member;
  }
}

interface Scope extends SpenderFilter {
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
}

type Store = Pick<
  BalanceStore,
  'readUsage' | 'readSpending' | 'spendingNamedSince' | 'sumRequests' | 'requestsRecordedFrom'
>;

/** Sums by hour and group are read before they are added up by day. Reading more takes seconds. */
const MAX_SUMS = 50_000;
const MAX_SPANS = 800;

/**
 * @throws {BreakdownError} The sums that the query asks for do not exist, or are too many.
 */
export async function readBreakdown(
  query: BreakdownQuery,
  scope: Scope,
  { store, now }: { readonly store: Store; readonly now: number },
) {
  const { by, from, until, every } = query;
  const spans = spansOf(query);
  const before = periodBefore(query, now);
  const source = sourceOf(query, scope);
  const asked: Asked = { ...scope, model: query.model, by, source, best: bestOf(query, source) };
  const groups = new Map<string, Sums>();
  const groupOf = ({ group, others }: Sum): Sums => {
    const name = others > 0 ? REST : (group ?? '');
    let sums = groups.get(name);
    if (sums === undefined) {
      groups.set(name, (sums = newSums(group, spans.starts.length, others)));
    }
    return sums;
  };
  const addToSpans = (sums: readonly Sum[]) => {
    for (const sum of sums) {
      const { spans: kept } = groupOf(sum);
      const index = spans.indexOf(sum.start);
      if (index !== undefined) addTo((kept[index] ??= newFigures()), sum.figures);
    }
  };
  const addToBefore = (sums: readonly Sum[]) => {
    for (const sum of sums) {
      // What is not among the first groups is a part of their rest, if there is one.
      const isNamed = sum.group === undefined || groups.has(sum.group);
      const group = isNamed ? undefined : groups.get(REST);
      addTo((group ?? groupOf(sum)).before, sum.figures);
    }
  };
  const [others, recorded, recordedBefore, charged, chargedBefore, since, namedFrom] =
    await Promise.all([
      readOthers(asked, { from, until, everyMs: undefined }, store),
      readRecorded(asked, { from, until, everyMs: spans.everyMs }, store),
      readRecorded(asked, { ...before, everyMs: undefined }, store),
      readCharged(asked, { from, until, everyMs: spans.everyMs }, store),
      readCharged({ ...asked, best: undefined }, { ...before, everyMs: undefined }, store),
      source === 'spending'
        ? undefined
        : store.requestsRecordedFrom(isRecordedByHour(by) ? 'sums' : 'labels'),
      source === 'spending' ? store.spendingNamedSince(scope.accountId) : undefined,
    ]).catch((error: unknown) => {
      if (error instanceof RangeError) throw new BreakdownError('from', TOO_MANY);
      throw error;
    });
  if (others > 0) groups.set(REST, newSums(undefined, spans.starts.length, others));
  addToSpans(recorded);
  if (source !== 'record') addToSpans(charged);
  for (const group of groups.values()) {
    for (const span of group.spans) if (span !== undefined) addTo(group.total, span);
  }
  addToBefore(recordedBefore);
  if (source !== 'record') addToBefore(chargedBefore);
  const notRecorded = restOf(groups.values(), { charged, chargedBefore, spans });
  const sorted = sortedGroups(
    [...groups.values()].filter((group) => group.others === 0),
    query,
  );
  const rest = groups.get(REST);
  const shown = sorted.slice(0, query.top);
  const merged = [...sorted.slice(query.top), ...(rest === undefined ? [] : [rest])];
  const all = [...groups.values()];
  return {
    by,
    every,
    zone: query.zone,
    from,
    until,
    before,
    starts: spans.starts,
    groups: merged.length === 0 ? shown : [...shown, mergedOf(merged)],
    total: { ...totalOf(all.map(({ total }) => total)), ...inAll(charged, query) },
    totalBefore: {
      ...totalOf(all.map((group) => group.before)),
      ...inAll(chargedBefore, query),
    },
    // Errors are those of requests that most have no charge.
    notRecorded: by === 'error' ? undefined : notRecorded,
    recordedFrom: since,
    namedFrom,
  };
}

/** No name of a group has this character. */
const REST = '\0';

/** `spending`: the ledger's sums by who spent. `record`: the record of requests. */
type Source = 'ledger' | 'spending' | 'record';

/** @throws {BreakdownError} The filters or the order do not go with the groups. */
function sourceOf({ by, sort }: BreakdownQuery, scope: Scope): Source {
  const filter = filterFieldOf(scope);
  const isSpending = SPENDING_GROUPS[by] !== undefined || spenderDimensionOf(by) !== undefined;
  if (filter === undefined && LEDGER_GROUPS[by] !== undefined) return 'ledger';
  if (!isSpending) {
    if (filter === undefined) return 'record';
    throw new BreakdownError(filter, `cannot be combined with by=${by}`);
  }
  if (sort === 'requests' || sort === 'failed') {
    const why = `requests are not recorded by ${filter ?? by}`;
    throw new BreakdownError('sort', `must be another figure: ${why}`);
  }
  return 'spending';
}

/**
 * The first groups by this figure, so that the database need not return the others; `undefined` if
 * it cannot sort by it.
 */
function bestOf({ sort, order, top }: BreakdownQuery, source: Source): Asked['best'] {
  if (source !== 'spending' || order === 'least') return undefined;
  const figures: Partial<Record<Sort, UsageFigure>> = {
    charged: 'charged',
    tokens: 'tokens',
    charges: 'requests',
  };
  const figure = figures[sort];
  return figure === undefined ? undefined : { sort: figure, top };
}

/** What the ledger has and no group has, so that all groups and this are the ledger's sums. */
function restOf(
  groups: Iterable<Sums>,
  ledger: {
    readonly charged: readonly Sum[];
    readonly chargedBefore: readonly Sum[];
    readonly spans: Spans;
  },
): Sums {
  const { charged, chargedBefore, spans } = ledger;
  const rest = newSums(undefined, spans.starts.length);
  const ofSpan = (index: number) => (rest.spans[index] ??= newFigures());
  for (const { start, figures } of charged) {
    addTo(rest.total, figures);
    const index = spans.indexOf(start);
    if (index !== undefined) addTo(ofSpan(index), figures);
  }
  for (const { figures } of chargedBefore) addTo(rest.before, figures);
  for (const { total, before, spans: its } of groups) {
    subtract(rest.total, total);
    subtract(rest.before, before);
    for (const [index, span] of its.entries()) {
      if (span !== undefined) subtract(ofSpan(index), span);
    }
  }
  return rest;
}

function subtract(sum: Figures, less: Figures): void {
  sum.charged -= less.charged;
  sum.charges -= less.charges;
  sum.input -= less.input;
  sum.output -= less.output;
  sum.cacheRead -= less.cacheRead;
  sum.cacheWrite -= less.cacheWrite;
}

/** What the ledger has in all. Failed requests, which most have no charge, are not compared. */
function inAll(charged: readonly Sum[], { by }: BreakdownQuery): Partial<Figures> {
  if (by === 'error') return {};
  const none = { charged: 0n, cost: 0n, costed: 0, charges: 0 };
  const sum = { ...none, input: 0n, output: 0n, cacheRead: 0n, cacheWrite: 0n };
  for (const { figures } of charged) addTo(sum, figures);
  return sum;
}

/** Groups whose figure is not known come last. */
function sortedGroups(groups: readonly Sums[], query: BreakdownQuery): readonly Sums[] {
  const { sort, order = sort === 'margin' ? 'least' : 'most' } = query;
  const sign = order === 'least' ? -1 : 1;
  return groups
    .map((group) => ({ group, rank: rankOf(group.total, query) }))
    .sort(({ rank: a }, { rank: b }) => {
      if (a === undefined || b === undefined) {
        return Number(a === undefined) - Number(b === undefined);
      }
      return a < b ? sign : a > b ? -sign : 0;
    })
    .map(({ group }) => group);
}

const TOO_MANY = `covers more than ${String(MAX_SUMS)} sums: ask for fewer days, or for days in UTC`;

/** The dimension of the ledger's sums, if they know it. */
const LEDGER_GROUPS: Readonly<Partial<Record<string, UsageDimension>>> = {
  model: 'model',
  key: 'key',
  endpoint: 'endpoint',
  account: 'account',
  upstream: 'upstream',
};

/** Those of them that the sums by who spent know, too. */
const SPENDING_GROUPS: Readonly<Partial<Record<string, SpendingDimension>>> = {
  model: 'model',
  key: 'key',
  account: 'account',
};

interface Figures {
  charged: bigint;
  /** What the charges cost the operator, of `costed` of them. */
  cost: bigint;
  costed: number;
  charges: number;
  input: bigint;
  output: bigint;
  cacheRead: bigint;
  cacheWrite: bigint;
  /** Recorded requests, failed ones too. */
  requests: number;
  failed: number;
  durationMs: number;
  firstByteMs: number;
  firstBytes: number;
}

interface Sums {
  readonly group: string | undefined;
  /** How many groups it stands for, if it is all the rest. */
  readonly others: number;
  readonly total: Figures;
  readonly before: Figures;
  readonly spans: (Figures | undefined)[];
}

interface Sum {
  readonly group: string | undefined;
  /** How many groups it stands for, if it is the rest of what the database returned; else 0. */
  readonly others: number;
  /** Milliseconds since the epoch; 0 without spans. */
  readonly start: number;
  readonly figures: Partial<Figures>;
}

function newFigures(): Figures {
  return {
    charged: 0n,
    cost: 0n,
    costed: 0,
    charges: 0,
    input: 0n,
    output: 0n,
    cacheRead: 0n,
    cacheWrite: 0n,
    requests: 0,
    failed: 0,
    durationMs: 0,
    firstByteMs: 0,
    firstBytes: 0,
  };
}

function newSums(group: string | undefined, spans: number, others = 0): Sums {
  return {
    group,
    others,
    total: newFigures(),
    before: newFigures(),
    spans: Array.from({ length: spans }, () => undefined),
  };
}

function addTo(sum: Partial<Figures>, more: Partial<Figures>): void {
  const into = sum as unknown as Record<string, bigint | number>;
  for (const [name, value] of Object.entries(more)) {
    // Both are of one type: they are the same member.
    into[name] = ((into[name] ?? 0) as number) + (value as number);
  }
}

function totalOf(all: readonly Figures[]): Figures {
  const sum = newFigures();
  for (const figures of all) addTo(sum, figures);
  return sum;
}

function mergedOf(groups: readonly Sums[]): Sums {
  const count = groups.reduce((sum, { others }) => sum + Math.max(1, others), 0);
  const merged = newSums(undefined, groups[0]?.spans.length ?? 0, count);
  for (const { total, before, spans } of groups) {
    addTo(merged.total, total);
    addTo(merged.before, before);
    for (const [index, span] of spans.entries()) {
      if (span !== undefined) addTo((merged.spans[index] ??= newFigures()), span);
    }
  }
  return merged;
}

function rankOf(figures: Figures, { sort }: BreakdownQuery): bigint | undefined {
  const { input, output, cacheRead, cacheWrite, charged, cost, costed, charges } = figures;
  if (sort === 'tokens') return input + output + cacheRead + cacheWrite;
  if (sort !== 'margin') return BigInt(figures[sort]);
  return costed === charges && charges > 0 ? charged - cost : undefined;
}

interface Spans {
  readonly starts: readonly Date[];
  /** How the databases sum: days in UTC, or else hours. */
  readonly everyMs: number;
  readonly indexOf: (start: number) => number | undefined;
}

function spansOf({ by, from, until, every, zone }: BreakdownQuery): Spans {
  const range = { from: from.getTime(), until: until.getTime() };
  const isUtc = zone === 'UTC';
  const isWhole = range.from % DAY_MS === 0 && range.until % DAY_MS === 0;
  if (!isRecordedByHour(by) && !(isUtc && every === 'day' && isWhole)) {
    throw new BreakdownError('by', `${by} is summed by whole days in UTC only`);
  }
  if (!isWholeHours(zone, range)) {
    throw new BreakdownError('zone', 'must be whole hours from UTC, because sums are kept by hour');
  }
  const length = every === 'hour' ? HOUR_MS : DAY_MS;
  if ((range.until - range.from) / length > MAX_SPANS) {
    throw new BreakdownError('from', `covers more than ${String(MAX_SPANS)} ${every}s`);
  }
  if (every === 'hour' || isUtc) {
    const first = Math.floor(range.from / length) * length;
    const count = Math.ceil((range.until - first) / length);
    return {
      starts: Array.from({ length: count }, (_, index) => new Date(first + index * length)),
      everyMs: isWhole ? length : HOUR_MS,
      indexOf: (start) => Math.floor((start - first) / length),
    };
  }
  const days = daysIn(zone, range);
  return {
    starts: days.starts.map((start) => new Date(start)),
    everyMs: HOUR_MS,
    indexOf: days.indexOf,
  };
}

/** Sums of programs and sessions are kept by day. */
function isRecordedByHour(by: Group): boolean {
  return by !== 'client' && by !== 'session';
}

/**
 * As long a time before as has passed of the range, so that an unfinished day is compared with the
 * same part of the earlier one.
 */
function periodBefore(
  { by, from, until }: BreakdownQuery,
  now: number,
): { readonly from: Date; readonly until: Date } {
  const length = until.getTime() - from.getTime();
  const unit = isRecordedByHour(by) ? HOUR_MS : DAY_MS;
  const passed = Math.ceil((now - from.getTime()) / unit) * unit;
  const end = Math.min(length, Math.max(unit, passed));
  const start = from.getTime() - length;
  return { from: new Date(start), until: new Date(start + end) };
}

interface Asked extends Scope {
  readonly by: Group;
  readonly model: string | undefined;
  readonly source: Source;
  /** Only the first groups, and the rest as one. */
  readonly best: { readonly sort: UsageFigure; readonly top: number } | undefined;
}

interface Reading {
  readonly from: Date;
  readonly until: Date;
  readonly everyMs: number | undefined;
}

/** How many groups are beyond the first ones. */
async function readOthers(asked: Asked, reading: Reading, store: Store): Promise<number> {
  if (asked.best === undefined) return 0;
  const sums = await readSpent(asked, reading, store);
  return sums.reduce((count, { others }) => count + others, 0);
}

async function readCharged(
  asked: Asked,
  { from, until, everyMs }: Reading,
  store: Store,
): Promise<readonly Sum[]> {
  const { by, model, accountId, keyId, source } = asked;
  if (by === 'error') return [];
  if (source === 'spending') return readSpent(asked, { from, until, everyMs }, store);
  const dimension = LEDGER_GROUPS[by];
  const query: UsageQuery = {
    by: [...spanOf(everyMs), ...(dimension === undefined ? [] : [dimension])],
    from,
    until,
    accountId,
    keyId,
    model,
    maxSums: MAX_SUMS,
  };
  const sums = await store.readUsage(query);
  return sums.map((sum) => ({
    group: groupOfUsage(sum, by),
    others: 0,
    start: sum.start?.getTime() ?? 0,
    figures: chargedFigures({ ...sum, charged: sum.listPrice - sum.writtenOff }),
  }));
}

async function readSpent(
  { by, source: _source, best, ...filters }: Asked,
  { from, until, everyMs }: Reading,
  store: Store,
): Promise<readonly Sum[]> {
  const spender = spenderDimensionOf(by);
  const dimension = spender?.dimension ?? SPENDING_GROUPS[by];
  if (dimension === undefined) throw new Error(`the ledger does not know ${by}`);
  const sums = await store.readSpending({
    ...filters,
    ...best,
    by: [...spanOf(everyMs), dimension],
    metadata: spender?.metadata,
    from,
    until,
    maxSums: MAX_SUMS,
  });
  return sums.map((sum) => ({
    group: groupOfSpending(sum, dimension) ?? undefined,
    others: sum.others,
    start: sum.start?.getTime() ?? 0,
    figures: chargedFigures(sum),
  }));
}

function spanOf(everyMs: number | undefined): readonly ('day' | 'hour')[] {
  return everyMs === undefined ? [] : [everyMs === DAY_MS ? 'day' : 'hour'];
}

function chargedFigures({
  charged,
  cost,
  costed,
  requests,
  usage,
}: Pick<SpendingSum, 'charged' | 'cost' | 'costed' | 'requests' | 'usage'>): Partial<Figures> {
  return {
    charged,
    cost,
    costed,
    charges: requests,
    input: usage.inputTokens,
    output: usage.outputTokens,
    cacheRead: usage.cacheReadInputTokens,
    cacheWrite: usage.cacheCreationInputTokens,
  };
}

function groupOfSpending(
  sum: SpendingSum,
  dimension: SpendingDimension,
): string | null | undefined {
  switch (dimension) {
    case 'member':
      return sum.memberId;
    case 'group':
      return sum.groupId;
    case 'tag':
      return sum.tag;
    case 'run':
      return sum.run;
    case 'metadata':
      return sum.metadata;
    case 'account':
      return sum.accountId;
    case 'key':
      return sum.keyId;
    default:
      return sum.model;
  }
}

function groupOfUsage(sum: UsageSum, by: Group): string | undefined {
  switch (by) {
    case 'account':
      return sum.accountId;
    case 'key':
      return sum.keyId;
    case 'endpoint':
      return sum.endpoint;
    case 'upstream':
      return sum.upstreamAccount === '' ? undefined : sum.upstreamAccount;
    default:
      return sum.model;
  }
}

async function readRecorded(
  { by, model, accountId, keyId, source }: Asked,
  reading: Reading,
  store: Store,
): Promise<readonly Sum[]> {
  if (source === 'spending') return [];
  const dimension = by as RequestDimension;
  const inLedger = source === 'ledger';
  const query: RequestSumQuery = {
    ...reading,
    by: [dimension],
    accountId,
    keyId,
    model,
    ...(by === 'error' ? { failed: true } : {}),
    without: inLedger ? 'spend' : undefined,
    maxSums: MAX_SUMS,
  };
  const sums = await store.sumRequests(query);
  return sums.map((sum) => ({
    group: factOf(sum, dimension)?.toString(),
    others: 0,
    start: sum.start?.getTime() ?? 0,
    figures: {
      requests: sum.requests,
      failed: sum.failed,
      durationMs: sum.durationMs,
      firstByteMs: sum.firstByteMs,
      firstBytes: sum.firstBytes,
      ...(inLedger ? {} : spentFigures(sum)),
    },
  }));
}

function spentFigures(sum: RequestSum): Partial<Figures> {
  const { tokens, charge } = spendOf(sum);
  return {
    charged: charge,
    charges: sum.requests - sum.failed,
    input: BigInt(tokens.input),
    output: BigInt(tokens.output),
    cacheRead: BigInt(tokens.cacheRead),
    cacheWrite: BigInt(tokens.cacheWrite),
  };
}

type Breakdown = Awaited<ReturnType<typeof readBreakdown>>;
type View = (figures: Figures) => ReturnType<typeof figuresView>;

/** @param view - `figuresView`, or `costedFiguresView` for operators. */
export function breakdownView(breakdown: Breakdown, view: View = figuresView) {
  const { by, every, zone, from, until, before, starts, groups, total, totalBefore } = breakdown;
  const { notRecorded, recordedFrom, namedFrom } = breakdown;
  return {
    object: 'breakdown' as const,
    by,
    every,
    zone,
    from: from.toISOString(),
    until: until.toISOString(),
    before: { from: before.from.toISOString(), until: before.until.toISOString() },
    starts: starts.map((start) => start.toISOString()),
    groups: groups.map((group) => ({
      value: group.group ?? null,
      others: group.others,
      total: view(group.total),
      before: view(group.before),
      spans: group.spans.map((span) => (span === undefined ? null : view(span))),
    })),
    total: view(total),
    total_before: view(totalBefore),
    not_recorded:
      notRecorded === undefined
        ? null
        : {
            total: spentView(notRecorded.total),
            before: spentView(notRecorded.before),
            spans: notRecorded.spans.map((span) =>
              span === undefined || isNothing(span) ? null : spentView(span),
            ),
          },
    recorded_from: recordedFrom?.toISOString() ?? null,
    named_from: namedFrom?.toISOString() ?? null,
  };
}

type Shown = ReturnType<typeof breakdownView>;

/** With the name of each account, key, member or group. */
export function withGroupNames<Breakdown extends Shown>(
  breakdown: Breakdown,
  names: ReadonlyMap<string, string>,
) {
  return {
    ...breakdown,
    groups: breakdown.groups.map(({ value, ...group }) => ({
      value,
      name: names.get(value ?? '') ?? null,
      ...group,
    })),
  };
}

/** What a table has of a breakdown. */
interface ShownWithNames {
  readonly by: string;
  readonly starts: readonly string[];
  readonly groups: readonly {
    readonly value: string | null;
    readonly name: string | null;
    readonly others: number;
    readonly spans: readonly (object | null)[];
  }[];
  readonly not_recorded: { readonly spans: readonly (object | null)[] } | null;
}

/**
 * A row for each group and span, which together are the total.
 *
 * @param figures - The columns.
 */
export function breakdownCsv(
  { by, groups, starts, not_recorded: rest }: ShownWithNames,
  figures: readonly string[],
): string {
  const rows = groups.flatMap(({ value, name, others, spans }) => {
    const text = others > 0 ? `${String(others)} others` : value === null ? 'none' : name;
    return spans.flatMap((span, index) =>
      span === null ? [] : [{ [by]: value, name: text, start: starts[index], ...span }],
    );
  });
  const notRecorded = (rest?.spans ?? []).flatMap((span, index) =>
    span === null ? [] : [{ name: 'not recorded', start: starts[index], ...span }],
  );
  return csvOf([by, 'name', 'start', ...figures], [...rows, ...notRecorded]);
}

function isNothing({ charged, charges, input, output, cacheRead, cacheWrite }: Figures): boolean {
  return [charged, charges, input, output, cacheRead, cacheWrite].every((each) => !each);
}

function spentView(figures: Figures) {
  return {
    charged_usd: formatUsd(figures.charged),
    charges: figures.charges,
    input_tokens: Number(figures.input),
    output_tokens: Number(figures.output),
    cache_read_input_tokens: Number(figures.cacheRead),
    cache_creation_input_tokens: Number(figures.cacheWrite),
  };
}

export function figuresView(figures: Figures) {
  const { requests, firstBytes } = figures;
  return {
    ...spentView(figures),
    requests,
    failed: figures.failed,
    mean_duration_ms: requests === 0 ? null : Math.round(figures.durationMs / requests),
    mean_first_byte_ms: firstBytes === 0 ? null : Math.round(figures.firstByteMs / firstBytes),
  };
}

/** With what the charges cost, as far as that is recorded. */
export function costedFiguresView(figures: Figures) {
  return { ...figuresView(figures), ...costFigures({ ...figures, requests: figures.charges }) };
}
