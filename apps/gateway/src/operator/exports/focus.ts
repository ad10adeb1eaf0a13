/**
 * Usage in the columns of FOCUS, the FinOps cost and usage specification: a row for each day, key,
 * model and class of tokens. Where charges name a member, a group or a tag, there is a row for each
 * of them instead, with all classes of tokens. What a customer pays is the cost. What it could not
 * pay is a row of its own that takes the charge back.
 */

import type { BalanceStore, SpendingSum, UsageSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { DAY_MS } from '../../base/times.js';
import { csvOf } from '../../endpoints/csv.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import type { Month } from '../../endpoints/fields.js';
import { tokenLines } from '../../endpoints/statement/statement-facts.js';

export const MAX_SUMS = 50_000;

const RATE_OF = {
  input: 'inputPerToken',
  output: 'outputPerToken',
  cache_read: 'cacheReadPerToken',
  cache_write_5m: 'cacheWrite5mPerToken',
  cache_write_1h: 'cacheWrite1hPerToken',
} as const;

/** Those of FOCUS 1.0, in its order. */
export const FOCUS_COLUMNS = (
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
  store: Pick<BalanceStore, 'readUsage' | 'readSpending'> & NamedStore,
  { month, accountId, provider }: FocusQuery,
): Promise<readonly FocusRow[]> {
  const { from, until } = month;
  const range = { from, until, accountId, maxSums: MAX_SUMS };
  const [sums, spending] = await Promise.all([
    store.readUsage({ ...range, by: ['day', 'account', 'key', 'model'], byRates: true }),
    readSpendingRows(store, { ...range, period: month, provider }),
  ]).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error;
    throw invalidInput(
      `account_id: is needed, because the month has more than ${String(MAX_SUMS)} sums`,
    );
  });
  const named = new Set(spending.filter(isNamed).map(({ sum }) => ownerOf(sum)));
  return [
    ...sums
      .filter((sum) => !named.has(ownerOf(sum)))
      .flatMap((sum) => rowsOf(sum, { month, provider })),
    ...spending.filter(({ sum }) => named.has(ownerOf(sum))).flatMap(({ rows }) => rows),
  ];
}

export type FocusRow = Readonly<Record<string, string | number>>;

function isNamed({ sum: { memberId, groupId, tag } }: { readonly sum: SpendingSum }): boolean {
  return [memberId, groupId, tag].some((each) => each != null);
}

function ownerOf({ start, accountId, keyId, model }: UsageSum | SpendingSum): string {
  return JSON.stringify([start?.getTime(), accountId, keyId, model]);
}

type NamedStore = Pick<BalanceStore, 'getMember' | 'getGroup'>;

/** For each day, key and model, a sum of each member, group and tag, with its rows. */
export async function readSpendingRows(
  store: Pick<BalanceStore, 'readSpending'> & NamedStore,
  {
    period,
    provider,
    ...range
  }: {
    readonly from: Date;
    readonly until: Date;
    readonly accountId: string | undefined;
    readonly maxSums: number;
    readonly provider: string;
    /** The billing period. */
    readonly period: { readonly from: Date; readonly until: Date };
  },
) {
  const by = ['day', 'account', 'key', 'model', 'member', 'group', 'tag'] as const;
  const sums = await store.readSpending({ ...range, by });
  const [members, groups] = [
    await readById(
      sums,
      ({ memberId }) => memberId,
      (id) => store.getMember(id),
    ),
    await readById(
      sums,
      ({ groupId }) => groupId,
      (id) => store.getGroup(id),
    ),
  ];
  return sums.map((sum) => {
    const [member, group] = [members.get(sum.memberId ?? ''), groups.get(sum.groupId ?? '')];
    const tags = tagsOf(sum, member, group);
    const common = {
      ...commonOf(sum, { range, period, provider }),
      ...(Object.keys(tags).length === 0 ? {} : { Tags: JSON.stringify(tags) }),
    };
    return { sum, member, group, rows: spendingRows(sum, common) };
  });
}

interface Named {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
}

