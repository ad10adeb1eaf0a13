/** The parts of a page as links, of which one is open. */

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { to } from './router.js';

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
}) {
  const { label, tabs, current, page } = props;
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
    <nav ref={strip} class="tabs" aria-label={label}>
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
  );
}
