/**
 * Usage in the columns of FOCUS, the FinOps cost and usage specification: a row for each day, key,
 * model and class of tokens. What a customer pays is the cost. What it could not pay is a row of
 * its own that takes the charge back.
 */

import type { BalanceStore, UsageSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { DAY_MS } from '../../base/times.js';
import { csvOf } from '../../endpoints/csv.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import type { Month } from '../../endpoints/fields.js';
import { tokenLines } from '../../endpoints/statement/statement-facts.js';

const MAX_SUMS = 50_000;

const RATE_OF = {
  input: 'inputPerToken',
  output: 'outputPerToken',
  cache_read: 'cacheReadPerToken',
  cache_write_5m: 'cacheWrite5mPerToken',
  cache_write_1h: 'cacheWrite1hPerToken',
} as const;

/** Those of FOCUS 1.0, in its order. */
const FOCUS_COLUMNS = (
  'AvailabilityZone,BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,' +
  'BillingPeriodEnd,BillingPeriodStart,ChargeCategory,ChargeClass,ChargeDescription,' +
  'ChargeFrequency,ChargePeriodEnd,ChargePeriodStart,CommitmentDiscountCategory,' +
  'CommitmentDiscountId,CommitmentDiscountName,CommitmentDiscountStatus,' +
  'CommitmentDiscountType,ConsumedQuantity,ConsumedUnit,ContractedCost,' +
  'ContractedUnitPrice,EffectiveCost,InvoiceIssuerName,ListCost,ListUnitPrice,' +
  'PricingCategory,PricingQuantity,PricingUnit,ProviderName,PublisherName,RegionId,' +
  'RegionName,ResourceId,ResourceName,ResourceType,ServiceCategory,ServiceName,SkuId,' +
  'SkuPriceId,SubAccountId,SubAccountName,Tags'
).split(',');

export interface FocusQuery {
  readonly month: Month;
  readonly accountId: string | undefined;
  /** The operator, as customers know it. */
  readonly provider: string;
}

/** @throws {OperationError} There are more rows than one file may have. */
export async function readFocusRows(
  store: Pick<BalanceStore, 'readUsage'>,
  { month, accountId, provider }: FocusQuery,
) {
  const { from, until } = month;
  const sums = await store
    .readUsage({
      by: ['day', 'account', 'key', 'model'],
      byRates: true,
      from,
      until,
      accountId,
      maxSums: MAX_SUMS,
    })
    .catch((error: unknown) => {
      if (!(error instanceof RangeError)) throw error;
      throw invalidInput(
        `account_id: is needed, because the month has more than ${String(MAX_SUMS)} sums`,
      );
    });
  return sums.flatMap((sum) => rowsOf(sum, { month, provider }));
}

function rowsOf(sum: UsageSum, { month, provider }: Pick<FocusQuery, 'month' | 'provider'>) {
  const { model = '', accountId = '', keyId = '', rates, start, fees, writtenOff } = sum;
  if (rates === undefined || start === undefined) throw new Error('FOCUS needs days and rates');
  const common = {
    BillingAccountId: accountId,
    BillingCurrency: 'USD',
    BillingPeriodStart: month.from.toISOString(),
    BillingPeriodEnd: month.until.toISOString(),
    ChargePeriodStart: new Date(Math.max(start.getTime(), month.from.getTime())).toISOString(),
    ChargePeriodEnd: new Date(
      Math.min(start.getTime() + DAY_MS, month.until.getTime()),
    ).toISOString(),
    ChargeFrequency: 'Usage-Based',
    InvoiceIssuerName: provider,
    ProviderName: provider,
    PublisherName: 'Anthropic',
    ResourceId: keyId,
    ResourceType: 'API key',
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: 'Messages API',
    SubAccountId: keyId,
  };
  const costs = (usd: string) => ({
    BilledCost: usd,
    ContractedCost: usd,
    EffectiveCost: usd,
    ListCost: usd,
  });
  const rows = tokenLines(sum.usage, rates).map((line) => {
    const price = formatUsd(rates[RATE_OF[line.class]]);
    return {
      ...common,
      ...costs(line.amount_usd),
      ChargeCategory: 'Usage',
      ChargeDescription: `${model}: ${line.class}`,
      ConsumedQuantity: line.tokens,
      ConsumedUnit: 'Tokens',
      ContractedUnitPrice: price,
      ListUnitPrice: price,
      PricingCategory: 'Standard',
      PricingQuantity: line.tokens,
      PricingUnit: 'Tokens',
      SkuId: `${model}/${line.class}`,
      SkuPriceId: `${model}/${line.class}/${price}`,
    };
  });
  const others = [
    ['fees', fees, 'Usage'],
    ['not charged, beyond the balance or a cap', -writtenOff, 'Adjustment'],
  ] as const;
  return [
    ...rows,
    ...others
      .filter(([, amount]) => amount !== 0n)
      .map(([what, amount, category]) => ({
        ...common,
        ...costs(formatUsd(amount)),
        ChargeCategory: category,
        ChargeDescription: `${model}: ${what}`,
      })),
  ];
}

/** The first column is empty, so no amount is in it. */
export function focusCsv({
  rows,
}: {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}): string {
  return csvOf(FOCUS_COLUMNS, rows);
}
