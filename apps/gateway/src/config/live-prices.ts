/** The tables of prices and of costs in force, which a reload or a scheduled change replaces. */

import { parsePriceSchedule } from '@gateway/billing';
import type { PriceSchedule, PriceTable } from '@gateway/billing';
import type { Settings } from './settings.js';

export interface LivePrices extends PriceTable {
  /** The table of another time (milliseconds since the epoch), by the current schedule. */
  at(atMs: number): PriceTable;
  /** As {@link PriceSchedule.nextChange}, by the current schedule. */
  nextChange(afterMs: number): number;
  replace(settings: Pick<Settings, 'priceTable'>): void;
}

/** @param now - Milliseconds since the epoch. */
export function createLivePrices(
  settings: Pick<Settings, 'priceTable'>,
  now: () => number = Date.now,
): LivePrices {
  let schedule: PriceSchedule = parsePriceSchedule(settings.priceTable);
  return {
    find: (id) => schedule.at(now()).find(id),
    list: () => schedule.at(now()).list(),
    at: (atMs) => schedule.at(atMs),
    get unbilledRefusals() {
      return schedule.at(now()).unbilledRefusals;
    },
    get declinedAttempts() {
      return schedule.at(now()).declinedAttempts;
    },
    get fees() {
      return schedule.at(now()).fees;
    },
    nextChange: (afterMs) => schedule.nextChange(afterMs),
    replace(next) {
      schedule = parsePriceSchedule(next.priceTable);
    },
  };
}

/** @returns the table of costs at a time, by the settings in force then */
export function createLiveCosts(
  settings: () => Pick<Settings, 'costTable'>,
): (atMs: number) => PriceTable | undefined {
  let read: unknown;
  let schedule: PriceSchedule | undefined;
  return (atMs) => {
    const { costTable } = settings();
    if (costTable !== read) {
      schedule = costTable === undefined ? undefined : parsePriceSchedule(costTable);
      read = costTable;
    }
    return schedule?.at(atMs);
  };
}
