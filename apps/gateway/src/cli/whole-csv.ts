/**
 * Prints a list as CSV, to its end. If it cannot, the command fails and says so, because the file
 * that it was printed into would look like the whole.
 */

import { errorCode } from '../base/error-code.js';
import { invalidInput } from '../endpoints/operation-error.js';
import {
  MissingColumnError,
  csvPages,
  hasRecords,
  recordColumns,
} from '../operator/operations/list-csv.js';
import type { ListName } from '../operator/operations/list-csv.js';
import { pagesOf } from '../operator/operations/list-pages.js';
import type { CallOperation, OperationInput } from '../operator/operations/operations.js';
import { eraseProgress } from './progress.js';

/** @throws {OperationError} also if the list lacks charges of its range, which are archived */
export async function printWholeCsv<Name extends ListName>(
  call: CallOperation,
  {
    name,
    input,
    columns,
  }: {
    readonly name: Name;
    readonly input: OperationInput<Name>;
    /** The columns to print; absent: all. */
    readonly columns?: readonly string[] | undefined;
  },
): Promise<void> {
  const pages = () => pagesOf(name, input, (asked) => call(name, asked));
  const more = new Set<string>();
  if (hasRecords(name)) {
    // The header is printed first, and only the rows name the columns of their records.
    for await (const { data } of pages()) {
      for (const column of recordColumns(name, data)) more.add(column);
    }
  }
  const csvOfPage = csvPages(name, more, columns);
  let isFirst = true;
  let rows = 0;
  try {
    for await (const page of pages()) {
      refuseIfArchived(page);
      if (isFirst) sayWhenBegun(page, input);
      isFirst = false;
      await write(csvOfPage(page.data));
      rows += page.data.length;
    }
  } catch (error) {
    if (rows > 0)
      process.stderr.write(`The CSV is not whole: it ends after row ${String(rows)}.\n`);
    if (!(error instanceof MissingColumnError)) throw error;
    throw invalidInput(`${error.message}, which was added while the list was read: try again`);
  }
}

function refuseIfArchived(page: object): void {
  const { archived_until: until } = page as Beside;
  if (until == null) return;
  throw invalidInput(
    `from: charges before ${until} are archived, so the CSV would lack them; begin there, or ` +
      'choose another kind of entries',
  );
}

/** Of earlier requests, nobody knows whether they were deleted, so the command does not fail. */
function sayWhenBegun(page: object, input: object): void {
  const { recorded_from: since } = page as Beside;
  const { from } = input as { readonly from?: unknown };
  if (since == null || (typeof from === 'string' && Date.parse(from) >= Date.parse(since))) return;
  process.stderr.write(`Requests are recorded since ${since}.\n`);
}

interface Beside {
  readonly archived_until?: string | null;
  readonly recorded_from?: string | null;
}

/** Prints, and waits until it is taken. A reader that left, or a full disk, ends the command. */
export async function write(text: string): Promise<void> {
  const { stdout } = process;
  eraseProgress();
  // Otherwise the event would end the process with a stack trace.
  stdout.off('error', ignoreEvent).on('error', ignoreEvent);
  await new Promise<void>((resolve, reject) => {
    stdout.write(text, (error) => {
      if (error == null) resolve();
      else reject(invalidInput(`output: cannot be written (${errorCode(error) ?? error.message})`));
    });
  });
}

function ignoreEvent(): void {
  // The callback of the write gets the error too.
}
