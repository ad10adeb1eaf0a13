/**
 * Tables for people. A terminal gets one that fits its width: amounts and times are shortened, then
 * names lose their ids, then columns are left out in the order that the list states, and what still
 * does not fit is printed row by row. Pipes and files get every column and every digit.
 */

import Table from 'cli-table3';
import { PLAIN, painted } from './screen.js';
import type { Screen } from './screen.js';
import { alignedDecimals, shortTime, shortUsd } from './short-texts.js';

type Text = string | number | null | undefined;

/** A text with a shorter form for a table that does not fit, or a colour. */
export interface RichText {
  readonly text: string;
  readonly short?: string | undefined;
  readonly isBad?: boolean;
}

/** The members of a row that can be shown as they are. */
type TextIn<Row> = {
  [Name in keyof Row]-?: Row[Name] extends Text ? Name : never;
}[keyof Row];

/**
 * The cells of a table by their headings: members of a row, or what is made from it. A heading that
 * begins with `>` is a column of numbers, aligned at its end.
 */
export type Columns<Row> = Readonly<Record<string, TextIn<Row> | ((row: Row) => Text | RichText)>>;

interface Layout {
  readonly screen?: Screen;
  /** Headings, without `>`, of columns that may be left out, the first one first. */
  readonly leave?: readonly string[];
  /** The widths of columns in which long texts are wrapped, by their headings. */
  readonly widths?: Readonly<Record<string, number>>;
}

export function table<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  { screen = PLAIN, leave = [], widths = {} }: Layout = {},
): string {
  const made = Object.entries(columns).map(([heading, column]) => columnOf(heading, column, rows));
  if (screen.width === undefined) return bordered(made, widths, screen);
  return fitted(made.map(shortened), { ...screen, width: screen.width }, leave);
}

/** One page of a list, and how to get the next one. */
export function page<Row>(
  list: { readonly data: readonly Row[]; readonly next_cursor: string | null },
  ifEmpty: string,
  { columns, leave }: { readonly columns: Columns<Row>; readonly leave: readonly string[] },
  screen: Screen,
): string {
  if (list.data.length === 0) return ifEmpty;
  return table(list.data, columns, { screen, leave }) + more(list.next_cursor);
}

export function more(cursor: string | null): string {
  return cursor === null ? '' : `\nMore: --after ${cursor}`;
}

interface Column {
  readonly heading: string;
  readonly isNumber: boolean;
  readonly isAmount: boolean;
  readonly cells: readonly RichText[];
}

function columnOf<Row>(
  heading: string,
  column: Columns<Row>[string],
  rows: readonly Row[],
): Column {
  const cellOf = (row: Row): RichText => {
    const value = typeof column === 'function' ? column(row) : (row[column] as Text);
    return typeof value === 'object' && value !== null ? value : { text: String(value ?? '') };
  };
  return {
    heading: heading.replace(/^>/, ''),
    isNumber: heading.startsWith('>'),
    isAmount: heading.endsWith('(USD)') || (typeof column === 'string' && column.endsWith('_usd')),
    cells: rows.map(cellOf),
  };
}

function shortened(column: Column): Column {
  const { isAmount, isNumber, cells } = column;
  const texts = cells.map(({ text }) => text);
  const decimals = isAmount && isNumber ? alignedDecimals(texts) : 0;
  const shorten = (text: string): string =>
    isAmount && isNumber ? shortUsd(text, decimals) : shortTime(text);
  return {
    ...column,
    cells: cells.map((cell) => ({
      ...cell,
      text: shorten(cell.text),
      isBad: cell.isBad ?? (isAmount && cell.text.startsWith('-')),
    })),
  };
}

function withoutIds(column: Column): Column {
  return {
    ...column,
    cells: column.cells.map((cell) => ({ ...cell, text: cell.short ?? cell.text })),
  };
}

type Fitting = Screen & { readonly width: number };

