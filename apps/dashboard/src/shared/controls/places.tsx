/**
 * The places of a page, of which one is open, and the sections of the open one: beside the content,
 * or, in a narrow window, in a bar at the bottom.
 */

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { to } from '../api/router.js';
import { Icon } from './icons.js';
import type { IconName } from './icons.js';

export interface Section {
  /** The first part of its address. */
  readonly path: string;
  readonly label: string;
}

export interface Place<Of extends Section = Section> {
  readonly label: string;
  /** For the bar, where there is no room for the label. */
  readonly short?: string;
  readonly icon: IconName;
  /** It has at least one; the first opens with the place. */
  readonly sections: readonly Of[];
  /** Whether it stands out as a button. */
  readonly isButton?: true;
}

/** @returns the section with this path and its place, or else the first of both */
export function placeOf<Of extends Section>(places: readonly Place<Of>[], path: string) {
  for (const place of places) {
    const section = place.sections.find((each) => each.path === path);
    if (section !== undefined) return { place, section };
  }
  const [place] = places;
  const section = place?.sections[0];
  return place === undefined || section === undefined ? undefined : { place, section };
}

/** Also names the open section in the title of the window, before the name of the page. */
export function Places(props: {
  readonly label: string;
  readonly places: readonly Place[];
  readonly current: { readonly place: Place; readonly section: Section } | undefined;
  readonly page: string;
  readonly search: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const { label, places, current, page, search, children } = props;
  const title = current?.section.label ?? '';
  useEffect(() => {
    document.title = `${title} · ${page}`;
  }, [title, page]);
  return (
    <div class="shell">
      <nav aria-label={label}>
        <ul class="places">
          {places.map((place) => (
            <li key={place.label}>
              <PlaceLink of={place} isOpen={place === current?.place} />
            </li>
          ))}
        </ul>
        <Sections current={current} />
      </nav>
      <div class="shell-search">{search}</div>
      <div class="shell-content">{children}</div>
    </div>
  );
}

function PlaceLink({ of, isOpen }: { readonly of: Place; readonly isOpen: boolean }) {
  const { label, short, icon, sections, isButton } = of;
  return (
    <a
      href={to([sections[0]?.path ?? ''])}
      class={isButton === true ? 'button' : undefined}
      aria-label={short === undefined ? undefined : label}
      aria-current={isOpen ? 'page' : undefined}
    >
      <Icon name={icon} />
      {short === undefined ? (
        label
      ) : (
        <>
          <span class="in-sidebar">{label}</span>
          <span class="in-bar">{short}</span>
        </>
      )}
    </a>
  );
}

/** A place with one section has only its name there. */
function Sections({ current }: Pick<Parameters<typeof Places>[0], 'current'>) {
  const strip = useRef<HTMLUListElement>(null);
  const path = current?.section.path;
  useLayoutEffect(() => {
    const open = strip.current?.querySelector('[aria-current]')?.getBoundingClientRect();
    if (strip.current === null || open === undefined) return;
    // In a narrow window the links do not all fit, so the link of the open part is scrolled to the
    // middle.
    const { left, width } = strip.current.getBoundingClientRect();
    strip.current.scrollLeft += open.left - left - (width - open.width) / 2;
  }, [path]);
  if (current === undefined) return null;
  const { place } = current;
  if (place.sections.length === 1) return <p class="sections place-name">{place.label}</p>;
  return (
    <ul class="sections" ref={strip}>
      {place.sections.map((section) => (
        <li key={section.path}>
          <a
            href={to([section.path])}
            aria-current={section === current.section ? 'page' : undefined}
          >
            {section.label}
          </a>
        </li>
      ))}
    </ul>
  );
}
