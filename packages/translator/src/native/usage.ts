/**
 * The usage of a native answer whose request may have asked for more than a chat can: compactions of
 * its context are samplings of their own, and what they cost is not in the top-level counts.
 * https://platform.claude.com/docs/en/build-with-claude/compaction (SDK: `BetaUsage.iterations`)
 */

import { objectOf } from '../raw-json.js';
import { readUsage, type Usage, type UsageReading } from '../usage.js';

/** `readUsage`, and the counts of every compaction added. Any of them that is invalid, is all of it. */
export function readNativeUsage(native: unknown): UsageReading {
  const { iterations } = objectOf(native);
  const entries: readonly unknown[] = Array.isArray(iterations) ? iterations : [];
  const compactions = entries.filter((entry) => objectOf(entry)['type'] === 'compaction');
  return compactions.map(readUsage).reduce(sum, readUsage(native));
}

function sum(one: UsageReading, other: UsageReading): UsageReading {
  if (one.outcome === 'invalid') return one;
  if (other.outcome === 'invalid') return other;
  const both = (count: keyof Usage): number => one.usage[count] + other.usage[count];
  return {
    outcome: 'read',
    usage: {
      inputTokens: both('inputTokens'),
      outputTokens: both('outputTokens'),
      cacheReadInputTokens: both('cacheReadInputTokens'),
      cacheCreationInputTokens: both('cacheCreationInputTokens'),
      cacheCreation1hInputTokens: both('cacheCreation1hInputTokens'),
      thinkingTokens: both('thinkingTokens'),
    },
  };
}
