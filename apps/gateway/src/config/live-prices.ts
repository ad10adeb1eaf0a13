/** The tables of prices and of costs in force, which a reload or a scheduled change replaces. */

import { parsePriceSchedule } from '@gateway/billing';
import type { PriceSchedule, PriceTable } from '@gateway/billing';
import { createHomeCosts } from './home-tables.js';
import type { HomeCosts } from './home-tables.js';
import { readSchedules } from './price-schedules.js';
import type { PriceSchedules, PriceTables } from './price-schedules.js';
import type { Settings } from './settings.js';

/** The usual prices. */
export interface LivePrices extends PriceTable {
  /** The table of another time (milliseconds since the epoch), by the current schedule. */
  at(atMs: number): PriceTable;
  /** As {@link PriceSchedule.nextChange}, by the current schedule. */
  nextChange(afterMs: number): number;
  /** As {@link PriceSchedules.of}. */
  readonly of: PriceSchedules['of'];
  readonly owned: PriceSchedules['owned'];
  replace(tables: PriceTables): void;
}

/** @param now - Milliseconds since the epoch. */
export function createLivePrices(tables: PriceTables, now: () => number = Date.now): LivePrices {
  let schedules = readSchedules(tables);
  const tableAt = (atMs: number): PriceTable => schedules.usual.at(atMs);
  return {
    find: (id) => tableAt(now()).find(id),
    list: () => tableAt(now()).list(),
    at: tableAt,
    get billedRefusals() {
      return tableAt(now()).billedRefusals;
    },
    get fallbacks() {
      return tableAt(now()).fallbacks;
    },
    get fees() {
      return tableAt(now()).fees;
    },
    nextChange: (afterMs) => schedules.usual.nextChange(afterMs),
    of: (prices) => schedules.of(prices),
    owned: () => schedules.owned(),
    replace(next) {
      schedules = readSchedules(next);
    },
  };
}

/** What requests cost the operator. */
export interface LiveCosts {
  /** @returns the table of `COSTS`; `undefined` if there is none */
  readonly at: (atMs: number) => PriceTable | undefined;
  readonly atHome: HomeCosts;
}

/** @returns the costs at a time, by the settings in force then */
export function createLiveCosts(
  settings: () => Pick<Settings, 'costTable'> & Partial<Pick<Settings, 'upstream'>>,
): LiveCosts {
  let read: { readonly costTable: unknown; readonly upstream: unknown } | undefined;
  let schedule: PriceSchedule | undefined;
  let homes: HomeCosts | undefined;
  function refresh(): void {
    const { costTable, upstream } = settings();
    if (read?.costTable === costTable && read?.upstream === upstream && read !== undefined) return;
    schedule = costTable === undefined ? undefined : parsePriceSchedule(costTable);
    homes = upstream && createHomeCosts(upstream, costTable);
    read = { costTable, upstream };
  }
  return {
    at(atMs) {
      refresh();
      return schedule?.at(atMs);
    },
    atHome(account, atMs) {
      refresh();
      return homes?.(account, atMs);
    },
  };
}
