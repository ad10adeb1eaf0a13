/**
 * A list as a table that grows page by page. Each column is declared once: what it shows, what its
 * rows are sorted by, and what stands in a file of it.
 */

import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Block, ROWS_PER_BLOCK } from './block.js';
import { csvOf } from '../text/csv.js';
import { ExpandableRow } from './expandable-row.js';
import type { Paged } from '../api/pages.js';
import {
  Choice,
  Count,
  Empty,
  FailureNote,
  Money,
  SortedHeader,
  TableFrame,
  Time,
} from './parts.js';
import { SaveCsv } from './save-csv.js';
import type { Selection } from './selection.js';
import { alignedDecimals, parseUsd } from '../text/usd.js';

export interface Column<Item> {
  readonly label: string;
  /** What the values are; absent: texts. */
  readonly kind?: 'usd' | 'count' | 'time' | 'number' | undefined;
  /** An exact amount, a number, a time or a text. The rows are sorted by it, and files have it. */
  readonly value: (item: Item) => string | number | null;
  /** What is shown, if it is not only the value. `shown` is what would be shown otherwise. */
  readonly cell?: (item: Item, shown: ComponentChildren) => ComponentChildren;
  /** The gateway's order by this column, which also sorts what is not loaded yet. */
  readonly order?: Order;
  /** Only files have the column: the table has no room for it, or says it otherwise. */
  readonly isOnlyInFiles?: true;
}

interface Order {
  readonly name: string;
  readonly isRising?: true;
}

interface TableProps<Item> {
  readonly list: Paged<Item>;
  readonly what: string;
  readonly columns: readonly Column<Item>[];
  readonly empty: ComponentChildren;
  /** The id of a row, unique in the list. */
  readonly idOf: (item: Item) => string;
  /** The attribute that names a row, for tests. */
  readonly rowName?: `data-${string}`;
  /** The details that a row opens; `undefined` for a row without. */
  readonly details?: (item: Item) => (() => ComponentChildren) | undefined;
  /** Whether the details of the only row are open at first. */
  readonly opensOnly?: boolean;
  /** What details are called to screen readers, before the id. */
  readonly detailsOf?: string;
  /** Buttons at the end of each row. */
  readonly actions?: ((item: Item) => ComponentChildren) | undefined;
  /** The rows that can be chosen for an action on several. */
  readonly selection?: Selection<Item> | undefined;
  /** What the order is called in which the list comes; absent: the newest first. */
  readonly comesBy?: string;
  /** The order of the gateway that is in force, and how to ask for another. */
  readonly order?: { readonly name: string; readonly change: (name: string) => void };
  /** The name of the file that the list can be saved as, without `.csv`. */
  readonly file?: string;
}

/** Lists with more rows are drawn only where one looks, so that thousands stay quick. */
const MOST_DRAWN = 200;

export function PagedTable<Item>(props: TableProps<Item>) {
  const { list, what, empty, idOf, file } = props;
  const columns = useMemo(
    () => props.columns.filter(({ isOnlyInFiles }) => isOnlyInFiles !== true),
    [props.columns],
  );
  const { items, failure, isLoading, hasMore, archivedUntil } = list;
  const { sorted, inOrder, ...sorts } = useSorting(items, columns);
  /** The ids of the rows whose details are open. */
  const opened = useRef(new Set<string>()).current;
  if (list.wouldLose !== undefined) {
    list.wouldLose.current = (next) => {
      const ids = new Set(next.map(idOf));
      return [...opened].some((id) => !ids.has(id));
    };
  }
  return (
    <div class="paged" aria-busy={isLoading}>
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
      {sorted !== undefined && sorted.length > 0 && (
        <Rows {...props} columns={columns} items={sorted} {...sorts} opened={opened} />
      )}
      {archivedUntil !== undefined && (
        <p class="quiet">
          Charges before <Time iso={archivedUntil} /> are in an archive.
        </p>
      )}
      {sorted !== undefined && sorted.length > 0 && (hasMore || file !== undefined) && (
        <div class="row middle no-print">
          {hasMore && failure === undefined && (
            <button type="button" disabled={isLoading} onClick={list.more}>
              {isLoading ? 'Loading…' : 'Load more'}
            </button>
          )}
          {file !== undefined && (
            <SaveCsv
              fileName={file}
              read={async () => {
                const all = await list.all();
                return all.ok ? { ...all, text: csvOf(props.columns, inOrder(all.value)) } : all;
              }}
            />
          )}
        </div>
      )}
    </div>
  );
}

interface Sorting {
  readonly label: string;
  readonly isRising: boolean;
}

/** The order in which the page shows what is loaded. */
interface Sorts {
  /** `undefined`: as the gateway sends it. */
  readonly sorting: Sorting | undefined;
  /** @param label - `undefined` gives the gateway's order back. */
  readonly sortBy: (label: string | undefined) => void;
}

