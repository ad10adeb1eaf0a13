/** The tools that the provider defines, and the counters of their uses: `usage.server_tool_use`. */

import type { PricedFeature } from './variables.js';

/**
 * Tools that the provider defines, by their type without its date. Tools without a `feature` cost
 * tokens only. A tool that the provider runs itself is a `server` tool: after each use, the model
 * reads the conversation again.
 */
export const TOOL_FAMILIES: ReadonlyMap<
  string,
  { readonly runs: 'client' | 'server'; readonly feature?: PricedFeature }
> = new Map([
  ['custom', { runs: 'client' }],
  // This type belongs to the chat format. The provider refuses it with its own message.
  ['function', { runs: 'client' }],
  ['bash', { runs: 'client' }],
  ['text_editor', { runs: 'client' }],
  ['computer', { runs: 'client' }],
  ['computer_toolset', { runs: 'client' }],
  ['browser_toolset', { runs: 'client' }],
  ['memory', { runs: 'client' }],
  ['web_fetch', { runs: 'server' }],
  ['tool_search_tool_bm25', { runs: 'server' }],
  ['tool_search_tool_regex', { runs: 'server' }],
  ['web_search', { runs: 'server', feature: 'web_search' }],
  ['code_execution', { runs: 'server', feature: 'code_execution' }],
  ['advisor', { runs: 'server', feature: 'advisor' }],
  ['mcp_toolset', { runs: 'server', feature: 'mcp' }],
]);

/** For instance, `web_search_20250305` belongs to the family `web_search`. */
export function familyOf(type: string): string {
  return /_\d{8}$/.test(type) ? type.slice(0, -'_20250305'.length) : type;
}

/**
 * The counter of a family's uses. For instance, both `tool_search_tool_bm25` and
 * `tool_search_tool_regex` are counted as `tool_search_requests`.
 */
export function counterOf(family: string): string {
  return `${family.replace(/_tool_(?:bm25|regex)$/, '')}_requests`;
}

const SERVER_FAMILIES = [...TOOL_FAMILIES].filter(([, { runs }]) => runs === 'server');

/** The counters of the tools that the provider runs, as far as this version knows them. */
export const KNOWN_COUNTERS: ReadonlySet<string> = new Set(
  SERVER_FAMILIES.map(([family]) => counterOf(family)),
);

/** The counters of those that cost tokens only, so that their uses have no price anywhere. */
export const FREE_COUNTERS: ReadonlySet<string> = new Set(
  SERVER_FAMILIES.filter(([, { feature }]) => feature === undefined).map(([family]) =>
    counterOf(family),
  ),
);
