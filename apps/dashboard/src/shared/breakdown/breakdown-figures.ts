/** The figures of usage: their sums, and the series that are plotted. */

import type { BreakdownChoice, Dimension, Measure } from './breakdown-choice.js';
import { DIMENSIONS, FROM_RECORD, LEDGER } from './breakdown-choice.js';
import { colorOf, nextColor } from '../plots/colors.js';
import type { Sent } from '../api/gateway-types.js';
import type { Series } from '../plots/plot-bars.js';
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
 * Whether the figures of the period before are known: those of a period that was not recorded are
 * absent, not zero. The ledger has the sums over all groups in any case.
 */
export function isKnownBefore(
  { by, measure, of }: Pick<ShownBreakdown, 'by' | 'measure' | 'of'>,
  what: 'group' | 'total',
): boolean {
  const inLedger = LEDGER.has(by) || (what === 'total' && by !== 'error');
  if (inLedger && !FROM_RECORD.has(measure)) return true;
  return of.recorded_from !== null && Date.parse(of.recorded_from) <= Date.parse(of.before.from);
}

/** @returns what is plotted: classes of tokens, mean durations or the groups */
export function plotted(props: ShownBreakdown): readonly Series[] {
  if (props.chosen === 'class') return classesOf(props.of);
  return props.measure === 'latency' ? [latencyOf(props.of)] : seriesOf(props);
}

export function valueOf(figures: Figures, measure: Measure): bigint {
  switch (measure) {
    case 'spend':
      return parseUsd(figures.charged_usd);
    case 'tokens':
      return CLASSES.reduce((sum, [, member]) => sum + BigInt(figures[member]), 0n);
    case 'requests':
      return BigInt(figures.charges);
    case 'errors':
      return BigInt(figures.failed);
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
  const series = own.map(({ group, values }) => ({
    name: groupName(props, group),
    color: colors.get(group) ?? 'others',
    values,
  }));
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
 * A model has its own colour everywhere. Of accounts, keys and the like there are more than
 * colours, so that a group takes the next one if another group of the plot has it.
 */
export function colorsOf({
  of,
  by,
}: Pick<ShownBreakdown, 'of' | 'by'>): ReadonlyMap<Group, string> {
  const colors = new Map<Group, string>();
  const taken = new Set<string>();
  for (const group of of.groups.slice(0, MAX_SERIES)) {
    if (group.others > 0) continue;
    let color = colorOf(group.value ?? '');
    while (by !== 'model' && taken.has(color)) color = nextColor(color);
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
  return nameOf?.(by, group.value) ?? group.value;
}