function tagsOf(
  { memberId, groupId, tag }: SpendingSum,
  member: Named | undefined,
  group: Named | undefined,
): Readonly<Record<string, string>> {
  const pairs = (what: string, metadata: Named['metadata'] = {}) =>
    Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`${what}.${name}`, value]));
  return {
    ...(memberId == null ? {} : { member_id: memberId }),
    ...(member === undefined ? {} : { member: member.name }),
    ...(groupId == null ? {} : { group_id: groupId }),
    ...(group === undefined ? {} : { group: group.name }),
    ...(tag == null ? {} : { tag }),
    ...pairs('group.metadata', group?.metadata),
    ...pairs('member.metadata', member?.metadata),
  };
}

/** So many are read at the same time. */
const TOGETHER = 50;

/** The records of what the sums name, by their ids. */
export async function readById<Sum, Found>(
  sums: readonly Sum[],
  idOf: (sum: Sum) => string | null | undefined,
  read: (id: string) => Promise<Found | undefined>,
): Promise<ReadonlyMap<string, Found>> {
  const ids = [...new Set(sums.map(idOf))].filter((id) => id != null);
  const found = new Map<string, Found>();
  for (let start = 0; start < ids.length; start += TOGETHER) {
    await Promise.all(
      ids.slice(start, start + TOGETHER).map(async (id) => {
        const record = await read(id);
        if (record !== undefined) found.set(id, record);
      }),
    );
  }
  return found;
}

function spendingRows(sum: SpendingSum, common: FocusRow): readonly FocusRow[] {
  const { model = '', usage, charged, writtenOff } = sum;
  const tokens = Number(Object.values(usage).reduce((total, count) => total + count, 0n));
  return [
    {
      ...common,
      ...costs(formatUsd(charged + writtenOff)),
      ChargeCategory: 'Usage',
      ChargeDescription: `${model}: all tokens`,
      ConsumedQuantity: tokens,
      ConsumedUnit: 'Tokens',
      PricingCategory: 'Standard',
      PricingQuantity: tokens,
      PricingUnit: 'Tokens',
      SkuId: model,
    },
    ...adjustmentRows(model, writtenOff, common),
  ];
}

function costs(usd: string) {
  return { BilledCost: usd, ContractedCost: usd, EffectiveCost: usd, ListCost: usd };
}

function adjustmentRows(model: string, writtenOff: bigint, common: FocusRow): readonly FocusRow[] {
  if (writtenOff === 0n) return [];
  return [
    {
      ...common,
      ...costs(formatUsd(-writtenOff)),
      ChargeCategory: 'Adjustment',
      ChargeDescription: `${model}: not charged, beyond the balance or a cap`,
    },
  ];
}

/** @param of.range - A day begins and ends within it. */
function commonOf(
  { start, accountId = '', keyId = '' }: UsageSum | SpendingSum,
  {
    range,
    period,
    provider,
  }: {
    readonly range: { readonly from: Date; readonly until: Date };
    readonly period: { readonly from: Date; readonly until: Date };
    readonly provider: string;
  },
): FocusRow {
  if (start === undefined) throw new Error('FOCUS needs days');
  const [first, last] = [start.getTime(), start.getTime() + DAY_MS];
  return {
    BillingAccountId: accountId,
    BillingCurrency: 'USD',
    BillingPeriodStart: period.from.toISOString(),
    BillingPeriodEnd: period.until.toISOString(),
    ChargePeriodStart: new Date(Math.max(first, range.from.getTime())).toISOString(),
    ChargePeriodEnd: new Date(Math.min(last, range.until.getTime())).toISOString(),
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
}

function rowsOf(
  sum: UsageSum,
  { month, provider }: Pick<FocusQuery, 'month' | 'provider'>,
): readonly FocusRow[] {
  const { model = '', rates, fees, writtenOff } = sum;
  if (rates === undefined) throw new Error('FOCUS needs rates');
  const common = commonOf(sum, { range: month, period: month, provider });
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
  const ofFees: readonly FocusRow[] =
    fees === 0n
      ? []
      : [
          {
            ...common,
            ...costs(formatUsd(fees)),
            ChargeCategory: 'Usage',
            ChargeDescription: `${model}: fees`,
          },
        ];
  return [...rows, ...ofFees, ...adjustmentRows(model, writtenOff, common)];
}

/** The first column is empty, so no amount is in it. */
export function focusCsv({ rows }: { readonly rows: readonly FocusRow[] }): string {
  return csvOf(FOCUS_COLUMNS, rows);
}
