/**
 * Cache points in chat requests: `cache_control` as other gateways accept it on parts, messages,
 * calls and tools, and OpenAI's own `prompt_cache_breakpoint` on parts. Both become `cache_control`
 * on the native block.
 */

import type { CacheControl, NativeRequest } from './native-request.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import { noteUnknownMembers, quote, readObject, refuse, type Translation } from './translation.js';

/** Specification section 8; upstream refuses more as well. */
const MAX_CACHE_POINTS = 4;

/** The members that {@link readCacheControl} reads. */
export const CACHE_MEMBERS = ['cache_control', 'prompt_cache_breakpoint'] as const;

const CONTROL_MEMBERS = new Set(['type', 'ttl']);
const BREAKPOINT_MEMBERS = new Set(['mode']);

/** Reads the cache point of a part, message, call or tool; undefined when it has none. */
export function readCacheControl(
  t: Translation,
  holder: JsonObject,
  path: string,
): CacheControl | undefined {
  const value = holder['cache_control'];
  if (value != null) return fromCacheControl(t, value, `${path}.cache_control`);
  const breakpoint = holder['prompt_cache_breakpoint'];
  if (breakpoint != null) {
    return fromBreakpoint(t, breakpoint, `${path}.prompt_cache_breakpoint`);
  }
  return undefined;
}

export function fromCacheControl(t: Translation, value: unknown, path: string): CacheControl {
  const written = readObject(value, path);
  const { type, ttl } = written;
  if (type !== 'ephemeral') {
    refuse(`${path}.type`, 'invalid_value', `must be "ephemeral", got ${quote(type)}`);
  }
  noteUnknownMembers(t, written, CONTROL_MEMBERS, path);
  const control: CacheControl = { type };
  if (ttl === '5m' || ttl === '1h') control.ttl = ttl;
  else if (ttl != null) {
    refuse(`${path}.ttl`, 'invalid_value', `must be "5m" or "1h", got ${quote(ttl)}`);
  }
  t.cachePaths.set(control, path);
  return control;
}

function fromBreakpoint(t: Translation, value: unknown, path: string): CacheControl | undefined {
  if (!isJsonObject(value) || value['mode'] !== 'explicit') {
    t.notes.take(path, 'ignored', 'not a breakpoint of mode "explicit"');
    return undefined;
  }
  // A lifetime of 30m or 12h has no counterpart, and the longer one here costs more: not chosen
  // unasked.
  noteUnknownMembers(t, value, BREAKPOINT_MEMBERS, path);
  const control: CacheControl = { type: 'ephemeral' };
  t.cachePaths.set(control, path);
  return control;
}

/** Puts a message's cache point on the last block that the message became. */
export function markLastBlock(
  t: Translation,
  control: CacheControl | undefined,
  block: { cache_control?: CacheControl } | undefined,
): void {
  if (control === undefined) return;
  if (block === undefined) noteLostPoint(t, control);
  else if (block.cache_control === undefined) block.cache_control = control;
  else {
    const path = t.cachePaths.get(control) ?? '';
    t.notes.take(path, 'ignored', 'the last block has a cache point of its own');
  }
}

export function noteLostPoint({ notes, cachePaths }: Translation, control: CacheControl): void {
  notes.take(cachePaths.get(control) ?? '', 'dropped', 'there is no block left to mark');
}

/**
 * Refuses a request that would carry more than four cache points, naming the first one too many.
 */
export function refuseExcessCachePoints(t: Translation, request: NativeRequest): void {
  if (t.cachePaths.size <= MAX_CACHE_POINTS) return;
  const sent = [...cachePoints(request)];
  const excess = sent[MAX_CACHE_POINTS];
  if (excess === undefined) return;
  const complaint = `a maximum of ${String(MAX_CACHE_POINTS)} cache points is allowed, found ${String(sent.length)}`;
  refuse(t.cachePaths.get(excess) ?? 'cache_control', 'invalid_value', complaint);
}

function* cachePoints(request: NativeRequest): Generator<CacheControl> {
  for (const tool of request.tools ?? []) if (tool.cache_control) yield tool.cache_control;
  for (const block of request.system ?? []) if (block.cache_control) yield block.cache_control;
  for (const message of request.messages) {
    for (const block of message.content) {
      if (block.type === 'tool_result') {
        for (const inner of block.content ?? []) if (inner.cache_control) yield inner.cache_control;
      }
      if ('cache_control' in block && block.cache_control) yield block.cache_control;
    }
  }
  if (request.cache_control) yield request.cache_control;
}
