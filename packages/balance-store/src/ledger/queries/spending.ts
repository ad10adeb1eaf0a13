/**
 * Sums charges by who spent. The hourly sums of spenders have only charges that name a member, a
 * group, a tag or a run. Charges that name none of them are what is left of all usage, so the sums
 * always add up to those of `readUsage`. Both are read in one snapshot.
 */

import { SPENDER_DIMENSIONS } from '../../spending.js';
import type {
  SpenderDimension,
  SpendingDimension,
  SpendingQuery,
  SpendingSum,
} from '../../spending.js';
import type { UsageDimension, UsageFigure, UsageQuery, UsageSum } from '../../usage.js';
import { HOUR_MS } from '../base/hours.js';
import { compareBytes } from '../base/text-order.js';
import { containing, matching } from './search.js';
import type { Value } from './search.js';
import { assertNotTooMany, limitOf } from './stored-usage.js';
import { HOURS_PER_DAY } from './usage-source.js';

/** What differs between the databases. */
export interface SpendingSql {
  /**
   * Sums amounts of zero or more in two steps: as columns that are sums of rows, by their names,
   * and as an expression that sums these columns, as decimal text with 14 decimals.
   */
  readonly partsOf: (amount: string) => readonly (readonly [name: string, sum: string])[];
  readonly sum: (amount: string) => string;
  /** Sorts a text by its bytes. */
  readonly inBytes: (text: string) => string;
  readonly units: (text: string) => bigint;
}

type SpanDimension = Exclude<SpendingDimension, SpenderDimension>;

const SPAN_COLUMNS: Readonly<Record<SpanDimension, string>> = {
  day: `h.hour / ${String(HOURS_PER_DAY)} * ${String(HOURS_PER_DAY)}`,
  hour: 'h.hour',
  model: 'h.model',
  account: 'h.account_id',
  key: 'h.key_id',
};

/** None of these texts is ever empty, so an empty one stands for none. */
const SPENDER_COLUMNS: Readonly<Record<SpenderDimension, string>> = {
  member: "coalesce(s.member_id, '')",
  group: "coalesce(s.groups, '')",
  tag: "coalesce(s.tag, '')",
  run: "coalesce(s.run, '')",
  metadata: "coalesce(about.metadata ->> CAST(? AS TEXT), '')",
};

/** Whose metadata it is, for the dimension `metadata`. */
const METADATA_OF = {
  member: 'LEFT JOIN member about ON about.id = s.member_id',
  // The path ends with the member's own group.
  group: 'LEFT JOIN spend_group about ON about.account_id = s.account_id AND about.path = s.groups',
} as const;

const COUNTS = [
  'requests',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'costed',
] as const;
const AMOUNTS = ['charged', 'written_off', 'cost'] as const;

export interface SpendingStatement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** A row of {@link spendingStatement}: `span_0`, `span_1` …, `name_0` … are the dimensions. */
export interface SpendingRow extends Readonly<Record<string, unknown>> {
  /** How many combinations of names it stands for; 0 unless it is that of all others. */
  readonly others: number | string;
  readonly requests: number | string;
  readonly input: number | string;
  readonly output: number | string;
  readonly cache_read: number | string;
  readonly cache_write: number | string;
  readonly charged: string;
  readonly written_off: string;
  readonly cost: string;
  readonly costed: number | string;
}

