/** Pictures beside the names of places, drawn by one line. */

const PATHS = {
  home: 'M4 11 12 4l8 7v9h-5v-6H9v6H4z',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  keys: 'M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8M11 12l9-9M16 7l3 3M13.5 9.5l2 2',
  billing: 'M3 6h18v12H3zM3 10h18M7 15h4',
  connect: 'M9 7V3M15 7V3M6 7h12v4a6 6 0 0 1-12 0zM12 17v4',
  today: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  customers:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 20a6 6 0 0 1 12 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5a6 6 0 0 1 3 5.5',
  money:
    'M12 3v18M16.5 7.5C16 6 14.5 5 12 5S7.5 6 7.5 8.5 9.5 11.5 12 12s4.5 1 4.5 3.5S14.5 19 12 19s-4.5-1-5-2.5',
  system: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
