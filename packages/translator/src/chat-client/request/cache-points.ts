/**
 * Translates the cache points of chat requests. Clients write `cache_control` on parts, messages,
 * calls and tools, as other gateways accept it, or OpenAI's `prompt_cache_breakpoint` on parts.
 * Both become `cache_control` of the native block.
 */

import { acceptCachePoint, fromCacheControl } from '../../reading/cache-control.js';
import type { CacheControl } from '../../reading/cache-point.js';
import type { Place, Translation } from '../../reading/place.js';
import type { NativeRequest } from './native-request.js';

/** A request may have this many cache points. The upstream has the same limit. */
const MAX_CACHE_POINTS = 4;

/** Reads the cache point of a part, message, call or tool; undefined when it has none. */
export function readCacheControl(holder: Place): CacheControl | undefined {
  const control = holder.given('cache_control');
  const breakpoint = holder.given('prompt_cache_breakpoint');
  return control ? fromCacheControl(control) : breakpoint && fromBreakpoint(breakpoint);
}

function fromBreakpoint(place: Place): CacheControl | undefined {
  if (place.at('mode').value !== 'explicit') {
    place.note('ignored', 'its mode is not "explicit"');
    return undefined;
  }
  // A lifetime of 30m or 12h has no counterpart. The default is sent, because a longer one costs
  // more.
  place.noteUnread();
  return acceptCachePoint(place, { type: 'ephemeral' });
}

interface Cacheable {
  cache_control?: CacheControl | undefined;
}

/**
 * Ends the reading of a part, message or tool: puts its cache point on the last block that it
 * became, and notes its unread members.
 */
export function finishReading(holder: Place, block: Cacheable | undefined): void {
  const control = readCacheControl(holder);
  holder.noteUnread();
  if (!control) return;
  const place = holder.t.cachePlaces.get(control);
  if (!block) place?.note('dropped', 'there is no block to mark');
  else if (block.cache_control) place?.note('ignored', 'the block has its own');
  else block.cache_control = control;
}

/** Refuses a request with more than four cache points, and names the fifth. */
export function refuseExcessCachePoints(t: Translation, request: NativeRequest): void {
  if (t.cachePlaces.size <= MAX_CACHE_POINTS) return;
  const { tools = [], system = [], messages } = request;
  const blocks = messages.flatMap(({ content }) =>
    content.flatMap((block) => [
      ...(block.type === 'tool_result' ? (block.content ?? []) : []),
      block,
    ]),
  );
  const holders: readonly Cacheable[] = [...tools, ...system, ...blocks, request];
  const sent = holders.flatMap((holder) => holder.cache_control ?? []);
  const excess = sent[MAX_CACHE_POINTS];
  if (!excess) return;
  const complaint = `a maximum of ${MAX_CACHE_POINTS} cache points is allowed, found ${sent.length}`;
  t.cachePlaces.get(excess)?.refuse(complaint);
}
