/** Compares the ledger with the usage that the provider counted and the costs that it bills. */

import { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import { compareUsage } from '../reconciliation/compare-usage.js';
import type { ComparedItem, ComparedModel } from '../reconciliation/compare-usage.js';
import { explainDifference } from '../reconciliation/explain-difference.js';
import { ProviderReportError, TOKEN_CLASSES } from '../provider-reports/reports.js';
import type { ProviderReports } from '../provider-reports/reports.js';
import { MUST_BE_AFTER_FROM, day, isInOrder, rangeOf, toleranceUsd } from './fields.js';
import { OperationError, operation } from './operation.js';
import type { OperationContext } from './operation.js';

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;

export const reconciliationOperations = {
  reconcileProvider: operation({
    method: 'GET',
    path: '/admin/reconciliation',
    right: 'read',
    input: z
      .strictObject({
        ...rangeOf(day),
        /** The largest sum of all differences that is tolerated. */
        tolerance_usd: toleranceUsd,
      })
      .refine(isInOrder, MUST_BE_AFTER_FROM)
      .refine(({ from, until }) => until.getTime() - from.getTime() <= MAX_DAYS * DAY_MS, {
        path: ['until'],
        error: `must be at most ${String(MAX_DAYS)} days after from`,
      }),
    async run({ from, until, tolerance_usd: tolerance }, context) {
      const reports = reportsOf(context);
      const { store, prices } = context;
      const range = { from, until };
      const [usage, costs] = await reachingProvider(() =>
        Promise.all([reports.readUsage(range), reports.readCosts(range)]),
      );
      const ledger = await store.readUsage({ by: ['day', 'model'], byRates: true, ...range });
      const priceOf = (model: string, onDay: string) =>
        prices.at(new Date(onDay).getTime() + DAY_MS - 1).find(model);
      const comparison = compareUsage({
        usage,
        costs,
        ledger,
        nameOf: (model) => prices.find(model)?.id ?? model,
        ratesOf: (model, onDay) => priceOf(model, onDay)?.rates,
      });
      const differences = [];
      for (const model of comparison.models) {
        differences.push(differenceView(model, await explainDifference(model, store)));
      }
      const worths = comparison.models.flatMap((model) =>
        model.differences.map(({ worth }) => worth),
      );
      const worth = sumOf(worths);
      return {
        object: 'provider_reconciliation' as const,
        from: dayText(from),
        until: dayText(until),
        tolerance_usd: formatUsd(tolerance),
        /** `false` also if the tokens of a difference have no known price. */
        is_within_tolerance: worth <= tolerance && !worths.includes(undefined),
        compared: comparison.compared,
        provider_usd: formatUsd(comparison.providerCost),
        ledger_usd: formatUsd(comparison.ledgerCost),
        difference_usd: formatUsd(worth),
        differences,
      };
    },
  }),
} as const;

function reportsOf({ reports }: OperationContext): ProviderReports {
  if (reports !== undefined) return reports;
  throw new OperationError(
    404,
    'not_found_error',
    'ANTHROPIC_ADMIN_KEY: is needed to read the reports of the provider',
  );
}

async function reachingProvider<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderReportError)) throw error;
    throw new OperationError(502, 'api_error', error.message);
  }
}

function differenceView(
  { day: onDay, model, differences }: ComparedModel,
  explanation: Awaited<ReturnType<typeof explainDifference>>,
) {
  return {
    day: onDay,
    model,
    difference_usd: formatUsd(sumOf(differences.map(({ worth }) => worth))),
    items: differences.map(itemView),
    ...explanation,
  };
}

function itemView(compared: ComparedItem) {
  const { item, worth } = compared;
  const isTokens = (TOKEN_CLASSES as readonly string[]).includes(item);
  return {
    item,
    provider_tokens: isTokens ? Number(compared.providerTokens) : null,
    ledger_tokens: isTokens ? Number(compared.ledgerTokens) : null,
    provider_usd: formatUsd(compared.providerCost),
    ledger_usd: formatUsd(compared.ledgerCost),
    difference_usd: worth === undefined ? null : formatUsd(worth),
  };
}

function sumOf(worths: readonly (bigint | undefined)[]): bigint {
  return worths.reduce<bigint>((sum, worth) => sum + (worth ?? 0n), 0n);
}

function dayText(date: Date): string {
  return date.toISOString().slice(0, 10);
}
