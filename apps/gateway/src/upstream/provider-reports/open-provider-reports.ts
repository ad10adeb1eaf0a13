/**
 * Reads the usage report and the cost report of Anthropic's Admin API.
 *
 * https://platform.claude.com/docs/manage-claude/usage-cost-api
 */

import { z } from 'zod';
import { parseUsd } from '@gateway/billing';
import type { Config } from '../../config/config.js';
import type { AccountTarget, UpstreamTarget } from '../../config/upstream-target.js';
import { createReportReader } from './report-pages.js';
import type { ReadReport } from './report-pages.js';
import type { OpenReports, ProviderReports, TokenClass } from './reports.js';

const count = z.int().min(0).transform(BigInt);

const usageResult = z.object({
  model: z.string().min(1),
  uncached_input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation: z.object({
    ephemeral_5m_input_tokens: count,
    ephemeral_1h_input_tokens: count,
  }),
});

/** A decimal number of cents. The ledger's unit is 10^-12 cents. */
const cents = z.string().transform((text, context) => {
  try {
    const amount = parseUsd(text);
    if (amount % 100n === 0n) return amount / 100n;
  } catch {
    // The complaint below covers both.
  }
  context.addIssue('must be a decimal amount of cents with at most 12 decimals');
  return z.NEVER;
});

const costResult = z
  .object({
    amount: cents,
    currency: z.literal('USD'),
    cost_type: z.string().nullish(),
    token_type: z.string().nullish(),
    model: z.string().min(1).nullish(),
  })
  .refine(({ cost_type, model }) => cost_type !== 'tokens' || typeof model === 'string', {
    path: ['model'],
    error: 'is missing for tokens',
  });

/** The class of each name in the cost report. */
const CLASS_OF: ReadonlyMap<string, TokenClass> = new Map([
  ['uncached_input_tokens', 'input'],
  ['output_tokens', 'output'],
  ['cache_read_input_tokens', 'cache_read'],
  ['cache_creation.ephemeral_5m_input_tokens', 'cache_write_5m'],
  ['cache_creation.ephemeral_1h_input_tokens', 'cache_write_1h'],
]);

/**
 * Opens the reports of the organizations that pay for the upstream accounts. Accounts with the same
 * admin key belong to one organization, whose reports do not tell them apart.
 */
export function openProviderReports(
  { providerAdmin, proxies }: Pick<Config, 'providerAdmin' | 'proxies'>,
  upstream: UpstreamTarget | undefined,
): OpenReports {
  return (account) => {
    const known = upstream !== undefined && 'accounts' in upstream ? upstream.accounts : undefined;
    if (known === undefined) {
      if (account !== undefined) return { lack: 'unknown', accounts: [] };
      if (providerAdmin.key === undefined) return { lack: 'ADMIN_KEY', accounts: [] };
      const admin = { ...providerAdmin, key: providerAdmin.key };
      return { ...reportsOf(createReportReader(admin, proxies)), accounts: undefined };
    }
    const keyOf = (each: AccountTarget) => each.adminKey ?? providerAdmin.key;
    const named = known.filter(({ name }) => account === undefined || name === account);
    if (named.length === 0) return { lack: 'unknown', accounts: known.map(({ name }) => name) };
    const without = named.filter((each) => keyOf(each) === undefined);
    if (without.length > 0) return { lack: 'ADMIN_KEY', accounts: without.map(({ name }) => name) };
    const keys = [...new Set(named.map(keyOf))].filter((key) => key !== undefined);
    const parts = keys.map((key) =>
      reportsOf(createReportReader({ url: providerAdmin.url, key }, proxies)),
    );
    return {
      accounts:
        account === undefined
          ? undefined
          : known.filter((each) => keyOf(each) === keys[0]).map(({ name }) => name),
      readUsage: async (range) =>
        (await Promise.all(parts.map((part) => part.readUsage(range)))).flat(),
      readCosts: async (range) =>
        (await Promise.all(parts.map((part) => part.readCosts(range)))).flat(),
    };
  };
}

function reportsOf(read: ReadReport): ProviderReports {
  return {
    async readUsage(range) {
      const report = {
        name: 'usage report',
        path: '/v1/organizations/usage_report/messages',
        groupBy: 'model',
      };
      const days = await read(report, usageResult, range);
      return days.flatMap(({ day, results }) =>
        results.map(({ model, ...result }) => ({
          day,
          model,
          tokens: {
            input: result.uncached_input_tokens,
            output: result.output_tokens,
            cache_read: result.cache_read_input_tokens,
            cache_write_5m: result.cache_creation.ephemeral_5m_input_tokens,
            cache_write_1h: result.cache_creation.ephemeral_1h_input_tokens,
          },
        })),
      );
    },
    async readCosts(range) {
      const report = {
        name: 'cost report',
        path: '/v1/organizations/cost_report',
        groupBy: 'description',
      };
      const days = await read(report, costResult, range);
      return days.flatMap(({ day, results }) =>
        results.map(({ model, token_type, cost_type, amount }) => ({
          day,
          model: model ?? null,
          item: CLASS_OF.get(token_type ?? '') ?? token_type ?? cost_type ?? 'other',
          amount,
        })),
      );
    },
  };
}