/** With a `?` for each of its values. */
export function spendingStatement(query: SpendingQuery, dialect: SpendingSql): SpendingStatement {
  const { spans, names } = dimensionsOf(query);
  const source = sourceOf(query, dialect);
  const sums =
    'sum(requests) AS requests, sum(input_tokens) AS input, sum(output_tokens) AS output, ' +
    'sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write, ' +
    AMOUNTS.map((of) => `${dialect.sum(of)} AS ${of}, `).join('') +
    'sum(costed) AS costed';
  const spanNames = spans.map((_, index) => `span_${String(index)}`);
  const columns = names.map((_, index) => `name_${String(index)}`);
  const select = (from: string, others: string, kept: readonly string[], grouped = kept) => {
    const groups = grouped.length === 0 ? 'HAVING count(*) > 0' : `GROUP BY ${grouped.join(', ')}`;
    return (
      `SELECT ${kept.map((column) => `${column}, `).join('')}${others} AS others, ${sums} ` +
      `FROM ${from} ${groups}${limitOf(query)}`
    );
  };
  if (query.top === undefined || names.length === 0) {
    return { ...source, sql: select(`(${source.sql}) source`, '0', [...spanNames, ...columns]) };
  }
  const isNamed = `(${columns.map((column) => `${column} <> ''`).join(' OR ')})`;
  const best = columns.map((column) => column.replace('name', 'best'));
  const list = columns.join(', ');
  // A line for each, because none has a line break.
  const combination = columns.join(" || '\n' || ");
  const kept = columns.map((column, index) => `coalesce(${best[index] ?? ''}, '') AS ${column}`);
  return {
    sql:
      `WITH source AS (${source.sql}), best AS (` +
      `SELECT ${columns.map((column, index) => `${column} AS ${best[index] ?? ''}`).join(', ')} ` +
      `FROM source WHERE ${isNamed} GROUP BY ${list} ORDER BY ` +
      `${rankingOf(query.sort ?? 'charged', dialect)}, ` +
      `${columns.map((column) => dialect.inBytes(column)).join(', ')} LIMIT ?) ` +
      select(
        `(SELECT ${spanNames.map((column) => `${column}, `).join('')}${kept.join(', ')}, ` +
          `CASE WHEN best_0 IS NULL AND ${isNamed} THEN ${combination} END AS other, ` +
          `${figuresOf(dialect)
            .map(([name]) => name)
            .join(', ')} ` +
          `FROM source LEFT JOIN best ON ` +
          `${columns.map((column, index) => `${column} = ${best[index] ?? ''}`).join(' AND ')}) ` +
          'marked',
        'count(DISTINCT other)',
        [...spanNames, ...columns],
        [...spanNames, ...columns, 'other IS NULL'],
      ),
    values: [...source.values, query.top],
  };
}

/**
 * Sums with the dimensions of the query as columns. They are summed by spender first, so that the
 * names of each are read once, not for each hour: a third of the time for 10,000 members.
 */
function sourceOf(query: SpendingQuery, dialect: SpendingSql): SpendingStatement {
  const { spans, names } = dimensionsOf(query);
  const { accountId, keyId, model, memberId, groupId, tag, run, metadata } = query;
  const spenders = matching(
    ['member_id = ?', memberId],
    ["groups LIKE ? ESCAPE '\\'", groupId === undefined ? undefined : containing(`/${groupId}/`)],
    ['tag = ?', tag],
    ['run = ?', run],
  );
  const { where, values } = matching(
    // The primary key begins with the account.
    ...(accountId === undefined ? [['h.account_id IN (SELECT id FROM account)'] as const] : []),
    ['h.account_id = ?', accountId],
    ['h.hour >= ?', Math.floor(query.from.getTime() / HOUR_MS)],
    ['h.hour < ?', Math.floor(query.until.getTime() / HOUR_MS)],
    ['h.key_id = ?', keyId],
    ['h.model = ?', model],
    ...(spenders.where === ''
      ? []
      : [
          [
            `h.spender_id IN (SELECT id FROM spender ${spenders.where})`,
            ...spenders.values,
          ] as const,
        ]),
  );
  const spanNames = spans.map((_, index) => `span_${String(index)}`);
  const figures = figuresOf(dialect);
  const ofSpenders =
    `SELECT ${spans.map((of, index) => `${SPAN_COLUMNS[of]} AS ${spanNames[index] ?? ''}, `).join('')}` +
    `h.spender_id, ${figures.map(([name, sum]) => `${sum} AS ${name}`).join(', ')} ` +
    `FROM spender_hour h ${where} ` +
    `GROUP BY ${[...spans.map((of) => SPAN_COLUMNS[of]), 'h.spender_id'].join(', ')}`;
  const columns = [
    ...spanNames,
    ...names.map((of, index) => `${SPENDER_COLUMNS[of]} AS name_${String(index)}`),
    ...figures.map(([name]) => name),
  ];
  return {
    sql:
      `SELECT ${columns.join(', ')} FROM (${ofSpenders}) sums ` +
      'JOIN spender s ON s.id = sums.spender_id' +
      (metadata === undefined ? '' : ` ${METADATA_OF[metadata.of]}`),
    values: [
      ...names.flatMap((of) => (of === 'metadata' ? [metadata?.name ?? ''] : [])),
      ...values,
    ],
  };
}

