/** Days and months in a time zone, for sums that are kept by whole hours. */

import { DAY_MS, HOUR_MS } from './times.js';

interface Range {
  /** Milliseconds since the epoch, as is `until`, which is not included. */
  readonly from: number;
  readonly until: number;
}

export function isZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** Whether the days of the zone begin at whole hours of UTC throughout the range. */
export function isWholeHours(zone: string, { from, until }: Range): boolean {
  for (let time = from; time < until; time += DAY_MS) {
    if (offsetOf(zone, time) % HOUR_MS !== 0) return false;
  }
  return true;
}

/** The days that the range touches. A day of a change to summer time has 23 or 25 hours. */
export function daysIn(
  zone: string,
  { from, until }: Range,
): { readonly starts: readonly number[]; readonly indexOf: (hour: number) => number | undefined } {
  const starts: number[] = [];
  const indexes = new Map<number, number>();
  let day: number | undefined;
  for (let hour = from; hour < until; hour += HOUR_MS) {
    const its = Math.floor((hour + offsetOf(zone, hour)) / DAY_MS);
    if (its !== day) starts.push(hour);
    day = its;
    indexes.set(hour, starts.length - 1);
  }
  return { starts, indexOf: (hour) => indexes.get(hour) };
}

/**
 * The start of a month in the zone, in milliseconds since the epoch; the first hour of it if its
 * midnight is skipped.
 *
 * @param month - From 0; 12 is January of the next year.
 */
export function monthStart(zone: string, year: number, month: number): number {
  return dayStart(zone, Date.UTC(year, month));
}

/**
 * The start of a day in the zone; the first hour of it if its midnight is skipped.
 *
 * @param day - The midnight of the same date in UTC, in milliseconds since the epoch.
 */
export function dayStart(zone: string, day: number): number {
  let time = day - MOST_AHEAD_MS;
  while (time + offsetOf(zone, time) < day) time += HOUR_MS;
  return time;
}

/** The date that a time has in the zone, as the midnight of that date in UTC. */
export function dateIn(zone: string, time: number): number {
  return Math.floor((time + offsetOf(zone, time)) / DAY_MS) * DAY_MS;
}

/** The time at which clocks in the zone show what clocks in UTC show at `local`. */
export function timeIn(zone: string, local: number): number {
  const near = local - offsetOf(zone, local);
  return local - offsetOf(zone, near);
}

const MOST_AHEAD_MS = 15 * HOUR_MS;
const CHECKED_YEARS = 2;

/** Whether months there begin at whole hours of UTC, some years before and after a time. */
export function hasMonthsOfHours(zone: string, time: number): boolean {
  const year = new Date(time).getUTCFullYear();
  for (let month = -12 * CHECKED_YEARS; month < 12 * CHECKED_YEARS; month += 1) {
    if (offsetOf(zone, monthStart(zone, year, month)) % HOUR_MS !== 0) return false;
  }
  return true;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}

const MAX_FORMATS = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

/** How far the zone is ahead of UTC. */
function offsetOf(zone: string, time: number): number {
  let format = formats.get(zone);
  if (format === undefined) {
    if (formats.size >= MAX_FORMATS) formats.clear();
    formats.set(zone, (format = formatOf(zone)));
  }
  const parts = Object.fromEntries(
    format.formatToParts(time).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1_000) * 1_000;
}
