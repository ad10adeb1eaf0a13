/** The rows of a table as CSV (RFC 4180), for a list that the gateway does not write as CSV. */

interface CsvColumn<Item> {
  readonly label: string;
  readonly value: (item: Item) => string | number | null;
}

/** @returns one line of names, and one for each item, with exact values */
export function csvOf<Item>(columns: readonly CsvColumn<Item>[], items: readonly Item[]): string {
  const lines = [
    columns.map(({ label }) => label),
    ...items.map((item) => columns.map(({ value }) => value(item))),
  ];
  return lines.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

/** As the gateway writes cells: names come from customers, so none may be a formula. */
function cellOf(value: string | number | null): string {
  const text = String(value ?? '')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(';', '\uff1b');
  const isFormula = FORMULA.test(text) && !/^-\d+(\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;
