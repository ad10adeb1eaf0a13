/** Asks the upstream which models it offers. */

import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { errorCode } from '../base/error-code.js';
import { parseJson } from '../base/parse-json.js';
import { isSimulated } from '../config/upstream-target.js';
import type { AnthropicTarget, UpstreamTarget } from '../config/upstream-target.js';
import { addressOf } from './anthropic.js';
import { openProxyAgent } from './client.js';
import type { ProxyVariables } from './client.js';
import type { UpstreamModel, UpstreamModelsReading } from './upstream-models.js';

const PAGE = 1000;
const MOST_PAGES = 10;
const MOST_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 10_000;

const modelPage = z.object({
  data: z.array(
    z.object({
      id: z.string().min(1).max(200),
      display_name: z.string().max(200).optional(),
      created_at: z.string().optional(),
      max_input_tokens: z.number().int().nullish(),
      max_tokens: z.number().int().nullish(),
    }),
  ),
  has_more: z.boolean().optional(),
  last_id: z.string().nullish(),
});

/**
 * With several accounts, a model counts as offered if each account offers it, because any of them
 * may get the request.
 */
export async function listUpstreamModels(
  target: UpstreamTarget,
  proxies: ProxyVariables,
): Promise<UpstreamModelsReading> {
  const options = { maxResponseSize: MOST_BYTES };
  const dispatcher =
    openProxyAgent(isSimulated(target) ? {} : proxies, options) ?? new Agent(options);
  try {
    if (!('accounts' in target)) return await listOf(target, dispatcher);
    const readings = await Promise.all(
      target.accounts.map(async (account) => ({
        name: account.name,
        reading: await listOf(account, dispatcher),
      })),
    );
    return inAll(readings);
  } finally {
    await dispatcher.destroy();
  }
}

function inAll(
  readings: readonly { readonly name: string; readonly reading: UpstreamModelsReading }[],
): UpstreamModelsReading {
  const lists: (readonly UpstreamModel[])[] = [];
  for (const { name, reading } of readings) {
    if (reading.outcome === 'failed') {
      return { outcome: 'failed', reason: `account "${name}": ${reading.reason}` };
    }
    lists.push(reading.models);
  }
  const [first = [], ...others] = lists;
  const sets = others.map((models) => new Set(models.map(({ id }) => id)));
  return { outcome: 'listed', models: first.filter(({ id }) => sets.every((set) => set.has(id))) };
}

async function listOf(
  { url, apiKey }: AnthropicTarget,
  dispatcher: Dispatcher,
): Promise<UpstreamModelsReading> {
  const { origin, prefix } = addressOf(url);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const models: UpstreamModel[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const address = new URL(`${origin}${prefix}/v1/models`);
    address.searchParams.set('limit', String(PAGE));
    if (after !== undefined) address.searchParams.set('after_id', after);
    let status: number;
    let text: string;
    try {
      const response = await request(address, {
        headers: { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' },
        dispatcher,
        signal,
      });
      status = response.statusCode;
      text = await response.body.text();
    } catch (error) {
      return { outcome: 'failed', reason: reasonOf(error, signal) };
    }
    if (status !== 200) {
      return { outcome: 'failed', reason: `it answered with status ${String(status)}` };
    }
    const page = modelPage.safeParse(parseJson(text));
    if (!page.success) {
      return {
        outcome: 'failed',
        reason: 'it answered with something other than a list of models',
      };
    }
    models.push(...page.data.data.map(modelOf));
    const { has_more: hasMore, last_id: last } = page.data;
    if (hasMore !== true || last === undefined || last === null) {
      return { outcome: 'listed', models };
    }
    after = last;
  }
  return {
    outcome: 'failed',
    reason: `its list has more than ${String(MOST_PAGES)} pages`,
  };
}

/** Leaves out the text of the error, which may contain the address of a proxy with its password. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `it did not answer within ${String(TIMEOUT_MS / 1000)} seconds`;
  return `its response could not be received (${errorCode(error) ?? 'unknown error'})`;
}

function modelOf(model: z.output<typeof modelPage>['data'][number]): UpstreamModel {
  return {
    id: model.id,
    displayName: model.display_name,
    createdAt: model.created_at,
    contextWindow: model.max_input_tokens ?? undefined,
    maxOutputTokens: model.max_tokens ?? undefined,
  };
}