function useSorting<Item>(
  items: readonly Item[] | undefined,
  columns: readonly Column<Item>[],
): Sorts & {
  readonly sorted: readonly Item[] | undefined;
  readonly inOrder: (some: readonly Item[]) => readonly Item[];
} {
  const [sorting, setSorting] = useState<Sorting>();
  const column = columns.find(({ label }) => label === sorting?.label);
  const inOrder = (some: readonly Item[]) =>
    column === undefined || sorting === undefined ? some : sortedBy(some, column, sorting.isRising);
  const sorted = useMemo(() => items && inOrder(items), [items, column?.label, sorting]);
  const sortBy = (label: string | undefined) => {
    const isText = columns.find((each) => each.label === label)?.kind === undefined;
    // Texts begin with A, and everything else with the most. A third press gives the order back.
    if (label === undefined) setSorting(undefined);
    else if (sorting?.label !== label) setSorting({ label, isRising: isText });
    else setSorting(sorting.isRising === isText ? { label, isRising: !isText } : undefined);
  };
  return { sorted, inOrder, sorting: column === undefined ? undefined : sorting, sortBy };
}

const texts = new Intl.Collator(undefined, { numeric: true });

/** Rows without a value come last. */
function sortedBy<Item>(
  items: readonly Item[],
  { kind, value }: Column<Item>,
  isRising: boolean,
): readonly Item[] {
  const sign = isRising ? 1 : -1;
  const keyed = items.map((item) => {
    const of = value(item);
    return { item, key: kind === 'usd' && of !== null ? parseUsd(String(of)) : of };
  });
  return keyed
    .sort(({ key: a }, { key: b }) => {
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      if (typeof a === 'string' && typeof b === 'string') return sign * texts.compare(a, b);
      return a < b ? -sign : Number(a > b) * sign;
    })
    .map(({ item }) => item);
}

interface RowsProps<Item> extends TableProps<Item>, Sorts {
  readonly items: readonly Item[];
  readonly opened: Set<string>;
}

