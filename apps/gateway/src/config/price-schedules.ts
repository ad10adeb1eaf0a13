/**
 * What customers pay: the prices of `PRICES`, those of a table of `CUSTOMER_PRICES`, or the former
 * times a factor. An account names one of the last two in one word, which is read with its key.
 *
 * A request takes all that follows from it once, at its admission. Its entry has the rates, so that
 * audits and statements need no table. If a reload removed the table of an account, its requests
 * get 503, because nobody has agreed to the usual price, and a reload cannot ask the ledger which
 * tables are in use.
 */

import { PriceTableError, parsePriceSchedule, wholePriceTable } from '@gateway/billing';
import type { PriceSchedule, PriceScheduleJson, PriceTable } from '@gateway/billing';
import { tableAtHome } from './home-tables.js';
import type { Settings } from './settings.js';
import type { OwnTable } from './upstream-target.js';

export type PriceTables = Pick<Settings, 'priceTable' | 'customerTables'> &
  Partial<Pick<Settings, 'upstream'>>;

export interface PricesOfCustomer {
  readonly schedule: PriceSchedule;
  /** By the name of an upstream account, only those with prices of their own. */
  readonly homes: ReadonlyMap<string, PriceSchedule>;
}

/** `problem`: why the prices cannot be used, for the operator. */
export type ScheduleReading = PricesOfCustomer | { readonly problem: string };

/** What a customer pays at a time for an answer of an upstream account. */
export function tableFor(
  { schedule, homes }: PricesOfCustomer,
  { account, atMs }: { readonly account: string | undefined; readonly atMs: number },
): PriceTable {
  return ((account === undefined ? undefined : homes.get(account)) ?? schedule).at(atMs);
}

export interface PriceSchedules {
  readonly usual: PriceSchedule;
  /** @param prices - As an account has it: a factor, or the name of a table; `null`: the usual. */
  readonly of: (prices: string | null) => ScheduleReading;
  /** The tables of `CUSTOMER_PRICES`. */
  readonly owned: () => readonly PriceSchedule[];
}

export function readSchedules({
  priceTable,
  customerTables,
  upstream,
}: PriceTables): PriceSchedules {
  const ownPrices = ownPricesOf(upstream);
  const ofUsual = pricesOf(priceTable, ownPrices);
  const usual = ofUsual.schedule;
  const known = new Map<string, ScheduleReading>();

  function read(prices: string): ScheduleReading {
    if (!isFactor(prices)) {
      const table = Object.hasOwn(customerTables, prices) ? customerTables[prices] : undefined;
      if (table !== undefined) return pricesOf(table, ownPrices);
      const names = Object.keys(customerTables).join(', ');
      const there = names === '' ? 'is not set' : `has ${names}`;
      return { problem: `there is no price table "${prices}": CUSTOMER_PRICES ${there}` };
    }
    try {
      return pricesOf(wholePriceTable(...timesFactor(priceTable, prices)), ownPrices);
    } catch (error) {
      if (!(error instanceof PriceTableError)) throw error;
      return { problem: `the factor ${prices} cannot be used: ${error.problems.join('; ')}` };
    }
  }

  function of(prices: string | null): ScheduleReading {
    if (prices === null) return ofUsual;
    let reading = known.get(prices);
    if (reading === undefined) {
      reading = read(prices);
      known.set(prices, reading);
    }
    return reading;
  }

  return {
    usual,
    of,
    owned: () =>
      Object.keys(customerTables).flatMap((name) => {
        const reading = of(name);
        return 'schedule' in reading ? [reading.schedule] : [];
      }),
  };
}

function ownPricesOf(upstream: Settings['upstream'] | undefined) {
  if (upstream === undefined || !('accounts' in upstream)) return [];
  return upstream.accounts.flatMap(({ name, prices }) =>
    prices === undefined ? [] : [[name, prices] as const],
  );
}

/** @param ownPrices - Those of upstream accounts. */
function pricesOf(
  table: PriceScheduleJson,
  ownPrices: readonly (readonly [string, OwnTable])[],
): PricesOfCustomer {
  const homes = ownPrices.map(
    ([name, own]) =>
      [name, parsePriceSchedule(tableAtHome(own, { name: 'prices', table }))] as const,
  );
  return { schedule: parsePriceSchedule(table), homes: new Map(homes) };
}

/** Names of tables begin with a letter. */
function isFactor(prices: string): boolean {
  return /^\d/.test(prices);
}

function timesFactor(priceTable: PriceScheduleJson, factor: string) {
  return [{ extends: 'prices', factor }, { prices: priceTable }] as const;
}
