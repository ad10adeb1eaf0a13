/** The bars of a plot as SVG. Arrow keys and a finger choose a bar. */

import { useRef } from 'preact/hooks';
import type { ComponentChildren } from 'preact';

export interface Series {
  readonly name: string;
  /** The class of its colour, such as `s3`. Bars of `failed` have stripes. */
  readonly color: string;
  /** One value for each span. */
  readonly values: readonly bigint[];
}

/** The height of the plot in its own units, which are stretched to the screen. */
const HEIGHT = 1_000;
const GAP = 0.14;
/** The height of one stripe and the space below it, in the same units. */
const STRIPES = 44;
interface BarsProps {
  /** Says what the bars are, for screen readers. */
  readonly label: string;
  readonly spans: readonly string[];
  readonly series: readonly Series[];
  /** The values of the lines behind the bars. */
  readonly ticks: readonly bigint[];
  /** The value at the upper edge. */
  readonly top: bigint;
  /** Each bar in words. */
  readonly captions: readonly string[];
  readonly isLastOpen: boolean;
  readonly href: ((span: number) => string) | undefined;
  readonly pointed: number | undefined;
  /** The span that the page is filtered by; all others are pale. */
  readonly chosen: number | undefined;
  readonly point: (span: number | undefined) => void;
}

export function Bars(props: BarsProps) {
  const { spans, series, ticks, top, captions, isLastOpen, href, pointed, chosen, point } = props;
  const bars = useRef<SVGSVGElement>(null);
  const last = spans.length - 1;
  const current = pointed ?? last;
  const choose = (index: number) => {
    const next = Math.min(last, Math.max(0, index));
    point(next);
    bars.current?.querySelectorAll<SVGElement>('.column')[next]?.focus();
  };
  return (
    <svg
      ref={bars}
      role="group"
      aria-label={props.label}
      viewBox={`0 0 ${String(spans.length)} ${String(HEIGHT)}`}
      preserveAspectRatio="none"
      onPointerLeave={({ pointerType }) => {
        if (pointerType === 'mouse') point(undefined);
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
      {ticks.map((value, n) => {
        const y = HEIGHT - heightOf(value, top);
        return <line key={n} class="tick" x1={0} x2={spans.length} y1={y} y2={y} />;
      })}
      {spans.map((span, index) => (
        <Column
          key={span}
          label={captions[index] ?? ''}
          href={href?.(index)}
          isCurrent={index === current}
          state={[
            pointed === index ? ' pointed' : '',
            isLastOpen && index === last ? ' open' : '',
            chosen !== undefined && chosen !== index ? ' pale' : '',
          ].join('')}
          onPoint={() => {
            point(index);
          }}
        >
          <rect class="ground" x={index} y={0} width={1} height={HEIGHT} />
          {stacked(series, index, top).map((bar) => (
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
    // A finger enters before it presses, and the page may be drawn between the two.
    onPointerEnter: () => {
      wasChosen.current = chosen;
      onPoint();
    },
    onFocus: onPoint,
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
