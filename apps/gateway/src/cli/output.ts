/** Runs an operation and prints its result: for people, as JSON, or as CSV. */

import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { listCsv } from '../operator/operations/list-csv.js';
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
import { printWholeCsv, write } from './whole-csv.js';

export interface OutputOptions {
  readonly json?: boolean;
}

export interface FormatOptions extends OutputOptions {
  readonly csv?: boolean;
}

export async function run<Result>(
  options: OutputOptions,
  operate: (call: CallOperation) => Promise<Result>,
  print: (result: Result) => string,
): Promise<void> {
  show(options, await withOperations(operate), print);
}

/** Runs an operation whose result is a list: a page of it; as CSV without `--limit`, the whole. */
export async function runList<Name extends ListName>(
  { csv = false, json = false, limit }: FormatOptions & { readonly limit?: unknown },
  list: { readonly name: Name; readonly input: OperationInput<Name> },
  print: (result: OperationOutput<Name>) => string,
): Promise<void> {
  if (csv && !json && limit === undefined) {
    await withOperations((call) => printWholeCsv(call, list));
    return;
  }
  const result = await withOperations((call) => call(list.name, list.input));
  if (csv && !json) {
    await write(listCsv(list.name, result.data));
    const { next_cursor: next, archived_until: until } = result as Beside;
    if (next != null) process.stderr.write(`More: --after ${next}\n`);
    if (until != null) process.stderr.write(`Charges before ${until} are archived.\n`);
  } else {
    show({ json }, result, print);
  }
}

/** What CSV has no place for. */
interface Beside {
  readonly next_cursor?: string | null;
  readonly archived_until?: string | null;
}

/** Runs an operation once for each page of its result, and prints each page before the next. */
export async function runPages<Name extends PagedName>(
  { csv = false, json = false }: FormatOptions,
  list: { readonly name: Name; readonly input: OperationInput<Name> },
  print: (page: OperationOutput<Name>) => string,
): Promise<void> {
  const pageJson = createJsonPages();
  await withOperations(async (call) => {
    if (csv && !json) {
      await printWholeCsv(call, list);
      return;
    }
    const ask = (input: OperationInput<Name>) => call(list.name, input);
    for await (const page of pagesOf(list.name, list.input, ask)) {
      await write(json ? pageJson(page) : `${print(page)}\n`);
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

export function show<Result>(
  { json = false }: OutputOptions,
  result: Result,
  print: (result: Result) => string,
): void {
  process.stdout.write(`${json ? JSON.stringify(result, null, 2) : print(result)}\n`);
}

/** Adds the option of a command that prints a single result. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON');
}

/** Adds the options of a command that prints a list. */
export function withFormats(command: Command): Command {
  return withJson(command).option('--csv', 'print CSV; without --limit, the whole list');
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

/** Reads a day as its beginning in UTC. */
export function time(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
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
