/**
 * Stacked bars by day or another span of time as SVG, and the same figures as a table. Values are
 * exact integers; only the height of a bar is a rounded number. Arrow keys and a finger choose a
 * bar, whose figures are then shown.
 */

import { useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { TableFrame, capitalized } from './parts.js';
import { scaleOf } from './scale.js';

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

/** The height of the plot in its own units, which are stretched to the screen. */
const HEIGHT = 1_000;
const GAP = 0.14;
/** The height of one stripe and the space below it, in the same units. */
const STRIPES = 44;
/** About how many labels the axis of time has; a narrow window shows every second one. */
const LABELS = 8;

export function StackedBars(props: PlotProps) {
  const { title, spans, unit, series, show, text, tick = text, isLastOpen = false, href } = props;
  const [pointed, setPointed] = useState<number>();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const bars = useRef<SVGSVGElement>(null);
  const shown = series.filter(({ name }) => !hidden.has(name));
  const totals = spans.map((_, index) => totalOf(shown, index));
  const highest = totals.reduce((most, total) => (total > most ? total : most), 0n);
  const { step, top } = scaleOf(highest);
  const ticks = top === 0n ? [] : Array.from({ length: Number(top / step) + 1 }, (_, n) => n);
  const labels = spans.map(unit.label);
  const last = spans.length - 1;
  const current = pointed ?? last;
  const choose = (index: number) => {
    const next = Math.min(last, Math.max(0, index));
    setPointed(next);
    bars.current?.querySelectorAll<SVGElement>('.column')[next]?.focus();
  };
  const every = Math.max(1, Math.ceil(spans.length / LABELS));
  return (
    <figure class="plot">
      <div class="plot-frame">
        <div class="plot-values quiet" aria-hidden="true">
          {ticks.toReversed().map((n) => (
            <span key={n}>{tick(step * BigInt(n))}</span>
          ))}
        </div>
        <svg
          ref={bars}
          role="group"
          aria-label={`${title}, ${labels[0] ?? ''} to ${labels[last] ?? ''}`}
          viewBox={`0 0 ${String(spans.length)} ${String(HEIGHT)}`}
          preserveAspectRatio="none"
          onPointerLeave={({ pointerType }) => {
            if (pointerType === 'mouse') setPointed(undefined);
          }}
          onKeyDown={(event) => {
            const moves = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: last };
            if (!(event.key in moves)) return;
            event.preventDefault();
            choose(moves[event.key as keyof typeof moves]);
          }}
        >
          <defs>
            <pattern id="stripes" patternUnits="userSpaceOnUse" width={1} height={STRIPES}>
              <rect class="stripe-ground" width={1} height={STRIPES} />
              <rect class="stripe" width={1} height={STRIPES / 2} />
            </pattern>
          </defs>
          {ticks.map((n) => {
            const y = HEIGHT - heightOf(step * BigInt(n), top);
            return <line key={n} class="tick" x1={0} x2={spans.length} y1={y} y2={y} />;
          })}
          {spans.map((span, index) => (
            <Column
              key={span}
              label={`${labels[index] ?? ''}${isLastOpen && index === last ? ', so far' : ''}: ${text(totals[index] ?? 0n)}`}
              href={href?.(index)}
              isCurrent={index === current}
              state={`${pointed === index ? ' pointed' : ''}${isLastOpen && index === last ? ' open' : ''}`}
              onPoint={() => {
                setPointed(index);
              }}
            >
              <rect class="ground" x={index} y={0} width={1} height={HEIGHT} />
              {stacked(shown, index, top).map((bar) => (
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
            </Column>
          ))}
        </svg>
        <div class="plot-days quiet" aria-hidden="true">
          {spans.map((span, index) => {
            const place = last - index;
            return (
              <span key={span} class={(place / every) % 2 === 1 ? 'second' : undefined}>
                {place % every === 0 && (
                  <i>{isLastOpen && index === last ? 'now' : unit.tick(span)}</i>
                )}
              </span>
            );
          })}
        </div>
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
                  <a href={href(pointed)}>Its requests</a>
                </>
              )}
            </>
          )}
        </p>
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
                  setHidden((before) => {
                    const after = new Set(before);
                    if (!after.delete(name)) after.add(name);
                    return after;
                  });
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
      </figcaption>
    </figure>
  );
}

/**
 * One span. It is a link, if there is an address. A finger chooses it first, so that its figures
 * can be read, and opens it the second time.
 */
function Column(props: {
  readonly label: string;
  readonly href: string | undefined;
  readonly isCurrent: boolean;
  readonly state: string;
  readonly onPoint: () => void;
  readonly children: ComponentChildren;
}) {
  const { label, href, isCurrent, state, onPoint, children } = props;
  const wasChosen = useRef(false);
  const chosen = state.includes('pointed');
  const common = {
    class: `column${state}`,
    'aria-label': label,
    // In SVG, names of attributes are case-sensitive.
    tabindex: isCurrent ? 0 : -1,
    onPointerEnter: onPoint,
    onFocus: onPoint,
    onPointerDown: () => {
      wasChosen.current = chosen;
    },
  } as const;
  if (href === undefined) {
    return (
      <g role="img" {...common}>
        {children}
      </g>
    );
  }
  return (
    <a
      href={href}
      {...common}
      onClick={(event) => {
        const isTouch = event instanceof PointerEvent && event.pointerType !== 'mouse';
        if (isTouch && event.detail > 0 && !wasChosen.current) event.preventDefault();
      }}
    >
      {children}
    </a>
  );
}

interface Bar {
  readonly name: string;
  readonly color: string;
  readonly value: bigint;
  readonly bottom: number;
  readonly top: number;
}

function stacked(series: readonly Series[], day: number, top: bigint): readonly Bar[] {
  const bars: Bar[] = [];
  let sum = 0n;
  for (const { name, color, values } of series) {
    const value = values[day] ?? 0n;
    if (value <= 0n) continue;
    const bottom = heightOf(sum, top);
    sum += value;
    bars.push({ name, color, value, bottom, top: heightOf(sum, top) });
  }
  return bars;
}

const PRECISION = 100n;

function heightOf(sum: bigint, top: bigint): number {
  return Number((sum * BigInt(HEIGHT) * PRECISION) / top) / Number(PRECISION);
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
