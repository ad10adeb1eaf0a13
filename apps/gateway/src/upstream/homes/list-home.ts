/** The models of a home, by our ids: from its list, or as they are configured. */

import { z } from 'zod';
import { parseJson } from '../../base/parse-json.js';
import type { AnthropicTarget } from '../../config/upstream-target.js';
import { ask, reasonOf } from '../asking.js';
import type { Answer, Asking } from '../asking.js';
import type { Upstream } from '../upstream.js';
import type { UpstreamModel, UpstreamModelsReading } from '../upstream-models.js';
import type { AddCredential } from './credentials/credential.js';
import { CredentialError } from './credentials/renewed-token.js';
import { API_VERSION, headersOf } from './home-headers.js';

/** A home, with the parts of its upstream that ask it. */
export interface AskedHome extends Pick<Upstream, 'origin' | 'request'> {
  readonly target: AnthropicTarget;
  /** The path of {@link AnthropicTarget.url}, without `/v1`. */
  readonly prefix: string;
  readonly addCredential: AddCredential;
}

/** How many models one page of a list has at most. */
export const PAGE = 1000;
const MOST_PAGES = 10;

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

export async function listHome(home: AskedHome, asking: Asking): Promise<UpstreamModelsReading> {
  const { target } = home;
  if (target.lacks?.includes('models') === true) return configuredModels(target);
  const models: UpstreamModel[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const answer = await askForModels(home, { limit: PAGE, after }, asking);
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
      return { outcome: 'listed', models: underOwnIds(models, target.models) };
    }
    after = last;
  }
  return {
    outcome: 'failed',
    reason: `its list has more than ${String(MOST_PAGES)} pages`,
  };
}

export async function askForModels(
  { target, origin, prefix, addCredential }: AskedHome,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
  asking: Asking,
): Promise<Answer> {
  const address = new URL(`${origin}${prefix}/v1/models`);
  address.searchParams.set('limit', String(limit));
  if (after !== undefined) address.searchParams.set('after_id', after);
  const bare = {
    method: 'GET',
    url: address.href,
    headers: headersOf(target, { 'anthropic-version': API_VERSION }),
    body: () => [],
  } as const;
  try {
    const { headers } = await addCredential(bare);
    return await ask(address, { headers }, asking);
  } catch (error) {
    return deniedCredential(error);
  }
}

/** A home that cannot be asked, because there is no credential for it. */
export function deniedCredential(error: unknown): Answer {
  if (error instanceof CredentialError) return { reason: error.message, isDenied: true };
  throw error;
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

/** A home without a list offers what the operator says. */
function configuredModels({ models }: AnthropicTarget): UpstreamModelsReading {
  if (models === undefined) return { outcome: 'failed', reason: 'it has no list of models' };
  return {
    outcome: 'listed',
    models: Object.keys(models).map((id) => ({
      id,
      displayName: undefined,
      createdAt: undefined,
      contextWindow: undefined,
      maxOutputTokens: undefined,
    })),
  };
}

/** Of a home with names of its own, the models that are configured, by our ids. */
function underOwnIds(
  listed: readonly UpstreamModel[],
  names: AnthropicTarget['models'],
): readonly UpstreamModel[] {
  if (names === undefined) return listed;
  return Object.entries(names).flatMap(([id, name]) => {
    const model = listed.find((each) => each.id === name);
    return model === undefined ? [] : [{ ...model, id }];
  });
}
