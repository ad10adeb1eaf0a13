/** The ways in which JSON allows one value to be written. */

/** An object whose members may be repeated. Plain objects and lists may be inside. */
export class Members {
  readonly list: readonly (readonly [name: string, value: unknown])[];
  constructor(list: readonly (readonly [name: string, value: unknown])[]) {
    this.list = list;
  }
}

export interface Style {
  readonly name?: (name: string) => string;
  readonly text?: (text: string) => string;
  readonly number?: (value: number) => string;
  /** Between any two tokens. */
  readonly blank?: string;
}

const quote = (text: string): string => JSON.stringify(text);
const hex = (unit: number): string => unit.toString(16).padStart(4, '0');
const units = (text: string): number[] =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));

/** Each UTF-16 code unit as an escape. */
export const escaped = (text: string): string =>
  `"${units(text)
    .map((unit) => `\\u${hex(unit)}`)
    .join('')}"`;
const inCapitals = (text: string): string =>
  `"${units(text)
    .map((unit) => `\\u${hex(unit).toUpperCase()}`)
    .join('')}"`;
const firstEscaped = (text: string): string =>
  text === '' ? '""' : `"\\u${hex(text.charCodeAt(0))}${quote(text.slice(1)).slice(1)}`;
/** Writes the digits of a plain integer in another way. */
const digitsWith =
  (more: string) =>
  (value: number): string => {
    const text = String(value);
    return /^-?[1-9]\d*$/.test(text) ? text + more : text;
  };
const withZeros = (zeros: number) => digitsWith(`.${'0'.repeat(zeros)}`);

/** Around the lengths at which a reader of values may stop. */
const LIMITS = [300, 1_000, 8 * 1024, 64 * 1024].flatMap((limit) => [limit - 1, limit, limit + 1]);

export const STYLES: readonly (readonly [what: string, style: Style])[] = [
  ['spaced', { blank: ' \t\r\n' }],
  ['escaped', { name: escaped, text: escaped }],
  ['escaped in capitals', { name: inCapitals, text: inCapitals }],
  ['escaped in the first character', { name: firstEscaped, text: firstEscaped }],
  ['with escaped names', { name: escaped }],
  ['with escaped values', { text: escaped }],
  ['with fractions', { number: withZeros(1) }],
  ['with exponents', { number: digitsWith('e0') }],
  ['with signed exponents', { number: digitsWith('0E-1') }],
  ['with numbers of many digits', { number: withZeros(400) }],
  ['escaped and spaced', { name: escaped, text: escaped, number: withZeros(310), blank: '\n ' }],
];

/** The same, each value that has room for it padded to a length. */
export const PADDED: readonly (readonly [what: string, write: (value: unknown) => string])[] =
  LIMITS.map((limit) => [
    `padded to ${String(limit)} bytes`,
    (value) => {
      const text = write(value);
      const missing = limit - text.length;
      if (missing <= 0) return text;
      if (/^[[{]/.test(text)) return `${text[0]!}${' '.repeat(missing)}${text.slice(1)}`;
      if (typeof value === 'number') return withZeros(Math.max(1, missing - 1))(value);
      return text;
    },
  ]);

export function write(value: unknown, style: Style = {}): string {
  const { blank = '' } = style;
  const join = (open: string, parts: readonly string[], close: string): string =>
    `${open}${blank}${parts.join(`${blank},${blank}`)}${blank}${close}`;
  if (typeof value === 'string') return (style.text ?? quote)(value);
  if (typeof value === 'number') return (style.number ?? String)(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    return join(
      '[',
      value.map((item) => write(item, style)),
      ']',
    );
  }
  if (value instanceof Written) return value.text;
  const list = value instanceof Members ? value.list : Object.entries(value);
  const members = list.map(
    ([name, member]) => `${(style.name ?? quote)(name)}${blank}:${blank}${write(member, style)}`,
  );
  return join('{', members, '}');
}

/** A value that is written already. */
export class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
