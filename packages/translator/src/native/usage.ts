/**
 * Reads the usage of a native answer. A native request can ask for work that a chat request cannot
 * ask for. Parts of this work are separate model runs. They are listed in `iterations`, and the
 * message's counts do not include all of them.
 * https://platform.claude.com/docs/en/build-with-claude/compaction (SDK: `BetaUsage.iterations`)
 */

import { isJsonObject, type JsonObject, objectOf, stringOf } from '../wire/raw-json.js';
import {
  isTokenCount,
  readUsage,
  type UncountedUsage,
  type Usage,
  type UsageReading,
  type UsageRemark,
} from '../wire/usage.js';

/** The kinds of iterations that the message's counts include. */
const COUNTED: readonly unknown[] = ['message', 'fallback_message'];
/**
 * A compaction runs on the message's own model, so its tokens are added to the message's counts.
 */
const ADDED = 'compaction';
/** An advisor is another model, so its tokens have another price and are listed separately. */
const APART = 'advisor_message';

/**
 * Like `readUsage`, plus the work that the message's counts leave out. The tokens of compactions
 * are added to `usage`. All other work is listed in `uncounted`, so that a caller can charge it.
 */
export function readNativeUsage(native: unknown): UsageReading {
  const reading = readUsage(native);
  const { iterations } = objectOf(native);
  if (reading.outcome === 'invalid' || !Array.isArray(iterations)) return reading;
  const parts = iterations.filter(isJsonObject);
  let { usage } = reading;
  const remarks: UsageRemark[] = [...(reading.remarks ?? [])];
  const uncounted: UncountedUsage[] = [];
  const unknown: JsonObject[] = [];

  for (const iteration of parts) {
    const { type } = iteration;
    if (COUNTED.includes(type)) continue;
    if (type === ADDED) {
      const part = readUsage(iteration);
      const both = part.outcome === 'read' ? sum(usage, part.usage) : undefined;
      if (both === undefined) uncounted.push(uncountedOf(iteration, undefined));
      else usage = both;
    } else if (type === APART) {
      uncounted.push(uncountedOf(iteration, countsOf(iteration)));
    } else {
      unknown.push(iteration);
    }
  }

  const place = placeOf(unknown, parts, reading.usage);
  for (const iteration of unknown) {
    const message = `${kindOf(iteration)}: unknown kind, ${place} the message's counts`;
    remarks.push({ detail: 'iterations', message });
    if (place === 'in') continue;
    uncounted.push(uncountedOf(iteration, place === 'not in' ? countsOf(iteration) : undefined));
  }
  return {
    outcome: 'read',
    usage,
    ...(remarks.length === 0 ? {} : { remarks }),
    ...(uncounted.length === 0 ? {} : { uncounted }),
  };
}

/**
 * Compares sums to find out whether the message's counts include the iterations of unknown kinds.
 */
function placeOf(
  unknown: readonly JsonObject[],
  iterations: readonly JsonObject[],
  message: Usage,
): 'in' | 'not in' | 'perhaps in' {
  const counted = iterations.filter(({ type }) => COUNTED.includes(type));
  if (addsUpTo(message, counted)) return 'not in';
  return addsUpTo(message, [...counted, ...unknown]) ? 'in' : 'perhaps in';
}

function addsUpTo(message: Usage, iterations: readonly JsonObject[]): boolean {
  let total: Usage | undefined = NO_USAGE;
  for (const iteration of iterations) {
    const counts = countsOf(iteration);
    total = total && counts && sum(total, counts);
  }
  return total !== undefined && CLASSES.every((name) => total[name] === message[name]);
}

const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheCreation1hInputTokens: 0,
  thinkingTokens: 0,
};
const CLASSES = [
  'inputTokens',
  'outputTokens',
  'cacheReadInputTokens',
  'cacheCreationInputTokens',
] as const;

/** Undefined when a sum exceeds the limit of a token count. */
function sum(one: Usage, other: Usage): Usage | undefined {
  const both = (count: keyof Usage): number => one[count] + other[count];
  const total = {
    inputTokens: both('inputTokens'),
    outputTokens: both('outputTokens'),
    cacheReadInputTokens: both('cacheReadInputTokens'),
    cacheCreationInputTokens: both('cacheCreationInputTokens'),
    cacheCreation1hInputTokens: both('cacheCreation1hInputTokens'),
    thinkingTokens: both('thinkingTokens'),
  };
  return Object.values(total).every(isTokenCount) ? total : undefined;
}

function countsOf(iteration: JsonObject): Usage | undefined {
  const reading = readUsage(iteration);
  return reading.outcome === 'read' ? reading.usage : undefined;
}

function uncountedOf(iteration: JsonObject, usage: Usage | undefined): UncountedUsage {
  return { kind: kindOf(iteration), model: stringOf(iteration['model']) || undefined, usage };
}

function kindOf({ type }: JsonObject): string {
  return (
    stringOf(type)
      .replace(/[^a-z0-9_]/g, '')
      .slice(0, 50) || 'nameless'
  );
}
