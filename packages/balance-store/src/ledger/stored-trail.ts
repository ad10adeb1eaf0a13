/** Turns a row of the trail into a {@link TrailEntry}. */

import type { TrailEntry } from '../trail.js';
import type { Row } from './tables.js';

/** @param text - The row's personal text; `undefined` if it was erased or there was none. */
export function trailEntryOf(
  { details, personalId, ...row }: Row<'Trail'>,
  text: string | undefined,
): TrailEntry {
  return {
    ...row,
    details: JSON.parse(details) as TrailEntry['details'],
    personal:
      text === undefined
        ? personalId === null
          ? undefined
          : 'erased'
        : (JSON.parse(text) as Readonly<Record<string, unknown>>),
  };
}
