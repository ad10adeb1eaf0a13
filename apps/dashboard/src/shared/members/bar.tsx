/** How much of a budget or a cap is used, as a bar. */

import { parseUsd, roundedUsd } from '../text/usd.js';

/** Of a bar: what is drawn is rounded to a thousandth. Browsers colour it by these shares. */
const FULL = 1_000;
const ALMOST = 800;
const HARDLY = 950;

export function Bar(props: {
  readonly name: string;
  readonly used: string;
  readonly amount: string;
}) {
  const { name, used, amount } = props;
  return (
    <meter
      min={0}
      low={ALMOST}
      high={HARDLY}
      max={FULL}
      optimum={0}
      value={partUsed(used, amount)}
      aria-label={name}
      aria-valuetext={`${roundedUsd(used)} of ${roundedUsd(amount)} used`}
    />
  );
}

function partUsed(used: string, amount: string): number {
  const [spent, most] = [parseUsd(used), parseUsd(amount)];
  return spent >= most ? FULL : Number((spent * BigInt(FULL)) / most);
}
