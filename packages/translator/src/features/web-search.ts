/**
 * Translates the options of a web search to the native tool.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
 */

import type { ReadWebSearch, UserLocation } from '../reading/web-search-reading.js';
import { type JsonObject, objectOf } from '../wire/raw-json.js';

const NAME = 'web_search';

/**
 * Lets the model search the web for chat requests with `web_search_options`, and for requests of
 * the Responses API with a tool of type `web_search`. Pass the result to `translateRequest` or
 * `translateResponsesRequest` as the option `webSearch`. Searches are charged in addition to
 * tokens.
 *
 * @param input - `maxUses` is the maximum number of searches of one request. Default: the upstream
 * decides.
 */
export function webSearch(input: { readonly maxUses?: number } = {}): ReadWebSearch {
  const { maxUses } = input;
  return (options: JsonObject, tools) => {
    if (tools.includes(NAME)) return undefined;
    const { search_context_size: size, user_location: location, ...others } = options;
    const { approximate } = objectOf(location);
    const hasSize = size != null && size !== 'medium';
    return {
      tool: {
        type: 'web_search_20250305',
        name: NAME,
        max_uses: maxUses,
        user_location: approximate === undefined ? undefined : userLocation(approximate),
      },
      ignored: [...(hasSize ? ['search_context_size'] : []), ...Object.keys(others)],
    };
  };
}

function userLocation(approximate: unknown): UserLocation {
  const location: UserLocation = { type: 'approximate' };
  for (const name of ['city', 'country', 'region', 'timezone'] as const) {
    const value = objectOf(approximate)[name];
    if (typeof value === 'string' && value !== '') location[name] = value;
  }
  return location;
}
