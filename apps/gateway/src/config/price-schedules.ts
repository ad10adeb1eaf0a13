/**
 * What customers pay: the prices of `PRICES`, those of a table of `CUSTOMER_PRICES`, or the former
 * times a factor. An account names one of the last two in one word, which is read with its key.
 *
 * A request takes all that follows from it once, at its admission. Its entry has the rates, so that
 * audits and statements need no table. If a reload removed the table of an account, its requests
 * get 503, because nobody has agreed to the usual price, and a reload cannot ask the ledger which
 * tables are in use.
 */

import { PriceTableError, parsePriceSchedule } from '@gateway/billing';
import type { PriceSchedule, PriceScheduleJson } from '@gateway/billing';
import type { Settings } from './settings.js';

export type PriceTables = Pick<Settings, 'priceTable' | 'customerTables'>;

/** `problem`: why the prices cannot be used, for the operator. */
export type ScheduleReading = { readonly schedule: PriceSchedule } | { readonly problem: string };

export interface PriceSchedules {
  readonly usual: PriceSchedule;
  /** @param prices - As an account has it: a factor, or the name of a table; `null`: the usual. */
  readonly of: (prices: string | null) => ScheduleReading;
  /** The tables of `CUSTOMER_PRICES`. */
  readonly owned: () => readonly PriceSchedule[];
}

export function readSchedules({ priceTable, customerTables }: PriceTables): PriceSchedules {
  const usual = parsePriceSchedule(priceTable);
  const known = new Map<string, ScheduleReading>();

  function read(prices: string): ScheduleReading {
    if (!isFactor(prices)) {
      if (Object.hasOwn(customerTables, prices)) {
        return { schedule: parsePriceSchedule(customerTables[prices]) };
      }
      const names = Object.keys(customerTables).join(', ');
      const there = names === '' ? 'is not set' : `has ${names}`;
      return { problem: `there is no price table "${prices}": CUSTOMER_PRICES ${there}` };
    }
    try {
      return { schedule: parsePriceSchedule(...timesFactor(priceTable, prices)) };
    } catch (error) {
      if (!(error instanceof PriceTableError)) throw error;
      return { problem: `the factor ${prices} cannot be used: ${error.problems.join('; ')}` };
    }
  }

  function of(prices: string | null): ScheduleReading {
    if (prices === null) return { schedule: usual };
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

/** Names of tables begin with a letter. */
function isFactor(prices: string): boolean {
  return /^\d/.test(prices);
}

function timesFactor(priceTable: PriceScheduleJson, factor: string) {
  return [{ extends: 'prices', factor }, { prices: priceTable }] as const;
}
