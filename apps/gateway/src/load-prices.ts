/** Reads the price table that the configuration names. */

import { readFileSync } from 'node:fs';
import { defaultPriceTable, parsePriceTable } from '@gateway/billing';
import type { PriceTable } from '@gateway/billing';
import { ConfigError } from './config.js';

export function loadPriceTable(path: string | undefined): PriceTable {
  if (path === undefined) return defaultPriceTable();
  try {
    return parsePriceTable(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new ConfigError([
      `PRICE_TABLE: ${error instanceof Error ? error.message : 'unreadable'}`,
    ]);
  }
}
