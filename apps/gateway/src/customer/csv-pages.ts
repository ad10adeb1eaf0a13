/** A list of a customer as CSV, to its end: the pages of {@link ReadPages}. */

import { csvOf, csvRows } from '../endpoints/csv.js';
import { ROWS_PER_PAGE } from '../http/exports.js';
import type { ExportPage, ReadPages } from '../http/exports.js';

interface Asked {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * @param filter - Its cursor, if it has one, is where the first page begins.
 * @param read - Reads one page.
 * @param write - What is sent of a page. The function that it gets writes rows; on the first page
 * also the names of the columns.
 */
export function csvPagesOf<Filter extends Asked, Page extends { readonly next?: string }>(
  filter: Filter,
  read: (filter: Filter) => Promise<Page>,
  write: (page: Page, csv: typeof csvOf) => ExportPage,
): ReadPages {
  return async function* readPages(inTurn) {
    let csv = csvOf;
    let place = {};
    for (;;) {
      const page = await inTurn(() => read({ ...filter, limit: ROWS_PER_PAGE, ...place }));
      yield write(page, csv);
      if (page.next === undefined) return undefined;
      csv = csvRows;
      place = { cursor: page.next };
    }
  };
}
