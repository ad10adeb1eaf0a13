/** Turns malformed usage into text that any database can store. */

import type { Settlement } from '../../store.js';

const MAX_CHARS = 500;

/** Cuts the length, and replaces NUL and unpaired surrogates, which PostgreSQL refuses. */
export function storable(text: string): string {
  return text.slice(0, MAX_CHARS).replace(/[\0\p{Surrogate}]/gu, '\u{FFFD}');
}

/** All members of the settlement as JSON, for the operator. Long texts are cut. */
export function detailOf(settlement: Settlement): string {
  return JSON.stringify(settlement, (_, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    return typeof value === 'string' ? storable(value) : value;
  });
}
