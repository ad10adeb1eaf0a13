/**
 * The range of a command: `--since` and `--until`, or `--month`. Where a report needs a range and
 * none is given, it is of the last 30 days.
 */

import { Option } from 'commander';
import { HOUR_MS } from '../base/times.js';
import { monthRange, monthText, timeOf, when } from './when.js';

const DEFAULT_FROM = '30d';

/** The members of a range that an operation needs. */
interface Needed {
  readonly from: boolean;
  readonly until: boolean;
}

export interface TypedRange {
  readonly from?: string | undefined;
  readonly until?: string | undefined;
  readonly month?: string | undefined;
}

/** @param says - What the help says about both ends. */
export function rangeOptions(
  needed: Needed,
  says: { readonly from: string | undefined; readonly until: string | undefined },
): readonly Option[] {
  const withDefault = (text = '', shown: string) => `${text} (default: ${shown})`;
  return [
    new Option(
      '--since, --from <when>',
      needed.from ? withDefault(says.from, DEFAULT_FROM) : says.from,
    ).argParser(when),
    new Option(
      '--until <when>',
      needed.until ? withDefault(says.until, 'now') : says.until,
    ).argParser(when),
    new Option('--month <month>', 'the range of this month, such as 2026-11')
      .argParser(monthText)
      .conflicts(['from', 'until']),
  ];
}

/** The ends of a range as operations take them. One that is neither typed nor needed is absent. */
export function readRange(
  { from, until, month }: TypedRange,
  needed: Needed,
  at: { readonly zone: string; readonly now: number },
): { readonly from?: string; readonly until?: string } {
  if (month !== undefined) {
    const range = monthRange(month, at.zone);
    return { from: range.from.toISOString(), until: range.until.toISOString() };
  }
  const first = from ?? (needed.from ? DEFAULT_FROM : undefined);
  const end = until === undefined ? undefined : timeOf(until, at);
  const now = new Date((Math.floor(at.now / HOUR_MS) + 1) * HOUR_MS);
  return {
    ...(first === undefined ? {} : { from: timeOf(first, at).toISOString() }),
    ...(end === undefined && !needed.until ? {} : { until: (end ?? now).toISOString() }),
  };
}