function Rows<Item>(props: RowsProps<Item>) {
  const { items, what, columns, idOf, selection } = props;
  const aligned = useAligned(props.list.items, columns);
  const { direction, sort, giveBack } = sortingOf(props);
  const ends = [
    ...(props.details === undefined ? [] : ['Details']),
    ...(props.actions === undefined ? [] : ['Actions']),
  ];
  const width = columns.length + ends.length + (selection === undefined ? 0 : 1);
  const isWindowed = items.length > MOST_DRAWN;
  // A row that moves to another block is made anew, and closes, so a short table has only one.
  const perBlock = isWindowed ? ROWS_PER_BLOCK : MOST_DRAWN;
  const blocks = Array.from({ length: Math.ceil(items.length / perBlock) }, (_, index) =>
    items.slice(index * perBlock, (index + 1) * perBlock),
  );
  return (
    <>
      <SortChoice
        columns={columns}
        comesBy={props.comesBy ?? 'the newest'}
        direction={direction}
        sort={sort}
        giveBack={giveBack}
      />
      {sortedPart(props) !== undefined && (
        <p class="narrow-only quiet no-print">Sorted: {sortedPart(props)}.</p>
      )}
      <TableFrame label={what}>
        <table class="cards" role="table" aria-rowcount={isWindowed ? items.length + 1 : undefined}>
          <caption class="hidden">{what}</caption>
          <thead role="rowgroup">
            <tr role="row">
              {selection !== undefined && (
                <ChooseAll items={items} what={what} selection={selection} />
              )}
              {columns.map((column) => (
                <SortedHeader
                  key={column.label}
                  label={column.label}
                  class={isNumber(column) ? 'n' : undefined}
                  isRising={direction(column)}
                  of={sortedPart(props)}
                  sort={() => {
                    sort(column);
                  }}
                />
              ))}
              {ends.map((label) => (
                <th key={label} scope="col" role="columnheader">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          {blocks.map((block, index) => (
            <Block
              key={index}
              rows={block.length}
              columns={width}
              isDrawn={!isWindowed}
              first={index * ROWS_PER_BLOCK}
            >
              {() =>
                block.map((item) => (
                  <Row
                    key={idOf(item)}
                    {...props}
                    of={item}
                    aligned={aligned}
                    width={width}
                    isOnly={items.length === 1}
                  />
                ))
              }
            </Block>
          ))}
        </table>
      </TableFrame>
    </>
  );
}

/** What the page itself sorts, if that is not the whole list. */
function sortedPart<Item>({ list, sorting, items }: RowsProps<Item>): string | undefined {
  return list.hasMore && sorting !== undefined
    ? `of the ${String(items.length)} rows that are loaded`
    : undefined;
}

/** How the amounts of each column are aligned at their points. */
function useAligned<Item>(
  all: readonly Item[] | undefined,
  columns: readonly Column<Item>[],
): readonly (Aligned | undefined)[] {
  return useMemo(
    () =>
      columns.map(({ kind, value }) =>
        kind === 'usd'
          ? alignedDecimals((all ?? []).flatMap((item) => textOrNothing(value(item))))
          : undefined,
      ),
    // Not the sorted rows: they align alike in each order.
    [all, columns.map(({ label }) => label).join()],
  );
}

/** The order of the page is in force before that of the gateway. */
function sortingOf<Item>({ order, sorting, sortBy }: RowsProps<Item>) {
  /** @returns whether the rows rise by the column; `undefined` if they are not sorted by it */
  const direction = (column: Column<Item>) => {
    if (sorting !== undefined) {
      return sorting.label === column.label ? sorting.isRising : undefined;
    }
    if (column.order === undefined || column.order.name !== order?.name) return undefined;
    return column.order.isRising === true;
  };
  const askFor = (name: string) => {
    sortBy(undefined);
    order?.change(name);
  };
  return {
    direction,
    sort: (column: Column<Item>) => {
      if (order === undefined || column.order === undefined) sortBy(column.label);
      else askFor(direction(column) === undefined ? column.order.name : '');
    },
    giveBack: () => {
      askFor('');
    },
  };
}

function ChooseAll<Item>(props: {
  readonly items: readonly Item[];
  readonly what: string;
  readonly selection: Selection<Item>;
}) {
  const { items, what, selection } = props;
  return (
    <th scope="col" role="columnheader">
      <input
        type="checkbox"
        aria-label={`Choose all of ${what}`}
        checked={selection.hasAll(items)}
        onChange={() => {
          selection.toggleAll(items);
        }}
      />
    </th>
  );
}

function textOrNothing(value: string | number | null): readonly string[] {
  return value === null ? [] : [String(value)];
}

function isNumber({ kind }: Pick<Column<never>, 'kind'>): boolean {
  return kind !== undefined && kind !== 'time';
}

/** On a phone, where rows are cards, there is no header to press. */
function SortChoice<Item>(props: {
  readonly columns: readonly Column<Item>[];
  readonly comesBy: string;
  readonly direction: (column: Column<Item>) => boolean | undefined;
  readonly sort: (column: Column<Item>) => void;
  readonly giveBack: () => void;
}) {
  const { columns, comesBy, direction, sort, giveBack } = props;
  const current = columns.find((column) => direction(column) !== undefined);
  return (
    <div class="narrow-only no-print">
      <Choice
        label="Sorted by"
        value={current?.label ?? ''}
        options={[['', comesBy], ...columns.map(({ label }) => [label, label] as const)]}
        onValue={(label) => {
          const chosen = columns.find((column) => column.label === label);
          if (chosen === undefined) giveBack();
          else sort(chosen);
        }}
      />
    </div>
  );
}

/** A card leaves values out that are absent. */
function classOf<Item>(column: Column<Item>, of: Item): string | undefined {
  if (column.value(of) === null) return isNumber(column) ? 'n none' : 'none';
  return isNumber(column) ? 'n' : undefined;
}

type Aligned = ReturnType<typeof alignedDecimals>;

function Row<Item>(
  props: TableProps<Item> & {
    readonly opened: Set<string>;
    readonly of: Item;
    readonly aligned: readonly (Aligned | undefined)[];
    readonly width: number;
    readonly isOnly: boolean;
  },
) {
  const { of, columns, aligned, width, idOf, rowName, details, actions, selection } = props;
  const id = idOf(of);
  const cells = (
    <>
      {selection !== undefined && (
        <td role="cell" class="chooses">
          {selection.mayChoose(of) && (
            <input
              type="checkbox"
              aria-label={`Choose ${selection.nameOf(of)}`}
              checked={selection.has(of)}
              onChange={() => {
                selection.toggle(of);
              }}
            />
          )}
        </td>
      )}
      {columns.map((column, index) => {
        const shown = <Shown column={column} of={of} aligned={aligned[index]} />;
        return (
          <td key={column.label} role="cell" class={classOf(column, of)} data-label={column.label}>
            {column.cell === undefined ? shown : column.cell(of, shown)}
          </td>
        );
      })}
    </>
  );
  const end = actions !== undefined && (
    <td role="cell" class="does">
      {actions(of)}
    </td>
  );
  const data = rowName === undefined ? {} : { [rowName]: id };
  return details === undefined ? (
    <tr role="row" {...data}>
      {cells}
      {end}
    </tr>
  ) : (
    <ExpandableRow
      id={id}
      opened={props.opened}
      data={data}
      what={`${props.detailsOf ?? 'row'} ${id}`}
      columns={width}
      details={details(of)}
      opens={props.opensOnly === true && props.isOnly}
      end={end}
    >
      {cells}
    </ExpandableRow>
  );
}

function Shown<Item>(props: {
  readonly column: Column<Item>;
  readonly of: Item;
  readonly aligned: Aligned | undefined;
}) {
  const { column, of, aligned } = props;
  const value = column.value(of);
  if (column.kind === 'time') return <Time iso={value === null ? null : String(value)} />;
  if (value === null) return <span class="quiet">–</span>;
  if (column.kind === 'usd') return <Money usd={String(value)} aligned={aligned} />;
  return column.kind === 'count' ? <Count of={Number(value)} /> : <>{value}</>;
}
