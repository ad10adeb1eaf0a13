/** A list as a table that grows page by page. */

import type { ComponentChildren } from 'preact';
import type { Paged } from './pages.js';
import { Empty, FailureNote, TableFrame, Time } from './parts.js';

export interface Column {
  readonly label: string;
  readonly isNumber?: boolean;
}

export function PagedTable<Item>(props: {
  readonly list: Paged<Item>;
  readonly what: string;
  readonly columns: readonly Column[];
  readonly empty: ComponentChildren;
  /** One or more `<tr>`. */
  readonly row: (item: Item) => ComponentChildren;
}) {
  const { list, what, columns, empty, row } = props;
  const { items, failure, isLoading, hasMore, archivedUntil } = list;
  return (
    <div aria-busy={isLoading}>
      {failure !== undefined && (
        <FailureNote
          failure={failure}
          what={what}
          retry={items === undefined || !hasMore ? list.reload : list.more}
          isStale={items !== undefined}
        />
      )}
      {items === undefined && isLoading && (
        <p class="loading" role="status">
          Loading {what}…
        </p>
      )}
      {items?.length === 0 && <Empty>{empty}</Empty>}
      {items !== undefined && items.length > 0 && (
        <TableFrame label={what}>
          <table>
            <caption class="hidden">{what}</caption>
            <thead>
              <tr>
                {columns.map(({ label, isNumber }) => (
                  <th key={label} scope="col" class={isNumber === true ? 'n' : undefined}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{items.map(row)}</tbody>
          </table>
        </TableFrame>
      )}
      {archivedUntil !== undefined && (
        <p class="quiet">
          Charges before <Time iso={archivedUntil} /> are in an archive.
        </p>
      )}
      {items !== undefined && hasMore && failure === undefined && (
        <p class="row no-print">
          <button type="button" disabled={isLoading} onClick={list.more}>
            {isLoading ? 'Loading…' : 'Load more'}
          </button>
        </p>
      )}
    </div>
  );
}