/** The columns of sums, each with its expression over the hourly sums. */
function figuresOf({ partsOf }: SpendingSql): readonly (readonly [name: string, sum: string])[] {
  return [
    ...COUNTS.map((name) => [name, `sum(${name})`] as const),
    ...AMOUNTS.flatMap((amount) => partsOf(amount)),
  ];
}

function rankingOf(figure: UsageFigure, { sum }: SpendingSql): string {
  switch (figure) {
    case 'charged':
      // Amounts are never below zero and all have 14 decimals: the longer text is the larger one.
      return `length(${sum('charged')}) DESC, ${sum('charged')} DESC`;
    case 'requests':
      return 'sum(requests) DESC';
    case 'tokens':
      return 'sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) DESC';
  }
}

function dimensionsOf({ by }: Pick<SpendingQuery, 'by'>) {
  return {
    spans: by.filter((each): each is SpanDimension => !isSpender(each)),
    names: by.filter(isSpender),
  };
}

function isSpender(dimension: SpendingDimension): dimension is SpenderDimension {
  return (SPENDER_DIMENSIONS as readonly SpendingDimension[]).includes(dimension);
}

/**
 * The query for all usage of which the named sums are a part; `undefined` if the query is limited
 * to a member, a group, a tag or a run.
 */
export function allUsageOf(query: SpendingQuery): UsageQuery | undefined {
  const { from, until, accountId, keyId, model, memberId, groupId, tag, run, maxSums } = query;
  if ([memberId, groupId, tag, run].some((each) => each !== undefined)) return undefined;
  const by: readonly UsageDimension[] = dimensionsOf(query).spans;
  return { by, from, until, accountId, keyId, model, maxSums };
}

/**
 * @param rows - Of {@link spendingStatement}.
 * @param all - Of {@link allUsageOf}, from the same snapshot.
 * @throws {RangeError} There are more sums than the query allows.
 */
export function spendingSumsOf(
  query: SpendingQuery,
  {
    rows,
    all,
    dialect,
  }: {
    readonly rows: readonly SpendingRow[];
    readonly all: readonly UsageSum[] | undefined;
    readonly dialect: SpendingSql;
  },
): readonly SpendingSum[] {
  assertNotTooMany(rows, query);
  const { spans, names } = dimensionsOf(query);
  const sums = rows.map((row) => sumOf(row, { spans, names, units: dialect.units }));
  const isNamed = (sum: SpendingSum) =>
    sum.others > 0 || names.some((of) => (valueOf(sum, of) ?? '') !== '');
  if (all === undefined) return inOrder(sums, query);
  const named = sums.filter(isNamed);
  const found = [...named, ...unnamedOf(named, all, { spans, names })];
  assertNotTooMany(found, query);
  return inOrder(found, query);
}

interface Dimensions {
  readonly spans: readonly SpanDimension[];
  readonly names: readonly SpenderDimension[];
}

function sumOf(
  row: SpendingRow,
  { spans, names, units }: Dimensions & Pick<SpendingSql, 'units'>,
): SpendingSum {
  const members = Object.fromEntries([
    ...spans.map((of, index) => spanMember(of, row[`span_${String(index)}`])),
    ...names.map((of, index) => spenderMember(of, String(row[`name_${String(index)}`]))),
  ]) as Partial<SpendingSum>;
  return {
    ...members,
    others: Number(row.others),
    requests: Number(row.requests),
    usage: {
      inputTokens: BigInt(row.input),
      outputTokens: BigInt(row.output),
      cacheReadInputTokens: BigInt(row.cache_read),
      cacheCreationInputTokens: BigInt(row.cache_write),
    },
    charged: units(row.charged),
    writtenOff: units(row.written_off),
    cost: units(row.cost),
    costed: Number(row.costed),
  };
}

const MEMBERS = {
  day: 'start',
  hour: 'start',
  model: 'model',
  account: 'accountId',
  key: 'keyId',
  member: 'memberId',
  group: 'groupId',
  tag: 'tag',
  run: 'run',
  metadata: 'metadata',
} as const satisfies Readonly<Record<SpendingDimension, keyof SpendingSum>>;

function spanMember(of: SpanDimension, value: unknown) {
  return [MEMBERS[of], MEMBERS[of] === 'start' ? new Date(Number(value) * HOUR_MS) : value];
}

function spenderMember(of: SpenderDimension, text: string) {
  const value = of === 'group' ? text.split('/').at(-2) : text;
  return [MEMBERS[of], (value ?? '') === '' ? null : value];
}

