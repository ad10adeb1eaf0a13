/** Writes the details of a row of the trail, and turns a row into a {@link TrailEntry}. */

import { numericFromUnits } from '../../numeric.js';
import type { TrailEntry } from '../../trail.js';
import type { Row } from '../tables/tables.js';

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

/** Amounts become decimal text in USD. */
export function detailsText(values: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(values, (_name, value: unknown) =>
    typeof value === 'bigint' ? numericFromUnits(value) : value,
  );
}
