/** Compares the ledger with the usage that the provider counted and the costs that it bills. */

import { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import { DAY_MS } from '../../base/times.js';
import {
  MUST_BE_AFTER_FROM,
  day,
  isInOrder,
  rangeOf,
  toleranceUsd,
} from '../../endpoints/fields.js';
import { OperationError } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { line } from '../../endpoints/storable.js';
import { ProviderReportError, TOKEN_CLASSES } from '../../upstream/provider-reports/reports.js';
import type { AccountReports } from '../../upstream/provider-reports/reports.js';
import { compareUsage, dayOf } from '../../upstream/reconciliation/compare-usage.js';
import type { ComparedItem, ComparedModel } from '../../upstream/reconciliation/compare-usage.js';
import { explainDifference } from '../../upstream/reconciliation/explain-difference.js';
import { readModelPrices } from '../../upstream/reconciliation/model-prices.js';
import { operation } from './operation.js';
import type { OperationContext } from './operation.js';

const MAX_DAYS = 366;

export const reconciliationOperations = {
  reconcileProvider: operation({
    method: 'get',
    path: '/admin/reconciliation',
    summary: "Compares the ledger with the provider's usage and cost reports, by day and model",
    right: 'read',
    input: z
      .strictObject({
        ...rangeOf(day),
        /** The largest sum of all differences that is tolerated. */
        tolerance_usd: toleranceUsd,
        /** Only the charges and the bill of this upstream account. */
        upstream: line.min(1).max(100).optional(),
      })
      .refine(isInOrder, MUST_BE_AFTER_FROM)
      .refine(({ from, until }) => until.getTime() - from.getTime() <= MAX_DAYS * DAY_MS, {
        path: ['until'],
        error: `must be at most ${String(MAX_DAYS)} days after from`,
      }),
    output: schema.providerReconciliation,
    async run({ from, until, tolerance_usd: tolerance, upstream }, context) {
      const reports = reportsOf(upstream, context);
      const { accounts } = reports;
      const { store, prices, costsAt, now } = context;
      const range = { from, until };
      const [usage, costs] = await reachingProvider(() =>
        Promise.all([reports.readUsage(range), reports.readCosts(range)]),
      );
      const isOfAccounts = (account: string | undefined): boolean =>
        accounts === undefined || (account !== undefined && accounts.includes(account));
      const by = [
        'day',
        'model',
        ...(accounts === undefined ? [] : ['upstream' as const]),
      ] as const;
      const sums = await store.readUsage({ by, byRates: true, ...range });
      const known = readModelPrices(prices, costsAt, now());
      const ledger = sums
        .filter((sum) => isOfAccounts(sum.upstreamAccount))
        .map((sum) => known.withCosts(sum, dayOf(sum)));
      const comparison = compareUsage({ usage, costs, ledger, ...known });
      const differences = [];
      for (const model of comparison.models) {
        differences.push(
          differenceView(model, await explainDifference(model, store, isOfAccounts)),
        );
      }
      const worths = comparison.models.flatMap((model) =>
        model.differences.map(({ worth }) => worth),
      );
      const worth = sumOf(worths);
      return {
        object: 'provider_reconciliation' as const,
        from: dayText(from),
        until: dayText(until),
        /** Whose charges were compared: these accounts have one bill. `null`: all charges. */
        upstreams: accounts === undefined ? null : [...accounts],
        tolerance_usd: formatUsd(tolerance),
        /** `false` also if the tokens of a difference have no known price. */
        is_within_tolerance: worth <= tolerance && !worths.includes(undefined),
        compared: comparison.compared,
        provider_usd: formatUsd(comparison.providerCost),
        ledger_usd: formatUsd(comparison.ledgerCost),
        days_without_costs: comparison.daysWithoutCosts,
        unknown_models: comparison.unknownModels,
        charged_usd: formatUsd(comparison.charged),
        margin_usd: formatUsd(comparison.charged - comparison.providerCost),
        difference_usd: formatUsd(worth),
        differences,
      };
    },
  }),
} as const;

function reportsOf(
  upstream: string | undefined,
  { reports: open }: Pick<OperationContext, 'reports'>,
): AccountReports {
  const reports = open(upstream);
  if (!('lack' in reports)) return reports;
  const names = reports.accounts.join(', ');
  if (reports.lack === 'unknown') {
    const known = names === '' ? 'UPSTREAMS is not set' : `there are ${names}`;
    throw new OperationError(newRefusal('unknown_upstream_account', { known }));
  }
  const problem =
    names === ''
      ? 'ANTHROPIC_ADMIN_KEY: is needed to read the reports of the provider'
      : `ANTHROPIC_ADMIN_KEY, or admin_key in UPSTREAMS, is needed for ${names}`;
  throw new OperationError(newRefusal('reports_not_configured', { problem }));
}

async function reachingProvider<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderReportError)) throw error;
    throw new OperationError(newRefusal('provider_report_unreadable', { reason: error.message }));
  }
}

function differenceView(
  { day: onDay, model, differences, isAtCost }: ComparedModel,
  explanation: Awaited<ReturnType<typeof explainDifference>>,
) {
  return {
    day: onDay,
    model,
    difference_usd: formatUsd(sumOf(differences.map(({ worth }) => worth))),
    items: differences.map((item) => itemView(item, isAtCost)),
    ...explanation,
  };
}

function itemView(compared: ComparedItem, isAtCost: boolean) {
  const { item, worth } = compared;
  const isTokens = (TOKEN_CLASSES as readonly string[]).includes(item);
  return {
    item,
    provider_tokens: isTokens ? Number(compared.providerTokens) : null,
    ledger_tokens: isTokens ? Number(compared.ledgerTokens) : null,
    provider_usd: isTokens && isAtCost ? null : formatUsd(compared.providerCost),
    ledger_usd: isTokens && isAtCost ? null : formatUsd(compared.ledgerCost),
    difference_usd: worth === undefined ? null : formatUsd(worth),
  };
}

function sumOf(worths: readonly (bigint | undefined)[]): bigint {
  return worths.reduce<bigint>((sum, worth) => sum + (worth ?? 0n), 0n);
}

function dayText(date: Date): string {
  return date.toISOString().slice(0, 10);
}
