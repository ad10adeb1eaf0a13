/** The parts of a page as links, of which one is open. */

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { to } from '../api/router.js';

interface Tab {
  readonly path: string;
  readonly label: string;
}

/** Also names the open part in the title of the window, before the name of the page. */
export function Tabs(props: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: Tab | undefined;
  readonly page: string;
  /** Content after the links, which stays while they scroll. */
  readonly end?: ComponentChildren;
}) {
  const { label, tabs, current, page, end } = props;
  useEffect(() => {
    document.title = `${current?.label ?? ''} · ${page}`;
  }, [current?.label, page]);
  const strip = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const open = strip.current?.querySelector('[aria-current]')?.getBoundingClientRect();
    if (strip.current === null || open === undefined) return;
    // In a narrow window the links do not all fit, so the link of the open part is scrolled to the
    // middle.
    const { left, width } = strip.current.getBoundingClientRect();
    strip.current.scrollLeft += open.left - left - (width - open.width) / 2;
  }, [current?.path]);
  return (
    <div class="tabs">
      <nav ref={strip} aria-label={label}>
        {tabs.map((tab) => (
          <a
            key={tab.path}
            href={to([tab.path])}
            aria-current={tab.path === current?.path ? 'page' : undefined}
          >
            {tab.label}
          </a>
        ))}
      </nav>
      {end}
    </div>
  );
}
