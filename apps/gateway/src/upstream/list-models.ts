/** Asks the upstream which models it offers, and whether it accepts the credentials. */

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
  return withDispatcher(target, proxies, async (dispatcher) => {
    if (!('accounts' in target)) return listOf(target, dispatcher);
    const readings = await Promise.all(
      target.accounts.map(async (account) => ({
        name: account.name,
        reading: await listOf(account, dispatcher),
      })),
    );
    return inAll(readings);
  });
}

/** Whether the upstream accepts a credential. */
export interface CredentialCheck {
  /** The name of the upstream account; `undefined` if there is only one, without a name. */
  readonly account: string | undefined;
  /** `unclear`: the upstream could not be reached, or its answer says something else. */
  readonly outcome: 'accepted' | 'refused' | 'unclear';
  /** Continues the sentence "The upstream …"; `undefined` if the credential is accepted. */
  readonly reason: string | undefined;
}

/** How long the upstream may take to accept or refuse a credential. */
const CHECK_TIMEOUT_MS = 5_000;

/**
 * Asks for one model with the credential of each account, all at the same time. That costs nothing.
 *
 * @param stop - Ends the check, whose outcome is then `unclear`.
 */
export async function checkCredentials(
  target: UpstreamTarget,
  proxies: ProxyVariables,
  stop?: AbortSignal,
): Promise<readonly CredentialCheck[]> {
  const ended = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  const signal = stop === undefined ? ended : AbortSignal.any([ended, stop]);
  const deadline = { ms: CHECK_TIMEOUT_MS, signal };
  const named =
    'accounts' in target
      ? target.accounts.map((account) => ({ account: account.name, at: account }))
      : [{ account: undefined, at: target }];
  return withDispatcher(target, proxies, (dispatcher) =>
    Promise.all(
      named.map(async ({ account, at }): Promise<CredentialCheck> => {
        const answer = await askForModels(at, dispatcher, { limit: 1, deadline });
        if ('status' in answer && answer.status === 200) {
          return { account, outcome: 'accepted', reason: undefined };
        }
        const isRefused = 'status' in answer && [401, 403].includes(answer.status);
        return { account, outcome: isRefused ? 'refused' : 'unclear', reason: reasonOf(answer) };
      }),
    ),
  );
}

async function withDispatcher<Result>(
  target: UpstreamTarget,
  proxies: ProxyVariables,
  ask: (dispatcher: Dispatcher) => Promise<Result>,
): Promise<Result> {
  const options = { maxResponseSize: MOST_BYTES };
  const dispatcher =
    openProxyAgent(isSimulated(target) ? {} : proxies, options) ?? new Agent(options);
  try {
    return await ask(dispatcher);
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
  target: AnthropicTarget,
  dispatcher: Dispatcher,
): Promise<UpstreamModelsReading> {
  const deadline = { ms: TIMEOUT_MS, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const models: UpstreamModel[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const answer = await askForModels(target, dispatcher, { limit: PAGE, after, deadline });
    if (!('status' in answer) || answer.status !== 200) {
      return { outcome: 'failed', reason: reasonOf(answer) };
    }
    const page = modelPage.safeParse(parseJson(answer.text));
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

interface Deadline {
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** Either the answer of the upstream, or why there is none. */
type ModelsAnswer =
  { readonly status: number; readonly text: string } | { readonly reason: string };

async function askForModels(
  { url, apiKey }: AnthropicTarget,
  dispatcher: Dispatcher,
  {
    limit,
    after,
    deadline,
  }: { readonly limit: number; readonly after?: string | undefined; readonly deadline: Deadline },
): Promise<ModelsAnswer> {
  const { origin, prefix } = addressOf(url);
  const address = new URL(`${origin}${prefix}/v1/models`);
  address.searchParams.set('limit', String(limit));
  if (after !== undefined) address.searchParams.set('after_id', after);
  try {
    const { statusCode, body } = await request(address, {
      headers: { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' },
      dispatcher,
      signal: deadline.signal,
    });
    return { status: statusCode, text: await body.text() };
  } catch (error) {
    if (deadline.signal.aborted) {
      return { reason: `it did not answer within ${String(deadline.ms / 1000)} seconds` };
    }
    // Without the text of the error, which may have the address of a proxy with its password.
    return {
      reason: `its response could not be received (${errorCode(error) ?? 'unknown error'})`,
    };
  }
}

/** Why an answer is no list of models. */
function reasonOf(answer: ModelsAnswer): string {
  return 'reason' in answer ? answer.reason : `it answered with status ${String(answer.status)}`;
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
