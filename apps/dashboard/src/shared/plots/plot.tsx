/**
 * Stacked bars by day or another span of time, and the same figures as a table. Values are exact
 * integers; only the height of a bar is a rounded number. The figures of the chosen bar are shown.
 */

import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { TableFrame } from '../controls/parts.js';
import { capitalized } from '../text/capitalized.js';
import { Bars } from './plot-bars.js';
import type { Series } from './plot-bars.js';
import { scaleOf } from './scale.js';

export interface PlotProps {
  /** The name of the figures, such as `Spend per day`. */
  readonly title: string;
  /** What each bar stands for, such as the time at which its day begins, the oldest first. */
  readonly spans: readonly string[];
  readonly unit: Unit;
  readonly series: readonly Series[];
  readonly show: (value: bigint) => ComponentChildren;
  /** The value as plain text, for the total of a span. */
  readonly text: (value: bigint) => string;
  /** A round value, for the axis. */
  readonly tick?: (value: bigint) => string;
  /** Whether the last span is not over yet. */
  readonly isLastOpen?: boolean;
  /** The address of what a bar counts. */
  readonly href?: (span: number) => string;
  /** What the link says that leads there. */
  readonly leads?: (span: number) => string;
  /** The span that the page is filtered by. */
  readonly chosen?: number | undefined;
}

/** How texts speak of the spans. */
export interface Unit {
  /** Such as `day`. */
  readonly one: string;
  /** Such as `Days are in UTC`. */
  readonly zone: string;
  readonly label: (span: string) => string;
  /** The short form of a label, for the axis. */
  readonly tick: (span: string) => string;
}

/** About how many labels the axis of time has; a narrow window shows every second one. */
const LABELS = 8;

export function StackedBars(props: PlotProps) {
  const {
    title,
    spans,
    unit,
    series,
    show,
    text,
    tick = text,
    isLastOpen = false,
    href,
    chosen,
  } = props;
  const leads = props.leads ?? (() => 'Its requests');
  const [pointed, setPointed] = useState<number>();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const toggle = (name: string) => {
    setHidden((before) => {
      const after = new Set(before);
      if (!after.delete(name)) after.add(name);
      return after;
    });
  };
  const shown = series.filter(({ name }) => !hidden.has(name));
  const totals = spans.map((_, index) => totalOf(shown, index));
  const highest = totals.reduce((most, total) => (total > most ? total : most), 0n);
  const { step, top } = scaleOf(highest);
  const count = top === 0n ? 0 : Number(top / step) + 1;
  const ticks = Array.from({ length: count }, (_, n) => step * BigInt(n));
  const labels = spans.map(unit.label);
  const last = spans.length - 1;
  const captions = labels.map((label, index) => {
    const open = isLastOpen && index === last ? ', so far' : '';
    return `${label}${open}: ${text(totals[index] ?? 0n)}`;
  });
  return (
    <figure class="plot">
      <div class="plot-frame">
        <ValueAxis ticks={ticks.map(tick)} />
        <Bars
          label={`${title}, ${labels[0] ?? ''} to ${labels[last] ?? ''}`}
          spans={spans}
          series={shown}
          ticks={ticks}
          top={top}
          captions={captions}
          isLastOpen={isLastOpen}
          href={href}
          pointed={pointed}
          chosen={chosen}
          point={setPointed}
        />
        {pointed !== undefined && (
          <Tip
            title={labels[pointed] ?? ''}
            total={text(totals[pointed] ?? 0n)}
            parts={partsOf(shown, pointed)}
            text={text}
            place={{ span: pointed, of: spans.length }}
          />
        )}
        <TimeAxis spans={spans} tick={unit.tick} isLastOpen={isLastOpen} />
      </div>
      <figcaption>
        <p class="plot-note" aria-live="polite">
          {pointed === undefined ? (
            <span class="quiet">
              {unit.zone}. {isLastOpen && `The last ${unit.one} is not over. `}
              Point at a {unit.one}, or choose one by arrow keys, for its figures.
            </span>
          ) : (
            <>
              <strong>{labels[pointed] ?? ''}</strong>
              {isLastOpen && pointed === last && ', so far'}: {text(totals[pointed] ?? 0n)} in all
              {href !== undefined && (
                <>
                  {' · '}
                  <a href={href(pointed)}>{leads(pointed)}</a>
                </>
              )}
            </>
          )}
        </p>
        <Legend series={series} hidden={hidden} toggle={toggle} pointed={pointed} show={show} />
      </figcaption>
    </figure>
  );
}

/** So many parts are named at the pointer; the legend names all. */
const MOST_PARTS = 6;

function partsOf(series: readonly Series[], span: number) {
  return series
    .map(({ name, color, values }) => ({ name, color, value: values[span] ?? 0n }))
    .filter(({ value }) => value > 0n)
    .sort((a, b) => (a.value < b.value ? 1 : -1));
}