function fitted(columns: readonly Column[], screen: Fitting, leave: readonly string[]): string {
  // Columns of bars and of nothing say nothing where they are empty.
  const filled = columns.filter(({ cells }) => cells.some(({ text }) => text !== ''));
  const whole = filled.length === 0 ? columns : filled;
  if (widthOf(whole) <= screen.width) return open(whole, screen);
  const short = whole.map(withoutIds);
  const left: string[] = [];
  let shown = short;
  for (const heading of leave) {
    if (widthOf(shown) <= screen.width) break;
    const rest = shown.filter((column) => column.heading !== heading);
    if (rest.length === shown.length) continue;
    left.push(heading);
    shown = rest;
  }
  if (widthOf(shown) > screen.width) return rowByRow(whole, screen);
  if (left.length === 0) return open(shown, screen);
  // A column of bars has no heading.
  const note = `Left out: ${left.filter((heading) => heading !== '').join(', ')} (see --wide)`;
  return `${open(shown, screen)}\n${painted('dim', note, screen)}`;
}

/** The blanks between two columns. */
const GAP = '  ';
/** Borders and blanks around the only column of a table. */
const AROUND = 4;

function widthOf(columns: readonly Column[]): number {
  const widths = columns.map(({ heading, cells }) => {
    // cli-table3 measures wide characters, so this is the width to which it will pad the cells.
    const measured = new Table({ style: NO_STYLE });
    measured.push([heading], ...cells.map(({ text }) => [text]));
    return measured.width - AROUND;
  });
  return widths.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1));
}

/** With lines only below the headings, so that more columns fit. */
function open(columns: readonly Column[], screen: Screen): string {
  const none = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '' };
  const noEnd = { bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' };
  const sides = { left: '', 'left-mid': '', right: '', 'right-mid': '', 'mid-mid': GAP };
  const made = new Table({
    ...headOf(columns, screen),
    chars: { ...none, ...noEnd, ...sides, mid: '─', middle: GAP },
    style: { ...NO_STYLE, 'padding-left': 0, 'padding-right': 0 },
  });
  made.push(...rowsOf(columns, screen));
  return made.toString().replaceAll(/ +$/gm, '');
}

function bordered(
  columns: readonly Column[],
  widths: Readonly<Record<string, number>>,
  screen: Screen,
): string {
  const made = new Table({
    ...headOf(columns, screen),
    colWidths: columns.map(({ heading }) => {
      const width = widths[heading];
      return width === undefined ? null : width + PADDING;
    }),
    wordWrap: true,
    style: NO_STYLE,
  });
  made.push(...rowsOf(columns, screen));
  return made.toString();
}

/** The blanks beside the text of a cell. */
const PADDING = 2;
const NO_STYLE = { head: [], border: [], compact: true };

function headOf(columns: readonly Column[], screen: Screen) {
  return {
    head: columns.map(({ heading }) => painted('bold', heading, screen)),
    colAligns: columns.map(({ isNumber }) => (isNumber ? ('right' as const) : ('left' as const))),
  };
}

function rowsOf(columns: readonly Column[], screen: Screen): readonly string[][] {
  const [{ cells: first } = { cells: [] }] = columns;
  return first.map((_, row) =>
    columns.map(({ cells }) => {
      const { text = '', isBad = false } = cells[row] ?? {};
      return isBad ? painted('red', text, screen) : text;
    }),
  );
}

/** What fits no table: the columns of each row, one below the other. */
function rowByRow(columns: readonly Column[], screen: Screen): string {
  return rowsOf(columns, screen)
    .map((row) => {
      const filled = columns.flatMap(({ heading }, at) =>
        row[at] === '' ? [] : [[heading, (row[at] ?? '').replaceAll('\n', ' ')] as const],
      );
      return pairs(Object.fromEntries(filled));
    })
    .join('\n\n');
}

export function pairs(values: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join('\n');
}
