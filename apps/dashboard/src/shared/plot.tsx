/**
 * Stacked bars by day as SVG, and the same figures as a table. Values are exact integers; only the
 * height of a bar is a rounded number.
 */

import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { TableFrame } from './parts.js';

export interface Series {
  readonly name: string;
  /** The class of its colour, such as `s3`. */
  readonly color: string;
  /** One value for each day. */
  readonly values: readonly bigint[];
}

export interface PlotProps {
  /** The name of the figures, such as `Spend per day`. */
  readonly title: string;
  /** Days in UTC, such as `2026-11-22`, the oldest first. */
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly show: (value: bigint) => ComponentChildren;
  /** The value as plain text, for the label at the top and the total of a day. */
  readonly text: (value: bigint) => string;
}

/** The height of the plot in its own units, which are stretched to the screen. */
const HEIGHT = 1_000;
const GAP = 0.14;

export function StackedBars(props: PlotProps) {
  const { title, days, series, show, text } = props;
  const [pointed, setPointed] = useState<number>();
  const totals = days.map((_, day) => totalOf(series, day));
  const highest = totals.reduce((most, total) => (total > most ? total : most), 0n);
  const first = days[0] ?? '';
  const last = days.at(-1) ?? '';
  const label = `${title}, ${first} to ${last}. The table below has the same figures.`;
  return (
    <figure class="plot">
      <div class="plot-frame">
        <span class="plot-top quiet">{text(highest)}</span>
        <svg
          role="img"
          aria-label={label}
          viewBox={`0 0 ${String(days.length)} ${String(HEIGHT)}`}
          preserveAspectRatio="none"
          onPointerLeave={() => {
            setPointed(undefined);
          }}
        >
          {days.map((day, index) => (
            <g
              key={day}
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
                  data-day={day}
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
            ? 'Days are in UTC. Point at a day for its figures.'
            : `${days[pointed] ?? ''}: ${text(totals[pointed] ?? 0n)} in all`}
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

/** Shows the newest day first, because people look for it first. Leaves out days without usage. */
export function FiguresTable({ title, days, series, show }: PlotProps) {
  const rows = days
    .map((day, index) => ({ day, index, total: totalOf(series, index) }))
    .filter(({ total }) => total !== 0n)
    .reverse();
  const sums = series.map(({ values }) => values.reduce((sum, value) => sum + value, 0n));
  return (
    <TableFrame label={`${title}, as a table`}>
      <table class="figures">
        <caption>{title}. Days are in UTC; days without usage are left out.</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
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
          {rows.map(({ day, index, total }) => (
            <tr key={day}>
              <th scope="row">{day}</th>
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
            <th scope="row">All days</th>
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