/** The figures of a span beside it. The note below the plot says them to screen readers. */
function Tip(props: {
  readonly title: string;
  readonly total: string;
  readonly parts: ReturnType<typeof partsOf>;
  readonly text: (value: bigint) => string;
  readonly place: { readonly span: number; readonly of: number };
}) {
  const { title, total, parts, text, place } = props;
  const { span, of } = place;
  const percent = (part: number) => `${String((100 * part) / of)}%`;
  // On the side that has more room, so that it never covers its span.
  const side = span * 2 < of ? { left: percent(span + 1) } : { right: percent(of - span) };
  return (
    <div class="tip-frame" aria-hidden="true">
      <div class="tip" style={side}>
        <p>
          <strong>{title}</strong>
        </p>
        <p class="tip-part">
          <span>All</span> <strong>{total}</strong>
        </p>
        {parts.slice(0, MOST_PARTS).map(({ name, color, value }) => (
          <p key={name} class="tip-part">
            <span>
              <i class={`swatch ${color}`} />
              {name}
            </span>{' '}
            {text(value)}
          </p>
        ))}
        {parts.length > MOST_PARTS && <p>and {parts.length - MOST_PARTS} more</p>}
      </div>
    </div>
  );
}

function ValueAxis({ ticks }: { readonly ticks: readonly string[] }) {
  return (
    <div class="plot-values quiet" aria-hidden="true">
      {ticks.toReversed().map((tick, index) => (
        <span key={index}>{tick}</span>
      ))}
    </div>
  );
}

function TimeAxis(props: {
  readonly spans: readonly string[];
  readonly tick: (span: string) => string;
  readonly isLastOpen: boolean;
}) {
  const { spans, tick, isLastOpen } = props;
  const last = spans.length - 1;
  const every = Math.max(1, Math.ceil(spans.length / LABELS));
  return (
    <div class="plot-days quiet" aria-hidden="true">
      {spans.map((span, index) => {
        const place = last - index;
        return (
          <span key={span} class={(place / every) % 2 === 1 ? 'second' : undefined}>
            {place % every === 0 && <i>{isLastOpen && index === last ? 'now' : tick(span)}</i>}
          </span>
        );
      })}
    </div>
  );
}

/** The names of the series, each a button that hides it, and what they count. */
function Legend(props: {
  readonly series: readonly Series[];
  readonly hidden: ReadonlySet<string>;
  readonly toggle: (name: string) => void;
  /** The span whose values are shown; `undefined`: the sums of all spans. */
  readonly pointed: number | undefined;
  readonly show: PlotProps['show'];
}) {
  const { series, hidden, toggle, pointed, show } = props;
  return (
    <ul class="legend">
      {series.map(({ name, color, values }) => (
        <li key={name}>
          <button
            type="button"
            class="legend-item"
            aria-pressed={!hidden.has(name)}
            aria-label={`${name} in the plot`}
            title={hidden.has(name) ? `Show ${name}` : `Hide ${name}`}
            onClick={() => {
              toggle(name);
            }}
          >
            <i class={`swatch ${color}`} />
            <span class="legend-name">{name}</span>
          </button>{' '}
          <span class="quiet">
            {show(
              pointed === undefined
                ? values.reduce((sum, value) => sum + value, 0n)
                : (values[pointed] ?? 0n),
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function totalOf(series: readonly Series[], day: number): bigint {
  return series.reduce((sum, { values }) => sum + (values[day] ?? 0n), 0n);
}

/** Shows the newest first, because people look for it first. Leaves out spans without a value. */
export function FiguresTable({ title, spans, unit, series, show }: PlotProps) {
  const rows = spans
    .map((span, index) => ({ span, index, total: totalOf(series, index) }))
    .filter(({ total }) => total !== 0n)
    .reverse();
  const sums = series.map(({ values }) => values.reduce((sum, value) => sum + value, 0n));
  return (
    <TableFrame label={`${title}, as a table`}>
      <table class="figures">
        <caption>
          {title}. {unit.zone}; {unit.one}s without any are left out.
        </caption>
        <thead>
          <tr>
            <th scope="col">{capitalized(unit.one)}</th>
            <th scope="col" class="n">
              All
            </th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="n">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ span, index, total }) => (
            <tr key={span}>
              <th scope="row">{unit.label(span)}</th>
              <td class="n">{show(total)}</td>
              {series.map(({ name, values }) => (
                <td key={name} class="n">
                  {show(values[index] ?? 0n)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">All {unit.one}s</th>
            <td class="n">{show(sums.reduce((all, sum) => all + sum, 0n))}</td>
            {sums.map((sum, index) => (
              <td key={series[index]?.name} class="n">
                {show(sum)}
              </td>
            ))}
          </tr>
        </tfoot>
      </table>
    </TableFrame>
  );
}
