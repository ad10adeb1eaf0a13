/** Texts and times from outside that the ledger's database can hold, and be asked for. */

import { z } from 'zod';

/** No column takes a NUL; other control characters would break a line of a log or a table. */
export const line = z.string().regex(/^\P{Cc}*$/u, 'must not contain control characters');

const YEAR_1_MS = Date.parse('0001-01-01T00:00:00Z');
const YEAR_10000_MS = Date.parse('9999-12-31T23:59:59.999Z') + 1;

/** Of a year that is written in four digits: an offset may lead beyond, and there is no year 0. */
export function isStorableTime(time: Date): boolean {
  return time.getTime() >= YEAR_1_MS && time.getTime() < YEAR_10000_MS;
}
export const STORABLE_TIME_RULE = 'must be within the years 1 to 9999';
