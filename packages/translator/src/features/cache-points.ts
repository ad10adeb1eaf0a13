/**
 * Adds cache points to requests of both OpenAI formats.
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */

import type { CacheableRequest, CachePointHolder } from '../reading/cache-point.js';

/**
 * Pass this function to `translateRequest` or `translateResponsesRequest` as the option `cache`. It
 * adds cache points like {@link cacheEveryRequest}, but only to requests that others are likely to
 * follow: those that contain an answer, and those that offer tools and do not force a call. So the
 * steps of an agent are cached, and single questions are not.
 */
export function cacheConversations(request: CacheableRequest): void {
  const { tools = [], messages, tool_choice: choice } = request;
  const isForced = choice?.type === 'any' || choice?.type === 'tool';
  const isAgent = tools.length > 0 && !isForced;
  if (isAgent || messages.some(({ role }) => role === 'assistant')) cacheEveryRequest(request);
}

/**
 * Adds cache points to a request whose client set none, so that each request of a conversation
 * reads from the cache what it shares with the previous request. Writing to the cache costs extra,
 * which is lost if no request follows.
 *
 * The points are after the tools and the system prompt, which conversations share, after the
 * messages of the previous request, and at the end, for the next request. The upstream looks for an
 * earlier entry only some twenty blocks back. Without the second point, a turn with many calls
 * would not find it.
 */
export function cacheEveryRequest(request: CacheableRequest): void {
  const { tools = [], system = tools, messages } = request;
  const answer = messages.findLastIndex(({ role }) => role === 'assistant');
  const holders: readonly (CachePointHolder | undefined)[] = [
    system.at(-1),
    // A system message can be empty.
    messages[answer - 1]?.content.at(-1) ?? messages[answer - 2]?.content.at(-1),
    request,
  ];
  for (const holder of holders) if (holder) holder.cache_control = { type: 'ephemeral' };
}
