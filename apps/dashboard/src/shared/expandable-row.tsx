/** A row of a table with a button that opens the details below it. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export function ExpandableRow(props: {
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
}) {
  const { data, what, children, columns, details } = props;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <tr {...data}>
        {children}
        <td>
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
      </tr>
      {isOpen && details !== undefined && (
        <tr class="detail">
          <td colSpan={columns}>{details()}</td>
        </tr>
      )}
    </>
  );
}
