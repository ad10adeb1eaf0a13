/** A figure of usage as it is shown. */

import type { Measure } from './breakdown-choice.js';
import { Count, Money } from '../controls/parts.js';
import { durationText } from '../text/times.js';
import { formatUsd, roundedUsd } from '../text/usd.js';
import { LOCALE, decimalText } from '../text/numbers.js';

export const counts = new Intl.NumberFormat(LOCALE);
const short = new Intl.NumberFormat(LOCALE, { notation: 'compact' });

export function Value({ of, measure }: { readonly of: bigint; readonly measure: Measure }) {
  if (measure === 'spend') return <Money usd={formatUsd(of)} />;
  return measure === 'latency' ? <Took of={of} /> : <Count of={of} />;
}

function Took({ of }: { readonly of: bigint }) {
  return <data value={of.toString()}>{durationText(Number(of))}</data>;
}

export function valueText(of: bigint, measure: Measure): string {
  if (measure === 'spend') return roundedUsd(formatUsd(of));
  return measure === 'latency' ? durationText(Number(of)) : counts.format(of);
}

/** A round value, for the axis. */
export function tickText(of: bigint, measure: Measure): string {
  if (measure === 'spend') return valueText(of, measure).replace(/[^\d]00$/, '');
  return measure === 'latency'
    ? valueText(of, measure).replace(/[^\d]0+(?= )/, '')
    : short.format(of);
}

/** In percent of the earlier value; `unknown`: why there is none. */
export function Change(props: {
  readonly from: bigint;
  readonly to: bigint;
  readonly unknown?: string | undefined;
}) {
  const { from, to, unknown } = props;
  if (unknown !== undefined) return <span class="quiet">{unknown}</span>;
  if (from === 0n) return <span class="quiet">{to === 0n ? 'as before' : 'nothing before'}</span>;
  const percent = Number(((to - from) * 1000n) / from) / 10;
  const text = Math.abs(percent) >= 10 ? percent.toFixed(0) : percent.toFixed(1);
  return (
    <span class="delta">
      {percent > 0 ? '+' : ''}
      {decimalText(text)} %
    </span>
  );
}
