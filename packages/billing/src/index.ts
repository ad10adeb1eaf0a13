export { formatUsd, parseUsd, USD_DECIMALS, UsdFormatError } from './usd.js';
export { readRates, SPECIFIED_FACTORS } from './rates.js';
export type {
  CacheFactors,
  PublishedRates,
  RateField,
  RateProblem,
  Rates,
  RatesReading,
} from './rates.js';
export { chargeOf, MAX_TOKENS, usageProblem, worstCaseCharge } from './charge.js';
export type { ChargeableUsage, TokenCeiling } from './charge.js';
export { isDeprecated, parsePriceTable, PriceTableError, UNBILLED_RATES } from './price-table.js';
export type {
  EffortLevel,
  ModelPrice,
  ModelTraits,
  PriceTable,
  PriceTableJson,
} from './price-table.js';
export { parsePriceSchedule } from './price-schedule.js';
export type { PriceSchedule, PriceScheduleJson } from './price-schedule.js';
export { defaultPriceTable, defaultPriceTableJson } from './default-price-table.js';
