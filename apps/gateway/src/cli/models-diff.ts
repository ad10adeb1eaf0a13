/**
 * `gateway models diff`: which models the upstream offers and the price table lacks, and the
 * reverse.
 */

import { parsePriceSchedule } from '@gateway/billing';
import type { PriceTable } from '@gateway/billing';
import { request } from 'undici';
import { z } from 'zod';
import { ConfigError, readConfig } from '../config.js';
import { OperationError } from '../operations/operation.js';
import { readPriceTable } from '../settings/settings.js';

const modelPage = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      display_name: z.string().optional(),
      created_at: z.string().optional(),
      max_input_tokens: z.number().int().nullish(),
      max_tokens: z.number().int().nullish(),
    }),
  ),
  has_more: z.boolean().optional(),
  last_id: z.string().nullish(),
});
type UpstreamModel = z.infer<typeof modelPage>['data'][number];

export interface ModelsDiff {
  /** Entries to paste into the price table. The operator must replace each `null`. */
  readonly missing: readonly Record<string, unknown>[];
  /** Ids of the table that the upstream does not offer. */
  readonly gone: readonly string[];
}

export async function diffModels(): Promise<ModelsDiff> {
  const config = readConfig(process.env);
  if (config.upstream === undefined) {
    throw new ConfigError(['UPSTREAM_API_KEY: is needed to ask the upstream for its models']);
  }
  const table = parsePriceSchedule(readPriceTable(config.priceTablePath)).at(Date.now());
  const offered = await listUpstreamModels(config.upstream);
  const names = new Set(offered.map(({ id }) => id));
  return {
    missing: offered.filter(({ id }) => table.find(id) === undefined).map((m) => entryOf(m, table)),
    gone: table
      .list()
      .filter(({ id, aliases }) => ![id, ...aliases].some((name) => names.has(name)))
      .map(({ id }) => id),
  };
}

export function printModelsDiff({ missing, gone }: ModelsDiff): string {
  const lines = [
    missing.length === 0
      ? 'The table has every model that the upstream offers.'
      : `${String(missing.length)} models of the upstream are not in the table. Paste what you offer, and fill in each null:`,
    ...missing.map((entry) => `${JSON.stringify(entry, null, 2)},`),
  ];
  if (gone.length > 0) lines.push(`Not offered by the upstream (any more): ${gone.join(', ')}`);
  return lines.join('\n');
}

const PAGE = 1000;

async function listUpstreamModels(upstream: {
  readonly url: string;
  readonly apiKey: string;
}): Promise<readonly UpstreamModel[]> {
  const base = upstream.url.replace(/\/+$/, '').replace(/\/v1$/, '');
  const models: UpstreamModel[] = [];
  for (let after: string | undefined; ;) {
    const url = new URL(`${base}/v1/models`);
    url.searchParams.set('limit', String(PAGE));
    if (after !== undefined) url.searchParams.set('after_id', after);
    const { statusCode, body } = await request(url, {
      headers: { 'x-api-key': upstream.apiKey, 'anthropic-version': '2023-06-01' },
    }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : 'unknown';
      throw new OperationError(502, 'api_error', `the upstream cannot be reached: ${reason}`);
    });
    const page = modelPage.safeParse(await body.json().catch(() => undefined));
    if (statusCode !== 200 || !page.success) {
      const what =
        statusCode === 200 ? 'something other than a list of models' : String(statusCode);
      throw new OperationError(502, 'api_error', `the upstream answered with ${what}`);
    }
    models.push(...page.data.data);
    const { has_more: hasMore, last_id: last } = page.data;
    if (hasMore !== true || last === undefined || last === null) return models;
    after = last;
  }
}

/**
 * An entry with the facts that the upstream reports about a model. Rates, and limits that it does
 * not report, are `null`.
 */
function entryOf(model: UpstreamModel, table: PriceTable): Record<string, unknown> {
  const isTime = model.created_at !== undefined && !Number.isNaN(Date.parse(model.created_at));
  return {
    id: model.id,
    display_name: model.display_name ?? model.id,
    ...(isTime ? { created_at: new Date(model.created_at ?? '').toISOString() } : {}),
    rate_in: null,
    rate_out: null,
    max_output_tokens: model.max_tokens ?? null,
    context_window: model.max_input_tokens ?? null,
    traits: traitsOfNewest(table),
  };
}

/**
 * The traits of the newest model in the table, because new models mostly accept the same
 * parameters. Where a new model differs, the upstream answers a request with a 400.
 */
function traitsOfNewest(table: PriceTable): Record<string, unknown> {
  const [newest] = [...table.list()].sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  return {
    sampling: newest?.traits.sampling ?? null,
    forced_tool_choice: newest?.traits.forcedToolChoice ?? null,
    effort: newest?.traits.effort ?? null,
    thinking_off: newest?.traits.thinkingOff ?? null,
  };
}
