/** Lists of operators as CSV over HTTP: one page, or the whole. */

import { isWholeCsv } from '../endpoints/fields.js';
import type { TextFormat } from '../endpoints/text-format.js';
import type { ReadPages } from '../http/exports.js';
import { ARCHIVED_UNTIL, NEXT_CURSOR, RECORDED_FROM, rangeHeaders } from '../http/list-headers.js';
import { csvPages, listCsv } from './operations/list-csv.js';
import type { ListName } from './operations/list-csv.js';
import { hasPages, pagesOf } from './operations/list-pages.js';
import { operations } from './operations/operations.js';
import type { OperationInput, OperationName, OperationOutput } from './operations/operations.js';

export const CSV_HEADERS = { 'content-type': 'text/csv; charset=utf-8' };

/** Whether a list was asked for as CSV, to its end. */
export function isWholeList(
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
): name is ListName {
  return isAlsoCsv(name) && hasPages(name) && isWholeCsv(input);
}

function isAlsoCsv(name: OperationName): name is ListName {
  return 'isAlsoCsv' in operations[name];
}

/** @param run - Runs the operation with an input. */
export function csvExport(
  name: ListName,
  input: object,
  run: (input: unknown) => Promise<unknown>,
): ReadPages {
  return async function* readPages(inTurn) {
    const write = csvPages(name);
    const ask = (asked: unknown) => inTurn(() => run(asked)) as Promise<OperationOutput<ListName>>;
    for await (const page of pagesOf(name, input as OperationInput<ListName>, ask)) {
      yield { text: write(page.data), headers: listHeadersOf({ ...page, next_cursor: null }) };
    }
    return undefined;
  };
}

/** The format of a list, or of a page of it, that was asked for as CSV. */
export function csvFormatOf(
  name: OperationName,
  { format }: { readonly format?: unknown },
): TextFormat<unknown> | undefined {
  if (!isAlsoCsv(name) || format !== 'csv') return undefined;
  const write = (list: unknown) =>
    listCsv(name, (list as { readonly data: readonly object[] }).data);
  return { mediaType: 'text/csv', write };
}

/** What the members of a result beside its rows say. */
export function listHeadersOf(result: unknown): Readonly<Record<string, string>> {
  if (typeof result !== 'object' || result === null) return {};
  const { next_cursor: next, archived_until: archived, recorded_from: recorded } = result as Beside;
  const { from, until } = result as Beside;
  return {
    ...(next == null ? {} : { [NEXT_CURSOR]: next }),
    ...(archived == null ? {} : { [ARCHIVED_UNTIL]: archived }),
    ...(recorded == null ? {} : { [RECORDED_FROM]: recorded }),
    ...(from === undefined || until === undefined ? {} : rangeHeaders({ from, until })),
  };
}

interface Beside {
  readonly next_cursor?: string | null;
  readonly archived_until?: string | null;
  readonly recorded_from?: string | null;
  readonly from?: string;
  readonly until?: string;
}
