/** Runs an operation and prints its result: for people, as JSON, or as CSV. */

import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { z } from 'zod';
import { flatItem, listColumns, listCsv, mayHaveColumn } from '../operator/operations/list-csv.js';
import type { ListName } from '../operator/operations/list-csv.js';
import { pagesOf } from '../operator/operations/list-pages.js';
import type {
  CallOperation,
  OperationInput,
  OperationOutput,
} from '../operator/operations/operations.js';
import { createJsonPages } from './json-pages.js';
import type { JsonPage } from './json-pages.js';
import { withOperations } from './operations-access.js';
import { screenOf } from './screen.js';
import type { Screen } from './screen.js';
import { more, table } from './table.js';
import { printWholeCsv, write } from './whole-csv.js';

export interface OutputOptions {
  readonly json?: boolean;
  /** Of a command that prints tables. */
  readonly wide?: boolean;
}

export interface FormatOptions extends OutputOptions {
  readonly csv?: boolean;
  readonly columns?: readonly string[];
}

/** Prints a result; a table fits the screen. */
export type Print<Result> = (result: Result, screen: Screen) => string;

export async function run<Result>(
  options: OutputOptions,
  operate: (call: CallOperation) => Promise<Result>,
  print: Print<Result>,
): Promise<void> {
  show(options, await withOperations(operate), print);
}

interface List<Name extends ListName> {
  readonly name: Name;
  readonly inputOf: (call: CallOperation) => Promise<OperationInput<Name>>;
}

/** Runs an operation whose result is a list: a page of it; as CSV without `--limit`, the whole. */
export async function runList<Name extends ListName>(
  options: FormatOptions & { readonly limit?: unknown },
  { name, inputOf }: List<Name>,
  print: Print<OperationOutput<Name>>,
): Promise<void> {
  const { csv = false, json = false, limit, columns } = options;
  if (csv && !json && limit === undefined) {
    await withOperations(async (call) =>
      printWholeCsv(call, { name, input: await inputOf(call), columns }),
    );
    return;
  }
  const result = await withOperations(async (call) => call(name, await inputOf(call)));
  if (csv && !json) {
    await write(listCsv(name, result.data, columns));
    const { next_cursor: next, archived_until: until } = result as Beside;
    if (next != null) process.stderr.write(`More: --after ${next}\n`);
    if (until != null) process.stderr.write(`Charges before ${until} are archived.\n`);
  } else {
    show(options, result, columns === undefined ? print : printColumns(columns));
  }
}

/** A list with the columns that were asked for, whose names are those of JSON and CSV. */
function printColumns(columns: readonly string[]) {
  return ({ data, ...beside }: { readonly data: readonly object[] }, screen: Screen): string => {
    const rows = data.map((item) => {
      const flat = flatItem(item);
      return Object.fromEntries(columns.map((column) => [column, cellText(flat[column])]));
    });
    const isNumber = (column: string) =>
      rows.every((row) => /^(-?\d+(\.\d+)?)?$/.test(row[column] ?? ''));
    const cells = Object.fromEntries(
      columns.map((column) => [isNumber(column) ? `>${column}` : column, column]),
    );
    return table(rows, cells, { screen }) + more((beside as Beside).next_cursor ?? null);
  };
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What CSV has no place for. */
interface Beside {
  readonly next_cursor?: string | null;
  readonly archived_until?: string | null;
}

/** Runs an operation once for each page of its result, and prints each page before the next. */
export async function runPages<Name extends PagedName>(
  options: FormatOptions,
  list: { readonly name: Name; readonly input: OperationInput<Name> },
  print: Print<OperationOutput<Name>>,
): Promise<void> {
  const { csv = false, json = false, columns } = options;
  const pageJson = createJsonPages();
  const screen = screenOf(options);
  const printPage = columns === undefined ? print : printColumns(columns);
  await withOperations(async (call) => {
    if (csv && !json) {
      await printWholeCsv(call, { ...list, columns });
      return;
    }
    const ask = (input: OperationInput<Name>) => call(list.name, input);
    for await (const page of pagesOf(list.name, list.input, ask)) {
      await write(json ? pageJson(page) : `${printPage(page, screen)}\n`);
    }
  });
}

/** The operations with pages that {@link runPages} prints. */
type PagedName = {
  [Name in ListName]: OperationOutput<Name> extends JsonPage
    ? 'cursor' extends keyof OperationInput<Name>
      ? Name
      : never
    : never;
}[ListName];

export function show<Result>(options: OutputOptions, result: Result, print: Print<Result>): void {
  const { json = false } = options;
  const text = json ? JSON.stringify(result, null, 2) : print(result, screenOf(options));
  process.stdout.write(`${text}\n`);
}

/** Adds the option of a command that prints a single result. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON');
}

/** Adds the option of a command that prints tables. */
export function withWide(command: Command): Command {
  return command.option(
    '--wide',
    'on a terminal: print all columns and digits, however wide, as into a file',
  );
}

/** Adds the options of a command that prints a list. */
export function withFormats(command: Command, name: ListName): Command {
  const columns = new Option('--columns <names>', 'these columns, named as in JSON, with commas')
    .argParser((text) => columnsOf(name, text))
    .conflicts('json');
  return withWide(withJson(command))
    .option('--csv', 'print CSV; without --limit, the whole list')
    .addOption(columns);
}

function columnsOf(name: ListName, text: string): readonly string[] {
  const asked = text.split(',').map((column) => column.trim());
  const unknown = asked.find((column) => !mayHaveColumn(name, column));
  if (unknown === undefined && new Set(asked).size === asked.length) return asked;
  const wrong = unknown === undefined ? 'Each must be given once.' : `There is no ${unknown}.`;
  throw new InvalidArgumentError(`${wrong} It must be some of ${listColumns(name).join(', ')}.`);
}

export function integer(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError('must be a whole number from 0 to 999999999.');
  return Number(text);
}

/** Collects `--metadata plan=pro --metadata region=eu`. */
export function pair(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('must be a pair such as plan=pro.');
  }
  return { ...before, [name]: value };
}

/**
 * Reads `none` as `null`, which removes a value. It is not a parser of an option, because commander
 * replaces a `null` that a parser returns by an empty text.
 */
export function orNone(text: string | undefined): string | null | undefined {
  return text === 'none' ? null : text;
}

/**
 * Reads names separated by commas, and `all` as `null`. Like {@link orNone}, it is not a parser of
 * an option.
 */
export function names(text: string | undefined): string[] | null | undefined {
  if (text === 'all') return null;
  return text?.split(',').map((name) => name.trim());
}

/** A parser of arguments and options: checks a text, and keeps it. */
export function checkedBy(schema: z.ZodType): (text: string) => string {
  return (text) => {
    const parsed = schema.safeParse(text);
    if (parsed.success) return text;
    throw new InvalidArgumentError(parsed.error.issues[0]?.message ?? 'cannot be used');
  };
}

/** The pairs in the form that the query of a list expects: `plan:pro,region:eu`. */
export function metadataText(
  pairs: Readonly<Record<string, string>> | undefined,
): string | undefined {
  if (pairs === undefined) return undefined;
  return Object.entries(pairs)
    .map(([name, value]) => `${name}:${value}`)
    .join(',');
}
