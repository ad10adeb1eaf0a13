/** Sets aside usage that the request cannot have caused. See docs/decisions/0093. */

import { promptTokensOf } from '@gateway/billing';
import type { Fees, ModelPrice } from '@gateway/billing';
import type { UsageReading } from '@gateway/translator';

/** The most that the answer to a request can report. */
export interface UsageBound {
  /** Of all models and runs together, like the output. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Uses of tools that the provider runs, by the counter in `usage.server_tool_use`. */
  readonly uses: ReadonlyMap<string, number>;
  /** Uses by each other counter. */
  readonly otherUses: number;
}

/** Of a request whose answer is not charged. */
export const NO_USAGE: UsageBound = {
  promptTokens: 0,
  outputTokens: 0,
  uses: new Map(),
  otherUses: 0,
};

/** Counting beyond these figures is a fault of the upstream, whatever was asked. */
const MAX_RUNS = 10;
const LONGEST_WINDOW = 1_000_000;
const MAX_USES = 10_000;

/** The bound if only the model is known, as for a record of a lost charge. */
export function boundOfModel({ contextWindow }: ModelPrice): UsageBound {
  const tokens = MAX_RUNS * Math.max(contextWindow, LONGEST_WINDOW);
  return { promptTokens: tokens, outputTokens: tokens, uses: new Map(), otherUses: MAX_USES };
}

/**
 * @returns the reading, or that it is invalid: as a whole, because a part of it would be a guess
 * @param fees - Only uses that cost something are compared.
 */
export function withinBound(reading: UsageReading, bound: UsageBound, fees: Fees): UsageReading {
  if (reading.outcome === 'invalid') return reading;
  let [prompt, output] = [promptTokensOf(reading.usage), reading.usage.outputTokens];
  for (const { usage } of reading.uncounted ?? []) {
    if (usage === undefined) continue;
    prompt += promptTokensOf(usage);
    output += usage.outputTokens;
  }
  const reason =
    excess('prompt tokens', prompt, bound.promptTokens) ??
    excess('output tokens', output, bound.outputTokens) ??
    excessOfUses(reading.serverToolUse, bound, fees);
  return reason === undefined ? reading : { outcome: 'invalid', reason };
}

function excessOfUses(
  uses: Readonly<Record<string, number>> | undefined,
  bound: UsageBound,
  fees: Fees,
): string | undefined {
  if (uses === undefined) return undefined;
  for (const [counter, count] of Object.entries(uses)) {
    if ((fees.get(counter) ?? 0n) === 0n) continue;
    const found = excess(counter, count, bound.uses.get(counter) ?? bound.otherUses);
    if (found !== undefined) return found;
  }
  return undefined;
}

function excess(what: string, count: number, most: number): string | undefined {
  if (count <= most) return undefined;
  return `the request cannot have caused ${String(count)} ${what}, only ${String(most)}`;
}
