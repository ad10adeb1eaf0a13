/** Tables as comma-separated values (RFC 4180). */

/** @param rows - Values by column; absent and `null` ones become empty. */
export function csvOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  const lines = [columns.join(','), ...rows.map((row) => lineOf(columns, row))];
  return lines.map((line) => `${line}\r\n`).join('');
}

function lineOf(columns: readonly string[], row: Readonly<Record<string, unknown>>): string {
  return columns.map((column) => cellOf(row[column])).join(',');
}

function cellOf(value: unknown): string {
  const text = textOf(value);
  // A spreadsheet would run a text that begins like a formula. A negative amount is a number.
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^-\d+(\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
