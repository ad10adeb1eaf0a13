/**
 * Times as people type them, by one rule in all commands: a day or a local time in the operator's
 * time zone, a time with its own offset, or how long ago it was.
 */

import { InvalidArgumentError } from 'commander';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/times.js';
import { dateIn, dayStart, monthStart, timeIn } from '../base/zones.js';
import { month as monthSchema } from '../endpoints/fields.js';

const DAY = /^\d{4}-\d\d-\d\d$/;
const LOCAL_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
const SPAN = /^(\d{1,5})([mhdw])$/;

const POINT =
  'a day such as 2026-11-01, or a time such as 2026-11-01T13:00 or 2026-11-01T13:00:00Z';

/** A parser of options: refuses what {@link timeOf} cannot read, and keeps the text. */
export function when(text: string): string {
  if (SPAN.test(text) || isPoint(text)) return text;
  throw new InvalidArgumentError(`It must be ${POINT}, or how long ago, such as 7d or 24h.`);
}

/** The same for times that are mostly in the future, so that nobody writes `7d` for "in 7 days". */
export function point(text: string): string {
  if (isPoint(text)) return text;
  throw new InvalidArgumentError(`It must be ${POINT}.`);
}

function isPoint(text: string): boolean {
  if (!DAY.test(text) && !LOCAL_TIME.test(text) && !TIME.test(text)) return false;
  // 2026-02-30 would be read as 2 March.
  const date = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return (
    !Number.isNaN(Date.parse(text.replace(' ', 'T'))) &&
    !Number.isNaN(date.getTime()) &&
    date.toISOString().startsWith(text.slice(0, 10))
  );
}

/** Whether the zone decides what a text means. */
export function needsZone(text: string): boolean {
  return !TIME.test(text) && !/^\d+[mh]$/.test(text);
}

export interface Now {
  readonly zone: string;
  readonly now: number;
}

/** @param text - One that {@link when} takes. Days and weeks ago begin at midnight. */
export function timeOf(text: string, { zone, now }: Now): Date {
  const [, count, unit] = SPAN.exec(text) ?? [];
  if (count !== undefined) {
    const many = Number(count);
    if (unit === 'm') return new Date(now - many * MINUTE_MS);
    // Sums are kept by hours.
    if (unit === 'h') return new Date(Math.floor(now / HOUR_MS) * HOUR_MS - many * HOUR_MS);
    const days = unit === 'w' ? many * 7 : many;
    return new Date(dayStart(zone, dateIn(zone, now) - days * DAY_MS));
  }
  if (DAY.test(text)) return new Date(dayStart(zone, Date.parse(`${text}T00:00:00Z`)));
  if (LOCAL_TIME.test(text)) {
    return new Date(timeIn(zone, Date.parse(`${text.replace(' ', 'T')}Z`)));
  }
  return new Date(text);
}

/** A month as it is typed, checked. */
export function monthText(text: string): string {
  const parsed = monthSchema.safeParse(text);
  if (parsed.success) return text;
  throw new InvalidArgumentError('It must be a month such as 2026-11.');
}

export function monthRange(
  text: string,
  zone: string,
): { readonly from: Date; readonly until: Date } {
  const [year = 0, number = 0] = text.split('-').map(Number);
  return {
    from: new Date(monthStart(zone, year, number - 1)),
    until: new Date(monthStart(zone, year, number)),
  };
}
