/** The native tool that stands for a client's request to search the web. */

import type { ServerToolName } from '../wire/server-block.js';
import type { CacheControl } from './cache-point.js';

/** The oldest version of the tool, which all models accept and which runs no code. */
export interface WebSearchTool {
  type: 'web_search_20250305';
  name: ServerToolName;
  max_uses?: number | undefined;
  allowed_domains?: string[] | undefined;
  user_location?: UserLocation | undefined;
  cache_control?: CacheControl | undefined;
}

export interface UserLocation {
  type: 'approximate';
  city?: string;
  country?: string;
  region?: string;
  timezone?: string;
}

/**
 * Translates the options of a web search, in the form of `web_search_options`, and names the
 * members that have no equivalent. Undefined if one of the request's own tools has the name of the
 * native one.
 */
export type ReadWebSearch = (
  options: Readonly<Record<string, unknown>>,
  tools: readonly string[],
) => { readonly tool: WebSearchTool; readonly ignored: readonly string[] } | undefined;
