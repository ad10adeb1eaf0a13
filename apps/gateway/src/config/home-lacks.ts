/**
 * What a home of the models may lack, by the names that `lacks` of an entry of `UPSTREAMS` uses.
 * `upstream/homes/gaps.ts` has what each kind of home lacks by its documents.
 */

/** What a request may use. `upstream/homes/used-features.ts` says how each is recognized. */
export const HOME_FEATURES = [
  'advisor',
  'automatic_caching',
  'betas',
  'code_execution',
  'fallbacks',
  'fast_mode',
  'inference_geo',
  'long_context',
  'mcp',
  'structured_outputs',
  'system_messages',
  'task_budgets',
  'tool_search',
  'url_sources',
  'web_fetch',
  'web_search',
  'web_search_filters',
] as const;
export type HomeFeature = (typeof HOME_FEATURES)[number];

/**
 * Endpoints: the counting of tokens, the list of models, and those that the gateway refuses at
 * every home.
 */
export const HOME_ENDPOINTS = ['batches', 'count_tokens', 'files', 'models'] as const;

export const HOME_LACKS = [...HOME_ENDPOINTS, ...HOME_FEATURES] as const;
export type HomeLack = (typeof HOME_LACKS)[number];

export function isHomeFeature(lack: HomeLack): lack is HomeFeature {
  return (HOME_FEATURES as readonly string[]).includes(lack);
}
