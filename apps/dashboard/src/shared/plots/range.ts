/**
 * The time that a view covers, as the address says it: a length that ends now, or days of one's
 * own; in the viewer's time zone or in UTC.
 */

import type { Unit } from './plot.js';
import type { Route } from '../api/router.js';
import { DAY_MS, HOUR_MS, utcDay } from '../text/times.js';
import { LOCALE } from '../text/numbers.js';

export const RANGES = [
  ['24h', '24 hours'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['own', 'Own'],
] as const;

export type RangeName = (typeof RANGES)[number][0];

export interface Range {
  /** Milliseconds since the epoch, as is `until`, which is not included. */
  readonly from: number;
  readonly until: number;
  readonly every: 'hour' | 'day';
  /** A name such as `Europe/Rome`. */
  readonly zone: string;
  readonly isOpen: boolean;
}

/** The viewer's time zone. */
export const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Sums are kept by whole hours of UTC, so the days of other zones cannot be summed. */
export function isSummable(nowMs: number): boolean {
  return OWN_ZONE !== 'UTC' && new Date(nowMs).getTimezoneOffset() % 60 === 0;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** Hours of a longer time could not be told apart. */
const MAX_HOURS = 8 * 24;
const MAX_DAYS = 366;

/**
 * @param query - The filters of the address. `range`, `from` and `until` (days, both included),
 * `every` and `zone`. What has no meaning counts as absent.
 */
export function rangeOf(query: Route['query'], name: RangeName, nowMs: number): Range {
  const zone = query['zone'] === 'local' && isSummable(nowMs) ? OWN_ZONE : 'UTC';
  const today = startOfDay(nowMs, zone);
  if (name === '24h') {
    const until = Math.floor(nowMs / HOUR_MS) * HOUR_MS + HOUR_MS;
    return { from: until - DAY_MS, until, every: 'hour', zone, isOpen: true };
  }
  const days = name === 'own' ? ownDays(query, zone) : undefined;
  const count = name === 'own' ? 30 : Number(name);
  const { from, until } = days ?? {
    from: addDays(today, 1 - count, zone),
    until: addDays(today, 1, zone),
  };
  const canHours = (until - from) / HOUR_MS <= MAX_HOURS;
  const every =
    canHours && (query['every'] === 'hour' || until - from <= 3 * DAY_MS) ? 'hour' : 'day';
  return { from, until, every, zone, isOpen: until > nowMs && from <= nowMs };
}

export function canHaveHours({ from, until }: Range): boolean {
  return (until - from) / HOUR_MS <= MAX_HOURS;
}

function ownDays(query: Route['query'], zone: string) {
  const { from = '', until = '' } = query;
  const first = dayStart(from, zone);
  const last = dayStart(until === '' ? from : until, zone);
  if (first === undefined || last === undefined || last < first) return undefined;
  const end = addDays(last, 1, zone);
  return end - first > MAX_DAYS * DAY_MS ? undefined : { from: first, until: end };
}

function dayStart(day: string, zone: string): number | undefined {
  // JavaScript takes 31 November for 1 December.
  if (!DAY.test(day) || utcDay(Date.parse(day) || 0) !== day) return undefined;
  const ms = Date.parse(zone === 'UTC' ? `${day}T00:00:00Z` : `${day}T00:00:00`);
  return Number.isNaN(ms) ? undefined : ms;
}

function startOfDay(ms: number, zone: string): number {
  return zone === 'UTC' ? Math.floor(ms / DAY_MS) * DAY_MS : new Date(ms).setHours(0, 0, 0, 0);
}

/** Days of the viewer's zone may have 23 or 25 hours. */
function addDays(start: number, days: number, zone: string): number {
  if (zone === 'UTC') return start + days * DAY_MS;
  const date = new Date(start);
  return date.setDate(date.getDate() + days);
}

/** How texts and the axis speak of the spans of a range. */
export function unitOf({ every, zone }: Pick<Range, 'every' | 'zone'>, spans: number): Unit {
  const place = zone === 'UTC' ? 'in UTC' : `in your time zone, ${zone}`;
  const format = (options: Intl.DateTimeFormatOptions) => {
    const text = new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: zone });
    return (span: string) => text.format(new Date(span));
  };
  if (every === 'day') {
    return {
      one: 'day',
      zone: `Days are ${place}`,
      label: format({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }),
      tick: format({ day: 'numeric', month: 'short' }),
    };
  }
  return {
    one: 'hour',
    zone: `Hours are ${place}`,
    label: format({
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
    }),
    tick: format({ hour: 'numeric', ...(spans > 26 ? { weekday: 'short' } : {}) }),
  };
}

/** Such as `28 Oct to 26 Nov 2026`. */
export function rangeText({ from, until }: Pick<Range, 'from' | 'until'>, zone: string): string {
  const isShort = until - from <= DAY_MS && (from % DAY_MS !== 0 || until - from < DAY_MS);
  const text = new Intl.DateTimeFormat(LOCALE, {
    ...(isShort ? { dateStyle: 'medium', timeStyle: 'short' } : { dateStyle: 'medium' }),
    timeZone: zone,
  });
  return text.formatRange(from, until - 1);
}
