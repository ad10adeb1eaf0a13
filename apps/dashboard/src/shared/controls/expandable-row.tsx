/** A row of a table with a button that opens the details below it. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export function ExpandableRow(props: {
  readonly id: string;
  /** Has the id of the row while it is open. */
  readonly opened: Set<string>;
  /** An attribute of the row, for tests: `{ 'data-entry': id }`. */
  readonly data: Readonly<Record<`data-${string}`, string>>;
  /** The name of the details, for screen readers. */
  readonly what: string;
  /** The `<td>` elements before the button. */
  readonly children: ComponentChildren;
  /** The number of columns of the whole table. */
  readonly columns: number;
  /** `undefined` if there are none, so nothing can be opened. */
  readonly details: (() => ComponentChildren) | undefined;
  /** Whether the details are open at first. */
  readonly opens?: boolean;
  /** A `<td>` after the button. */
  readonly end?: ComponentChildren;
}) {
  const { id, opened, data, what, children, columns, details, end } = props;
  const [isOpen, setIsOpen] = useState(props.opens ?? false);
  useEffect(() => {
    if (!isOpen) return undefined;
    opened.add(id);
    return () => {
      opened.delete(id);
    };
  }, [id, isOpen]);
  return (
    <>
      <tr role="row" {...data}>
        {children}
        <td role="cell" class="does">
          {details !== undefined && (
            <button
              type="button"
              class="small"
              aria-expanded={isOpen}
              aria-label={`${isOpen ? 'Close' : 'Open'} ${what}`}
              onClick={() => {
                setIsOpen(!isOpen);
              }}
            >
              {isOpen ? 'Close' : 'Open'}
            </button>
          )}
        </td>
        {end}
      </tr>
      {isOpen && details !== undefined && (
        <tr role="row" class="detail">
          <td role="cell" colSpan={columns}>
            {details()}
          </td>
        </tr>
      )}
    </>
  );
}
