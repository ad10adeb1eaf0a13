/**
 * Tables as comma-separated values (RFC 4180): the only writer of CSV. People open the files in
 * spreadsheets, some of which separate by semicolons, and each text may come from a customer.
 * So no cell is a formula, and each line has the same number of cells whichever of the two
 * separates them. JSON has the texts as they are.
 */

import { UNSEEN } from './storable.js';

/**
 * @param columns - Names of columns are texts like those of cells: those of metadata are chosen by
 * customers. The first column must not contain amounts, because a reader that separates by
 * semicolons finds one cell in each line, and it would begin with `-`.
 * @param rows - Values by column; absent and `null` ones become empty.
 */
export function csvOf(columns: readonly string[], rows: readonly Row[]): string {
  return lineOf(columns) + csvRows(columns, rows);
}

/** The same without the names of the columns, for the pages after the first. */
export function csvRows(columns: readonly string[], rows: readonly Row[]): string {
  return rows.map((row) => lineOf(columns.map((column) => row[column]))).join('');
}

type Row = Readonly<Record<string, unknown>>;

function lineOf(cells: readonly unknown[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`;
}

function cellOf(value: unknown): string {
  const given = textOf(value);
  if (PLAIN.test(given)) return given;
  const text = shown(given);
  // A spreadsheet would run a text that begins like a formula. A negative amount is a number.
  const isFormula = FORMULA.test(text) && !/^-\d+(\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Most cells: ASCII that is shown, without quotes and separators, and no formula. */
const PLAIN = /^(?:[\w.:/][\w.:/ -]*)?$/;

/** With or without blanks before it, and with the full-width forms, which spreadsheets accept. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

/**
 * Quotes protect a semicolon only in a cell that begins with them for a reader that separates by
 * semicolons, so a full-width one replaces it. Characters that are not shown, line breaks and tabs
 * included, are written as in JSON: `\u202e`. Input is refused if it has any, but older rows and
 * messages of other programs may.
 */
function shown(text: string): string {
  return text
    .replace(UNSEEN_CHARACTER, (character) => {
      const code = character.charCodeAt(0).toString(16).padStart(4, '0');
      return `\\u${code}`;
    })
    .replaceAll(';', '\uff1b');
}

const UNSEEN_CHARACTER = new RegExp(`[${UNSEEN}]`, 'g');

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
