/**
 * Joins the usage objects of one stream. The first event has the counts of the prompt and a
 * provisional count of the output. Counts of later events replace them and are never added, because
 * each one is already cumulative. See docs/decisions/0094.
 * https://platform.claude.com/docs/en/build-with-claude/streaming (SDK: `Usage`,
 * `MessageDeltaUsage`)
 */

import { type JsonObject, objectOf } from './raw-json.js';
import { CACHE_WRITES, isTokenCount, ONE_HOUR, readLifetimes, type UsageRemark } from './usage.js';

export interface JoinedUsage {
  readonly native: JsonObject;
  /** If a count fell. The larger one was kept. */
  readonly remark?: UsageRemark;
}

/**
 * Overlays a later usage object on an earlier one, member by member: a value replaces the earlier
 * one, even if it is 0; a null does not.
 *
 * A cumulative count cannot fall, so the later counts of the prompt are not used if their sum is
 * less. Their parts may change: input may turn out to be cached. The counts of a fallback are those
 * of another model, so its prompt may be shorter.
 *
 * @param isFinal - Whether the earlier count of the output is cumulative too. That of
 * `message_start` is not.
 */
export function overlayUsage(earlier: JsonObject, later: unknown, isFinal = false): JoinedUsage {
  const update = objectOf(later);
  const merged: Record<string, unknown> = { ...earlier };
  for (const name of Object.keys(update)) merged[name] = update[name] ?? merged[name];
  // Later events do not repeat the split by lifetime. If they change the total, the earlier split
  // no longer adds up to it. A split without one-hour tokens is then dropped. One with them is
  // kept, because these tokens are still part of the total, and `readCounts` remarks on the
  // difference.
  const isSplitVoid =
    merged[CACHE_WRITES] !== earlier[CACHE_WRITES] &&
    update['cache_creation'] == null &&
    !objectOf(merged['cache_creation'])[ONE_HOUR];
  if (isSplitVoid) delete merged['cache_creation'];

  const fallen: string[] = [];
  const keep = (what: string, had: number, now: number, names: readonly string[]) => {
    if (!(now < had)) return;
    fallen.push(`${what} ${had}, then ${now}`);
    for (const name of names) merged[name] = earlier[name];
  };
  if (!isOfFallback(update)) keep('prompt', promptOf(earlier), promptOf(merged), PROMPT);
  if (isFinal) keep('output', countOf(earlier, OUTPUT), countOf(merged, OUTPUT), [OUTPUT]);
  const uses = objectOf(earlier[USES]);
  const mergedUses = objectOf(merged[USES]);
  for (const name of Object.keys(uses)) {
    const [had, now] = [countOf(uses, name), countOf(mergedUses, name)];
    if (!(now < had)) continue;
    fallen.push(`${name} ${had}, then ${now}`);
    merged[USES] = { ...objectOf(merged[USES]), [name]: had };
  }
  if (fallen.length === 0) return { native: merged };
  return { native: merged, remark: { detail: 'falling_counts', message: fallen.join('; ') } };
}

const OUTPUT = 'output_tokens';
const USES = 'server_tool_use';
const PROMPT = ['input_tokens', 'cache_read_input_tokens', CACHE_WRITES, 'cache_creation'];

/** Not a number if a count cannot be read, so that it is neither less nor more than another. */
function promptOf(usage: JsonObject): number {
  const [input = '', read = ''] = PROMPT;
  const { total = 0 } = readLifetimes(usage['cache_creation']);
  const written = usage[CACHE_WRITES] == null ? total : countOf(usage, CACHE_WRITES);
  return countOf(usage, input) + countOf(usage, read) + written;
}

function countOf(counts: JsonObject, name: string): number {
  const value = counts[name] ?? 0;
  return isTokenCount(value) ? value : NaN;
}

function isOfFallback({ iterations }: JsonObject): boolean {
  return (
    Array.isArray(iterations) &&
    iterations.some((iteration) => objectOf(iteration)['type'] === 'fallback_message')
  );
}
