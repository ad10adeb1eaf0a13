/** The columns of the lists on the pages. The build of a page writes them into its bundle. */

import { isSeenBy } from './resource.js';
import type { PageColumn, Reader } from './resource.js';
import { accountColumns } from './schemas/accounts.js';
import { keyColumns } from './schemas/keys.js';
import { eventColumns } from './schemas/ledger.js';
import { paymentColumns } from './schemas/payments.js';

const LISTS = {
  accounts: accountColumns,
  events: eventColumns,
  keys: keyColumns,
  payments: paymentColumns,
};

export type PageColumns = {
  readonly [List in keyof typeof LISTS]: readonly PageColumn<
    (typeof LISTS)[List][number]['name']
  >[];
};

/** @returns the columns that this reader may see */
export function pageColumnsFor(reader: Reader): PageColumns {
  return Object.fromEntries(
    Object.entries(LISTS).map(([list, columns]) => [
      list,
      columns
        .filter((column) => isSeenBy(reader, column))
        .map(({ seenBy: _seenBy, ...column }) => column),
    ]),
  ) as unknown as PageColumns;
}