/** What is left of all usage, for each combination of the dimensions that are no spender's. */
function unnamedOf(
  named: readonly SpendingSum[],
  all: readonly UsageSum[],
  { spans, names }: Dimensions,
): readonly SpendingSum[] {
  const nameOf = (sum: SpendingSum | UsageSum) =>
    JSON.stringify(spans.map((of) => spanValueOf(sum, of)));
  const of = new Map<string, SpendingSum>();
  for (const { start, model, accountId, keyId, ...sum } of all) {
    const members = {
      ...(start === undefined ? {} : { start }),
      ...(model === undefined ? {} : { model }),
      ...(accountId === undefined ? {} : { accountId }),
      ...(keyId === undefined ? {} : { keyId }),
      ...(Object.fromEntries(names.map((each) => spenderMember(each, ''))) as Partial<SpendingSum>),
    };
    const { cacheCreation1hInputTokens: _part, ...usage } = sum.usage;
    of.set(nameOf({ ...members, ...sum }), {
      ...members,
      others: 0,
      requests: sum.requests,
      usage,
      charged: sum.listPrice - sum.writtenOff,
      writtenOff: sum.writtenOff,
      cost: sum.cost,
      costed: sum.costed,
    });
  }
  for (const sum of named) {
    const name = nameOf(sum);
    const left = of.get(name);
    if (left !== undefined) of.set(name, without(left, sum));
  }
  return [...of.values()].filter(({ requests }) => requests !== 0);
}

function without(sum: SpendingSum, part: SpendingSum): SpendingSum {
  return {
    ...sum,
    requests: sum.requests - part.requests,
    usage: {
      inputTokens: sum.usage.inputTokens - part.usage.inputTokens,
      outputTokens: sum.usage.outputTokens - part.usage.outputTokens,
      cacheReadInputTokens: sum.usage.cacheReadInputTokens - part.usage.cacheReadInputTokens,
      cacheCreationInputTokens:
        sum.usage.cacheCreationInputTokens - part.usage.cacheCreationInputTokens,
    },
    charged: sum.charged - part.charged,
    writtenOff: sum.writtenOff - part.writtenOff,
    cost: sum.cost - part.cost,
    costed: sum.costed - part.costed,
  };
}

function inOrder(
  sums: readonly SpendingSum[],
  { by, sort }: Pick<SpendingQuery, 'by' | 'sort'>,
): readonly SpendingSum[] {
  return sums.toSorted((a, b) => {
    if (a.others > 0 !== b.others > 0) return Number(a.others > 0) - Number(b.others > 0);
    if (sort !== undefined) {
      const [first, second] = [figureOf(a, sort), figureOf(b, sort)];
      if (first !== second) return first > second ? -1 : 1;
    }
    for (const dimension of by) {
      const order = compare(valueOf(a, dimension), valueOf(b, dimension));
      if (order !== 0) return order;
    }
    return 0;
  });
}

function compare(a: string | number | null, b: string | number | null): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return compareBytes(String(a ?? ''), String(b ?? ''));
}

function figureOf({ charged, requests, usage }: SpendingSum, figure: UsageFigure): bigint {
  switch (figure) {
    case 'charged':
      return charged;
    case 'requests':
      return BigInt(requests);
    case 'tokens':
      return Object.values(usage).reduce((sum, count) => sum + count, 0n);
  }
}

function valueOf(sum: SpendingSum, dimension: SpendingDimension): string | number | null {
  return isSpender(dimension) ? (sum[MEMBERS[dimension]] ?? null) : spanValueOf(sum, dimension);
}

function spanValueOf(
  sum: Pick<UsageSum, 'start' | 'model' | 'accountId' | 'keyId'>,
  dimension: SpanDimension,
): string | number | null {
  const value = sum[MEMBERS[dimension]];
  return value instanceof Date ? value.getTime() : (value ?? null);
}

/** The first hour with a charge that names its spender, in hours since 1970-01-01. */
export function namedSinceStatement(accountId: string | undefined): SpendingStatement {
  return accountId === undefined
    ? {
        sql:
          'SELECT min(first) AS hour FROM (SELECT (SELECT min(hour) FROM spender_hour h ' +
          'WHERE h.account_id = a.id) AS first FROM account a) firsts',
        values: [],
      }
    : {
        sql: 'SELECT min(hour) AS hour FROM spender_hour WHERE account_id = ?',
        values: [accountId],
      };
}
