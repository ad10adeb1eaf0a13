/** Makes the tables of fields. */

import type { RequestField } from '../reading/field-fate.js';
import { NEUTRAL_VALUES } from '../reading/neutral-values.js';

type Row = readonly [name: string, field: RequestField];

/** @param rows - A function, so that bundlers can leave out a table that nobody reads. */
export function fieldTable(rows: () => Row[]): ReadonlyMap<string, RequestField> {
  return new Map(rows());
}

export function mapped(name: string, to: string): Row {
  return [name, { fate: 'mapped', to }];
}

export function ignored(name: string, why: string): Row {
  return [name, { fate: 'ignored', why, neutral: [NEUTRAL_VALUES[name] ?? []].flat() }];
}
