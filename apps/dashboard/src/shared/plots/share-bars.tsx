/** A short list of bars, the longest first: what each part has of the whole. */

import type { ComponentChildren } from 'preact';
import { Empty } from '../controls/parts.js';

export interface Share {
  readonly name: string;
  readonly value: bigint;
  /** The class of its colour; absent: that of the first series. */
  readonly color: string | undefined;
  /** What the bar leads to. */
  readonly href: string | undefined;
  /** Whether the page shows only this part. */
  readonly isChosen: boolean;
}

/** The width of a bar in the units of its picture. */
const WIDTH = 1_000;

export function ShareBars(props: {
  readonly of: readonly Share[];
  /** How many are shown; the rest is one. */
  readonly most: number;
  readonly show: (value: bigint) => ComponentChildren;
}) {
  const { most, show } = props;
  const all = props.of
    .filter(({ value }) => value > 0n)
    .sort((a, b) => (a.value < b.value ? 1 : -1));
  const [first] = all;
  if (first === undefined) return <Empty>Nothing was used.</Empty>;
  const isMany = all.length > most;
  const shown = isMany ? all.slice(0, most - 1) : all;
  const rest = all.slice(shown.length);
  return (
    <ul class="shares">
      {shown.map((share) => (
        <li key={share.name}>
          <ShareRow of={share} longest={first.value} show={show} />
        </li>
      ))}
      {rest.length > 0 && (
        <li>
          <ShareRow
            of={{
              name: `${String(rest.length)} others`,
              value: rest.reduce((sum, { value }) => sum + value, 0n),
              color: 'others',
              href: undefined,
              isChosen: false,
            }}
            longest={first.value}
            show={show}
          />
        </li>
      )}
    </ul>
  );
}

function ShareRow(props: {
  readonly of: Share;
  readonly longest: bigint;
  readonly show: (value: bigint) => ComponentChildren;
}) {
  const { of, longest, show } = props;
  const { name, value, color = 's0', href, isChosen } = of;
  const part = Number((value * BigInt(WIDTH)) / longest);
  const content = (
    <>
      <span class="share-name">{name}</span>
      <span class="share-value">{show(value)}</span>
      <svg viewBox={`0 0 ${String(WIDTH)} 1`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="share-ground" width={WIDTH} height={1} />
        <rect class={color} width={Math.min(WIDTH, Math.max(4, part))} height={1} />
      </svg>
    </>
  );
  return href === undefined ? (
    <div class="share">{content}</div>
  ) : (
    <a class="share" href={href} aria-current={isChosen ? 'true' : undefined}>
      {content}
    </a>
  );
}
