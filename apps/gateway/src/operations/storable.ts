/** Rules for texts and times from outside, so that the database can store and search them. */

import { z } from 'zod';

/**
 * PostgreSQL cannot store NUL. An unpaired surrogate would be stored as another character. Other
 * control characters would break lines of logs and tables.
 */
export const line = z
  .string()
  // In Python, as in many readers of OpenAPI documents, patterns have no `\P{Cc}`.
  // eslint-disable-next-line no-control-regex
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters')
  .refine((text) => !/\p{Cs}/u.test(text), 'must not contain half of a surrogate pair');

const YEAR_1_MS = Date.parse('0001-01-01T00:00:00Z');
const YEAR_10000_MS = Date.parse('9999-12-31T23:59:59.999Z') + 1;

/**
 * PostgreSQL has no year 0, and years are printed with four digits. A UTC offset can move a date
 * out of that range.
 */
export function isStorableTime(time: Date): boolean {
  return time.getTime() >= YEAR_1_MS && time.getTime() < YEAR_10000_MS;
}
export const STORABLE_TIME_RULE = 'must be within the years 1 to 9999';
