export { formatUsd, parseUsd, USD_DECIMALS, UsdFormatError } from './usd.js';
export { readRates, SPECIFIED_FACTORS, UNBILLED_RATES } from './rates.js';
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
export { isDeprecated, parsePriceTable, PriceTableError } from './price-table.js';
export type { EffortLevel, ModelPrice, ModelTraits, PriceTable } from './price-table.js';
export type { PriceScheduleJson, PriceTableJson } from './price-schemas.js';
export { chargeOfAttempt, itemizeCharge, promptTokensOf } from './itemized-charge.js';
export type {
  AttemptCharge,
  ChargePart,
  ItemizedCharge,
  PricedAttempt,
} from './itemized-charge.js';
export type { ChargedFee, Fees, ServerToolUse } from './fees.js';
export { highestRates, variantFor } from './variants.js';
export type { Circumstances, PriceVariant, Selector } from './variants.js';
export { isUnbilled } from './unbilled.js';
export type { AttemptEnd, RefusalRule } from './unbilled.js';
export { NAMED_TABLES, parsePriceSchedule, wholePriceTable } from './extended-table.js';
export type { BaseTables, ExtendedTableJson, NamedTable } from './extended-table.js';
export type { PriceSchedule } from './price-schedule.js';
export { defaultPriceTable, defaultPriceTableJson } from './default-price-table.js';
export { listPriceTable, listPriceTableJson } from './list-price-table.js';
