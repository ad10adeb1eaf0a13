/** Some rows of a long table, which are drawn only while they are near the window. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export const ROWS_PER_BLOCK = 25;

/** Before a block was drawn once, its height is guessed. */
const ROW_PX = 48;
/** Blocks this near to the window are drawn, so that nobody sees a gap while scrolling. */
const NEAR = '700px 0px';

export function Block(props: {
  readonly rows: number;
  readonly columns: number;
  /** Whether the rows are always drawn. */
  readonly isDrawn: boolean;
  /** The number of rows before it. */
  readonly first: number;
  readonly children: () => ComponentChildren;
}) {
  const { rows, columns, isDrawn, first, children } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [isNear, setIsNear] = useState(first === 0);
  const height = useRef(rows * ROW_PX);
  useEffect(() => {
    const element = body.current;
    if (isDrawn || element === null) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        const isIn = entry?.isIntersecting === true;
        // An open row and one with the focus stay, wherever the person scrolls.
        if (!isIn && element.querySelector('[aria-expanded=true], :focus') !== null) return;
        if (!isIn) height.current = element.getBoundingClientRect().height || height.current;
        setIsNear(isIn);
      },
      { rootMargin: NEAR },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [isDrawn]);
  return (
    <tbody ref={body} role="rowgroup">
      {isDrawn || isNear ? (
        children()
      ) : (
        <tr role="row" class="gap" aria-hidden="true">
          <td role="cell" colSpan={columns} style={{ height: `${String(height.current)}px` }} />
        </tr>
      )}
    </tbody>
  );
}
