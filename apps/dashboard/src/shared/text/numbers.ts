/**
 * How numbers are written and read: in the language of the browser, everywhere on the page. Counts,
 * amounts and rates then have the same signs, and none of them separates both thousands and
 * decimals.
 */

export interface NumberStyle {
  /** For `Intl`. Digits are those from 0 to 9, because amounts are put together from digits. */
  readonly locale: string;
  /** Between groups of digits, such as `,` in English and `.` in German. */
  readonly group: string;
  readonly decimal: string;
  /** Such as `1,234`. */
  readonly whole: (of: number | bigint) => string;
}

/** @param locale - By default, that of the browser. */
export function numberStyle(locale?: string): NumberStyle {
  const { locale: of } = new Intl.NumberFormat(locale).resolvedOptions();
  const digits = new Intl.Locale(of, { numberingSystem: 'latn' }).toString();
  const format = new Intl.NumberFormat(digits);
  const signs = new Map(
    new Intl.NumberFormat(digits, { useGrouping: true })
      .formatToParts(1_234_567.5)
      .map(({ type, value }) => [type, value]),
  );
  return {
    locale: digits,
    group: signs.get('group') ?? ',',
    decimal: signs.get('decimal') ?? '.',
    whole: (number) => format.format(number),
  };
}

export const OWN_STYLE = numberStyle();
export const LOCALE = OWN_STYLE.locale;

/** A decimal such as `-1234.5` as people write it: `−1,234.5`. No digit is lost. */
export function decimalText(text: string, style = OWN_STYLE): string {
  const [whole = '0', fraction] = text.replace('-', '').split('.');
  const sign = text.startsWith('-') ? '−' : '';
  const decimals = fraction === undefined ? '' : style.decimal + fraction;
  return sign + style.whole(BigInt(whole)) + decimals;
}

/** The same without separators between thousands, for a field. */
export function typedText(text: string, style = OWN_STYLE): string {
  return text.replace('.', style.decimal);
}

/**
 * Reads a decimal that a person typed. Separators of thousands may be left out, but must stand
 * between groups of three digits, so that a decimal sign of another language is not taken for one.
 *
 * @returns it with a point, or `undefined` if it is not a number in this language
 */
export function readDecimal(text: string, style = OWN_STYLE): string | undefined {
  const typed = text.trim().replaceAll(/[−]/g, '-');
  const [, sign = '', whole = '', fraction] = splitter(style).exec(typed) ?? [];
  const groups = whole.split(separatorOf(style));
  const [first = '', ...others] = groups;
  const isGrouped = /^[1-9]\d{0,2}$/.test(first) && others.every((group) => /^\d{3}$/.test(group));
  if (others.length === 0 ? !/^\d+$/.test(first) : !isGrouped) return undefined;
  return sign + groups.join('') + (fraction === undefined ? '' : `.${fraction}`);
}

function splitter({ decimal }: NumberStyle): RegExp {
  return new RegExp(`^(-?)([^-]*?)(?:${escaped(decimal)}(\\d+))?$`);
}

/** People type a space or an apostrophe of their keyboard, which `Intl` does not write. */
function separatorOf({ group }: NumberStyle): RegExp {
  if (/\s/.test(group)) return /\s/;
  return /['’]/.test(group) ? /['’]/ : new RegExp(escaped(group));
}

function escaped(sign: string): string {
  return sign.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
