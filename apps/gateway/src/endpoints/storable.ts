/** Rules for texts and times from outside, so that the database can store and search them. */

import { z } from 'zod';

/**
 * Characters that are not shown, for the inside of a character class: control characters (Cc),
 * zero-width ones, line and paragraph separators, and those that change the direction of a text.
 * Two names that look alike must not differ in them, and a name must not turn the text after it
 * around. The two joiners (U+200C, U+200D) are allowed, because Persian, languages of India and
 * emoji are written with them. As ranges, because in Python, as in many readers of OpenAPI
 * documents, patterns have no `\p{Cc}`.
 */
export const UNSEEN = String.raw`\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb`;

/**
 * A text in one line. PostgreSQL cannot store NUL. An unpaired surrogate would be stored as another
 * character. Other control characters would break lines of logs and tables.
 */
export const line = z
  .string()
  .regex(new RegExp(`^[^${UNSEEN}]*$`), 'must not contain control characters or invisible ones')
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
