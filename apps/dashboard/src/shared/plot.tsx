/**
 * Stacked bars by day or another span of time as SVG, and the same figures as a table. Values are
 * exact integers; only the height of a bar is a rounded number.
 */

import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { TableFrame, capitalized } from './parts.js';

export interface Series {
  readonly name: string;
  /** The class of its colour, such as `s3`. Bars of `failed` have stripes. */
  readonly color: string;
  /** One value for each span. */
  readonly values: readonly bigint[];
}

export interface PlotProps {
  /** The name of the figures, such as `Spend per day`. */
  readonly title: string;
  /** What each bar stands for, such as the day `2026-11-22`, the oldest first. */
  readonly spans: readonly string[];
  /** Days in UTC if it is absent. */
  readonly unit?: Unit;
  readonly series: readonly Series[];
  readonly show: (value: bigint) => ComponentChildren;
  /** The value as plain text, for the label at the top and the total of a span. */
  readonly text: (value: bigint) => string;
}

/** How texts speak of the spans. */
export interface Unit {
  /** Such as `day`. */
  readonly one: string;
  /** Such as `Days are in UTC`. */
  readonly zone: string;
  readonly label: (span: string) => string;
}

const DAYS: Unit = { one: 'day', zone: 'Days are in UTC', label: (day) => day };

/** The height of the plot in its own units, which are stretched to the screen. */
const HEIGHT = 1_000;
const GAP = 0.14;
/** The height of one stripe and the space below it, in the same units. */
const STRIPES = 44;

export function StackedBars(props: PlotProps) {
  const { title, spans, unit = DAYS, series, show, text } = props;
  const [pointed, setPointed] = useState<number>();
  const totals = spans.map((_, index) => totalOf(series, index));
  const highest = totals.reduce((most, total) => (total > most ? total : most), 0n);
  const labels = spans.map(unit.label);
  const first = labels[0] ?? '';
  const last = labels.at(-1) ?? '';
  const label = `${title}, ${first} to ${last}. The table below has the same figures.`;
  return (
    <figure class="plot">
      <div class="plot-frame">
        <span class="plot-top quiet">{text(highest)}</span>
        <svg
          role="img"
          aria-label={label}
          viewBox={`0 0 ${String(spans.length)} ${String(HEIGHT)}`}
          preserveAspectRatio="none"
          onPointerLeave={() => {
            setPointed(undefined);
          }}
        >
          <defs>
            <pattern id="stripes" patternUnits="userSpaceOnUse" width={1} height={STRIPES}>
              <rect class="stripe-ground" width={1} height={STRIPES} />
              <rect class="stripe" width={1} height={STRIPES / 2} />
            </pattern>
          </defs>
          {spans.map((span, index) => (
            <g
              key={span}
              class={pointed === index ? 'pointed' : undefined}
              onPointerEnter={() => {
                setPointed(index);
              }}
            >
              <rect class="ground" x={index} y={0} width={1} height={HEIGHT} />
              {stacked(series, index, highest).map((bar) => (
                <rect
                  key={bar.name}
                  class={`bar ${bar.color}`}
                  fill={bar.color === 'failed' ? 'url(#stripes)' : undefined}
                  data-span={span}
                  data-series={bar.name}
                  data-value={bar.value.toString()}
                  x={index + GAP / 2}
                  y={HEIGHT - bar.top}
                  width={1 - GAP}
                  height={bar.top - bar.bottom}
                />
              ))}
            </g>
          ))}
        </svg>
        <div class="plot-days quiet" aria-hidden="true">
          <span>{first}</span>
          <span>{last}</span>
        </div>
      </div>
      <figcaption>
        <ul class="legend">
          {series.map(({ name, color, values }) => (
            <li key={name}>
              <i class={`swatch ${color}`} />
              <span class="legend-name">{name}</span>{' '}
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
        <p class="quiet plot-note">
          {pointed === undefined
            ? `${unit.zone}. Point at a ${unit.one} for its figures.`
            : `${labels[pointed] ?? ''}: ${text(totals[pointed] ?? 0n)} in all`}
        </p>
      </figcaption>
    </figure>
  );
}

interface Bar {
  readonly name: string;
  readonly color: string;
  readonly value: bigint;
  readonly bottom: number;
  readonly top: number;
}

function stacked(series: readonly Series[], day: number, highest: bigint): readonly Bar[] {
  const bars: Bar[] = [];
  let sum = 0n;
  for (const { name, color, values } of series) {
    const value = values[day] ?? 0n;
    if (value <= 0n) continue;
    const bottom = heightOf(sum, highest);
    sum += value;
    bars.push({ name, color, value, bottom, top: heightOf(sum, highest) });
  }
  return bars;
}

const PRECISION = 100n;

function heightOf(sum: bigint, highest: bigint): number {
  return Number((sum * BigInt(HEIGHT) * PRECISION) / highest) / Number(PRECISION);
}

function totalOf(series: readonly Series[], day: number): bigint {
  return series.reduce((sum, { values }) => sum + (values[day] ?? 0n), 0n);
}

/** Shows the newest first, because people look for it first. Leaves out spans without a value. */
export function FiguresTable({ title, spans, unit = DAYS, series, show }: PlotProps) {
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
            {series.map(({ name }) => (
              <th key={name} scope="col" class="n">
                {name}
              </th>
            ))}
            <th scope="col" class="n">
              All
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ span, index, total }) => (
            <tr key={span}>
              <th scope="row">{unit.label(span)}</th>
              {series.map(({ name, values }) => (
                <td key={name} class="n">
                  {show(values[index] ?? 0n)}
                </td>
              ))}
              <td class="n">{show(total)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">All {unit.one}s</th>
            {sums.map((sum, index) => (
              <td key={series[index]?.name} class="n">
                {show(sum)}
              </td>
            ))}
            <td class="n">{show(sums.reduce((all, sum) => all + sum, 0n))}</td>
          </tr>
        </tfoot>
      </table>
    </TableFrame>
  );
}
