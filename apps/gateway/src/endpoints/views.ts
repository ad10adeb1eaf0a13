/**
 * Sums of usage and audits as JSON: snake case, exact decimal strings for money, ISO 8601 for time.
 */

import type { AuditReport, SealHead, UsageDimension, UsageSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { csvOf } from './csv.js';
import { usageFigures } from './schemas.js';

/** @param by - The dimensions that were asked for. */
export function usageSumView(sum: UsageSum, by: readonly UsageDimension[]) {
  const { usage } = sum;
  return {
    object: 'usage_sum' as const,
    ...timeAndOwner(sum, by),
    ...(sum.endpoint === undefined ? {} : { endpoint: sum.endpoint }),
    ...(sum.upstreamAccount === undefined
      ? {}
      : { upstream_account: sum.upstreamAccount === '' ? null : sum.upstreamAccount }),
    requests: sum.requests,
    input_tokens: Number(usage.inputTokens),
    output_tokens: Number(usage.outputTokens),
    cache_read_input_tokens: Number(usage.cacheReadInputTokens),
    cache_creation_input_tokens: Number(usage.cacheCreationInputTokens),
    cache_creation_1h_input_tokens: Number(usage.cacheCreation1hInputTokens),
    charged_usd: formatUsd(sum.listPrice - sum.writtenOff),
    written_off_usd: formatUsd(sum.writtenOff),
  };
}

/** The dimensions that all sums of charges can have, as far as they were asked for. */
export function timeAndOwner(
  {
    start: time,
    model,
    accountId,
    keyId,
  }: Pick<UsageSum, 'start' | 'model' | 'accountId' | 'keyId'>,
  by: readonly string[],
) {
  const start = time?.toISOString();
  return {
    ...(start !== undefined && by.includes('day') ? { day: start.slice(0, 10) } : {}),
    ...(start !== undefined && by.includes('hour') ? { hour: start } : {}),
    ...(model === undefined ? {} : { model }),
    ...(accountId === undefined ? {} : { account_id: accountId }),
    ...(keyId === undefined ? {} : { key_id: keyId }),
  };
}

/** A sum as operators see it: with the cost of its requests, as far as that is recorded. */
export function costedUsageSumView(sum: UsageSum, by: readonly UsageDimension[]) {
  return {
    ...usageSumView(sum, by),
    ...costFigures({ ...sum, charged: sum.listPrice - sum.writtenOff }),
  };
}

/** @returns no figure if no cost is known, and no margin if some are not */
export function costFigures({
  charged,
  cost,
  requests,
  costed,
}: Pick<UsageSum, 'cost' | 'requests' | 'costed'> & { readonly charged: bigint }) {
  if (costed === 0) return {};
  const known = costView(charged, cost);
  return costed === requests
    ? known
    : { cost_usd: known.cost_usd, requests_without_cost: requests - costed };
}

function costView(charged: bigint, cost: bigint) {
  return { cost_usd: formatUsd(cost), margin_usd: formatUsd(charged - cost) };
}

const DIMENSION_MEMBERS: Readonly<Record<UsageDimension, string>> = {
  day: 'day',
  hour: 'hour',
  model: 'model',
  account: 'account_id',
  key: 'key_id',
  endpoint: 'endpoint',
  upstream: 'upstream_account',
};

export function usageSumsCsv(
  sums: readonly ReturnType<typeof usageSumView>[],
  by: readonly UsageDimension[],
): string {
  const dimensions = by.map((dimension) => DIMENSION_MEMBERS[dimension]);
  return csvOf([...dimensions, ...Object.keys(usageFigures.shape)], sums);
}

export function auditView(report: AuditReport) {
  return {
    object: 'audit' as const,
    is_sound: report.isSound,
    accounts: report.accounts,
    keys: report.keys,
    entries: report.entries,
    archived: report.archived,
    credited_usd: formatUsd(report.credited),
    adjusted_usd: formatUsd(report.adjusted),
    expired_usd: formatUsd(report.expired),
    charged_usd: formatUsd(report.charged),
    written_off_usd: formatUsd(report.writtenOff),
    balances_usd: formatUsd(report.balances),
    sides: report.sides.map(({ side, amount }) => ({ side, amount_usd: formatUsd(amount) })),
    gap_usd: formatUsd(report.gap),
    sealed: report.sealed,
    trail: report.trail,
    sealed_trail: report.sealedTrail,
    head: report.head === undefined ? null : sealText(report.head),
    orphaned_holds: report.orphanedHolds,
    quarantined: report.quarantined,
    conflicts: report.conflicts,
    differences: report.differences.map((difference) => ({
      check: difference.check,
      account_id: difference.accountId ?? null,
      key_id: difference.keyId ?? null,
      entry_id: difference.entryId ?? null,
      expected: difference.expected,
      found: difference.found,
    })),
  };
}

/** `<block>:<hash>`, the form in which people store it and pass it to an audit. */
function sealText({ block, hash }: SealHead): string {
  return `${block.toString()}:${hash}`;
}
