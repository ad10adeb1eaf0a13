/** Days and times. Usage is summed by days in UTC; a single time is shown in the viewer's zone. */

import { countText } from './count-text.js';
import { LOCALE, decimalText } from './numbers.js';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

const timeFormat = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: 'medium',
  timeStyle: 'medium',
});
const dateFormat = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium' });

/** @param iso - A time as the gateway sends it. */
export function timeText(iso: string): string {
  return timeFormat.format(new Date(iso));
}

export function dateText(iso: string): string {
  return dateFormat.format(new Date(iso));
}

const minuteFormat = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: 'medium',
  timeStyle: 'short',
});

/** A time in the viewer's zone, without seconds. */
export function minuteText(iso: string): string {
  return minuteFormat.format(new Date(iso));
}

const clockFormat = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit' });

/** The time of a day, in the viewer's zone. */
export function clockText(iso: string): string {
  return clockFormat.format(new Date(iso));
}

/** How long something took, such as `840 ms` or `2.41 s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${String(ms)} ms`;
  return `${decimalText((ms / 1_000).toFixed(ms < 10_000 ? 2 : 1))} s`;
}

/** The day in UTC, such as `2026-11-22`. */
export function utcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The last days in UTC, the oldest first. Today is the last. */
export function lastDays(count: number, nowMs: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => utcDay(nowMs - (count - 1 - index) * DAY_MS));
}

/** The last months in UTC, this one first, such as `2026-11`. */
export function lastMonths(count: number, nowMs: number): readonly string[] {
  const now = new Date(nowMs);
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - index)).toISOString().slice(0, 7),
  );
}

/** 00:00 UTC of the first day of a month, so many months before that of `nowMs`. */
export function monthStart(nowMs: number, back: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back);
}

export function monthText(month: string): string {
  const format = new Intl.DateTimeFormat(LOCALE, {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
  return format.format(new Date(`${month}-01T00:00:00Z`));
}

/** A wait in words, such as `42 seconds` or `3 minutes`. */
export function waitText(seconds: number): string {
  const [count, unit] = seconds < 100 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return countText(count, unit);
}

/**
 * Converts the value of an `<input type="datetime-local">`, in the viewer's zone, to ISO 8601.
 *
 * @returns the text unchanged if it is not a time, so that the gateway can say what is wrong
 */
export function isoOfLocal(text: string): string {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : new Date(ms).toISOString();
}

/** The last day whose year has four digits. */
export const LAST_DAY = '9999-12-31';
const LAST_DAY_MS = Date.parse(LAST_DAY);

/**
 * The day after a day such as `2026-11-22`.
 *
 * @returns the text unchanged if it is not a day before {@link LAST_DAY}: it may come from the
 * query of the page's URL, which can have any text, and the gateway says what is wrong with that
 * text
 */
export function dayAfter(day: string): string {
  const ms = Date.parse(`${day}T00:00:00Z`) + DAY_MS;
  return ms <= LAST_DAY_MS ? utcDay(ms) : day;
}
