/** The figures of usage: their sums, and the series that are plotted. */

import type { BreakdownChoice, Dimension, Measure } from './breakdown-choice.js';
import { DIMENSIONS, FROM_RECORD, LEDGER, SPENT_BY } from './breakdown-choice.js';
import { colorOf, nextColor } from '../plots/colors.js';
import type { Sent } from '../api/gateway-types.js';
import type { Series } from '../plots/plot-bars.js';
import { dateText } from '../text/times.js';
import { parseUsd } from '../text/usd.js';

export type Breakdown = Sent<'breakdown'>;
export type Group = Breakdown['groups'][number];
export type Figures = Breakdown['total'] & {
  readonly cost_usd?: string | undefined;
  readonly margin_usd?: string | undefined;
};

/** The name of a group, such as that of a key, by its id. */
export type NameOf = (dimension: Dimension, value: string) => string | undefined;

/** A breakdown that has arrived, and how it is shown. */
export interface ShownBreakdown extends Pick<
  BreakdownChoice,
  'by' | 'chosen' | 'measure' | 'range'
> {
  readonly dimensions: readonly Dimension[];
  readonly of: Breakdown;
  readonly nameOf: NameOf | undefined;
  /** What the list of requests is filtered by in any case. */
  readonly filters?: Readonly<Record<string, string>> | undefined;
}

/**
 * Why there is no figure of the period before to compare with: one of a time that was not recorded
 * is absent, not zero. The ledger has the sums over all groups in any case.
 */
export function whyUnknownBefore(
  { by, measure, of }: Pick<ShownBreakdown, 'by' | 'measure' | 'of'>,
  what: 'group' | 'total',
): string | undefined {
  const inLedger = LEDGER.has(by) || (what === 'total' && by !== 'error');
  const isNamed = SPENT_BY.has(by) && what === 'group';
  if (inLedger && !isNamed && !FROM_RECORD.has(measure)) return undefined;
  const since = isNamed ? of.named_from : of.recorded_from;
  if (since === null) return 'not recorded';
  if (Date.parse(since) > Date.parse(of.before.from)) {
    return `not recorded before ${dateText(since)}`;
  }
  if (isNamed) return undefined;
  const { total, before } = of.not_recorded ?? {};
  return lacks(total, of.total) || lacks(before, of.total_before) ? 'not all recorded' : undefined;
}

type Spent = Pick<Figures, 'charged_usd' | 'charges' | (typeof CLASSES)[number][1]>;

/** Whether more than a hundredth is in no group. */
function lacks(rest: Spent | undefined, { charged_usd }: Spent): boolean {
  const usd = parseUsd(rest?.charged_usd ?? '0');
  return (usd < 0n ? -usd : usd) * 100n > parseUsd(charged_usd);
}

/** What the ledger has, but no group, because the record lacks it. */
export function notRecorded({
  by,
  measure,
  of,
}: Pick<ShownBreakdown, 'by' | 'measure' | 'of'>): Breakdown['not_recorded'] {
  return LEDGER.has(by) || FROM_RECORD.has(measure) ? null : of.not_recorded;
}

/** @returns what is plotted: classes of tokens, mean durations or the groups */
export function plotted(props: ShownBreakdown): readonly Series[] {
  if (props.chosen === 'class') return classesOf(props.of);
  return props.measure === 'latency' ? [latencyOf(props.of)] : seriesOf(props);
}

/** The rest that no group has is neither failed nor timed. */
export function valueOf(figures: Spent & Partial<Figures>, measure: Measure): bigint {
  switch (measure) {
    case 'spend':
      return parseUsd(figures.charged_usd);
    case 'tokens':
      return CLASSES.reduce((sum, [, member]) => sum + BigInt(figures[member]), 0n);
    case 'requests':
      return BigInt(figures.charges);
    case 'errors':
      return BigInt(figures.failed ?? 0);
    case 'latency':
      return BigInt(figures.mean_duration_ms ?? 0);
  }
}

const CLASSES = [
  ['input', 'input_tokens'],
  ['output', 'output_tokens'],
  ['cache read', 'cache_read_input_tokens'],
  ['cache write', 'cache_creation_input_tokens'],
] as const;

function classesOf({ groups, starts }: Breakdown): readonly Series[] {
  return CLASSES.map(([name, member], index) => ({
    name,
    color: `s${String(index)}`,
    values: starts.map((_, span) =>
      groups.reduce((sum, { spans }) => sum + BigInt(spans[span]?.[member] ?? 0), 0n),
    ),
  }));
}

/** The mean over all groups: those of the groups, each as often as it has requests. */
function latencyOf({ groups, starts }: Breakdown): Series {
  const values = starts.map((_, span) => {
    let [requests, ms] = [0, 0];
    for (const { spans } of groups) {
      const figures = spans[span];
      requests += figures?.requests ?? 0;
      ms += (figures?.mean_duration_ms ?? 0) * (figures?.requests ?? 0);
    }
    return requests === 0 ? 0n : BigInt(Math.round(ms / requests));
  });
  return { name: 'Mean duration', color: 's0', values };
}

/** The number of bars that can be told apart. If there are more groups, the rest share one. */
const MAX_SERIES = 8;

function seriesOf(props: ShownBreakdown): readonly Series[] {
  const { of, measure } = props;
  const all = of.groups
    .map((group) => ({
      group,
      values: group.spans.map((span) => (span === null ? 0n : valueOf(span, measure))),
    }))
    .filter(({ values }) => values.some((value) => value > 0n));
  const isMany = all.length > MAX_SERIES;
  const own = isMany ? all.slice(0, MAX_SERIES - 1) : all;
  const colors = colorsOf(props);
  const rest = notRecorded(props)?.spans.map((span) => {
    const value = span === null ? 0n : valueOf(span, measure);
    return value > 0n ? value : 0n;
  });
  const series = [
    ...(rest?.some((value) => value > 0n)
      ? [{ name: 'not recorded', color: 'unrecorded', values: rest }]
      : []),
    ...own.map(({ group, values }) => ({
      name: groupName(props, group),
      color: colors.get(group) ?? 'others',
      values,
    })),
  ];
  if (!isMany) return series;
  const others = all.slice(MAX_SERIES - 1);
  const count = others.reduce((sum, { group }) => sum + Math.max(1, group.others), 0);
  return [
    ...series,
    {
      name: `${String(count)} others`,
      color: 'others',
      values: of.starts.map((_, span) =>
        others.reduce((sum, { values }) => sum + (values[span] ?? 0n), 0n),
      ),
    },
  ];
}

/**
 * A name has the same colour everywhere. There are more names than colours, so that a group takes
 * the next one if a larger group of the plot has it.
 */
export function colorsOf({ of }: Pick<ShownBreakdown, 'of'>): ReadonlyMap<Group, string> {
  const colors = new Map<Group, string>();
  const taken = new Set<string>();
  for (const group of of.groups.slice(0, MAX_SERIES)) {
    if (group.others > 0) continue;
    let color = colorOf(group.value ?? '');
    while (taken.has(color)) color = nextColor(color);
    taken.add(color);
    colors.set(group, color);
  }
  return colors;
}

export function groupName(
  { by, nameOf }: Pick<ShownBreakdown, 'by' | 'nameOf'>,
  group: Group,
): string {
  if (group.others > 0) return `${String(group.others)} others`;
  if (group.value === null) return DIMENSIONS[by].none;
  return nameOf?.(by, group.value) ?? group.name ?? group.value;
}
