/**
 * The smallest units of currencies, in which providers count.
 *
 * https://docs.stripe.com/currencies
 */

const WITHOUT_DECIMALS = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ');
const WITH_THREE_DECIMALS = 'bhd jod kwd omr tnd'.split(' ');

/** How many decimals the smallest unit of a currency has: 2 for `usd`, where it is a cent. */
export function minorDigitsOf(currency: string): number {
  if (WITHOUT_DECIMALS.includes(currency)) return 0;
  return WITH_THREE_DECIMALS.includes(currency) ? 3 : 2;
}

/** An amount as decimal text: `18.5` for 1850 and `eur`. */
export function decimalOf(money: {
  readonly amountCents: number;
  readonly currency: string;
}): string {
  const digits = minorDigitsOf(money.currency);
  const text = String(Math.abs(money.amountCents)).padStart(digits + 1, '0');
  const [whole, part] = [text.slice(0, text.length - digits), text.slice(text.length - digits)];
  const decimals = part.replace(/0+$/, '');
  const sign = money.amountCents < 0 ? '-' : '';
  return `${sign}${whole}${decimals === '' ? '' : `.${decimals}`}`;
}
