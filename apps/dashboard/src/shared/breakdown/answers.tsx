/** Answers of the first screen: figures that lead to the rows behind them. */

import type { ComponentChildren } from 'preact';
import { Change } from './breakdown-values.js';
import { Headline, Money } from '../controls/parts.js';
import { to } from '../api/router.js';
import { DAY_MS, utcDay } from '../text/times.js';
import { parseUsd } from '../text/usd.js';

/** A figure that is a link. */
export function Answer(props: {
  readonly name: string;
  /** Where the rows behind it are. */
  readonly href: string | undefined;
  readonly children: ComponentChildren;
  readonly note?: ComponentChildren;
}) {
  const { name, href, children, note } = props;
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        <Headline.Provider value={true}>
          {href === undefined ? children : <a href={href}>{children}</a>}
          {note !== undefined && <span class="when">{note}</span>}
        </Headline.Provider>
      </dd>
    </div>
  );
}

/** What was spent in days in UTC, beside an earlier amount. */
export function Spent(props: {
  readonly name: string;
  readonly usd: string;
  /** Milliseconds since the epoch; the days from the first to the last. */
  readonly days: readonly [from: number, until: number];
  readonly before?: { readonly usd: string; readonly what: string };
}) {
  const { name, usd, days, before } = props;
  const [from, until] = days;
  return (
    <Answer
      name={name}
      href={usageOf(from, until)}
      note={
        before && (
          <>
            <Change from={parseUsd(before.usd)} to={parseUsd(usd)} /> {before.what}:{' '}
            <Money usd={before.usd} />
          </>
        )
      }
    >
      <Money usd={usd} />
    </Answer>
  );
}

/** @param until - Not included. */
function usageOf(from: number, until: number) {
  return to(['usage'], { range: 'own', from: utcDay(from), until: utcDay(until - DAY_MS) });
}
