/**
 * The `max_tokens` of a request that may be lowered to what the balance covers, with
 * `OVERDRAFT=none`: the gateway chose it, because the client of a translated format gave none, or
 * the client allows it with {@link LOWER_HEADER}. See docs/decisions/0079.
 */

import { isUtf8 } from 'node:buffer';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonSpan } from '@gateway/translator/native';
import { readScalar } from './native-fields.js';

export interface LowerableLimit {
  readonly maxTokens: number;
  /** It is never lowered below this. */
  readonly leastTokens: number;
  /** The most that the request can cost without output, in units of 10^-14 USD. */
  readonly promptCharge: bigint;
  /** What each token of the limit adds to that. */
  readonly chargePerToken: bigint;
  /** Where the limit is in the body that goes upstream. */
  readonly span: JsonSpan;
  /** The name of the member in the client's format. */
  readonly member: string;
}

/** The header with which a client allows that the limit which it stated is lowered. */
export const LOWER_HEADER = 'x-gateway-lower-max-tokens';

/** Below this an agent's answer would often be cut off, and a cut answer is charged too. */
const LEAST_TOKENS = 4_096;

/** @param limits.thinking - Tokens of `thinking.budget_tokens`: an answer needs more than these. */
export function leastTokens({
  maxTokens,
  thinking,
}: {
  readonly maxTokens: number;
  readonly thinking: number;
}): number {
  return Math.min(maxTokens, LEAST_TOKENS + thinking);
}

/** @param boundWith - The most that a request can cost with a limit. It grows with each token. */
export function linear(
  boundWith: (maxTokens: number) => bigint,
): Pick<LowerableLimit, 'promptCharge' | 'chargePerToken'> {
  const promptCharge = boundWith(0);
  return { promptCharge, chargePerToken: boundWith(1) - promptCharge };
}

/** @returns the most that the request can cost with this limit */
export function chargeWith(limit: LowerableLimit, maxTokens: number): bigint {
  return limit.promptCharge + BigInt(maxTokens) * limit.chargePerToken;
}

/**
 * A lower limit. It takes half of what can be held, so that a request beside this one also finds
 * something. It is never lower than the least one, even if that is too much.
 */
export function lowerLimit(limit: LowerableLimit, available: bigint): number {
  const rest = available - limit.promptCharge;
  const half = rest > 0n ? rest / (2n * limit.chargePerToken) : 0n;
  // Compared as bigint: the half of a large balance may exceed the integers of a number.
  const lower = half < BigInt(limit.maxTokens) ? Number(half) : limit.maxTokens;
  return Math.max(limit.leastTokens, lower);
}

/** Writes a lower limit into the body, in place: spaces fill what is left of the former number. */
export function writeLimit(body: Uint8Array, { start, end }: JsonSpan, maxTokens: number): void {
  const digits = Buffer.from(String(maxTokens).padStart(end - start, ' '));
  if (digits.length !== end - start) throw new RangeError('the limit is longer than before');
  body.set(digits, start);
}

/**
 * @param body - A native request that was inspected.
 * @returns the limit of its answer and the least one; `undefined` if it cannot be lowered in place
 */
export function statedLimit(
  body: Uint8Array,
): Pick<LowerableLimit, 'maxTokens' | 'leastTokens' | 'span'> | undefined {
  const scan = scanTopLevel(body, { isUtf8, mayRepeat: true });
  const span = scan.outcome === 'scanned' ? scan.members.get('max_tokens') : undefined;
  if (scan.outcome !== 'scanned' || span === undefined) return undefined;
  const maxTokens = Number(readScalar({ body, span }));
  // A number such as 1e9 is shorter than a lower one.
  if (String(maxTokens).length > span.end - span.start) return undefined;
  const thinking = thinkingTokens(body, scan.members.get('thinking'));
  return { maxTokens, span, leastTokens: leastTokens({ maxTokens, thinking }) };
}

function thinkingTokens(body: Uint8Array, span: JsonSpan | undefined): number {
  if (span === undefined) return 0;
  const thinking = body.subarray(span.start, span.end);
  const scan = scanTopLevel(thinking, { isUtf8, mayRepeat: true });
  const budget = scan.outcome === 'scanned' ? scan.members.get('budget_tokens') : undefined;
  const tokens = budget && readScalar({ body: thinking, span: budget });
  return typeof tokens === 'number' && tokens > 0 ? Math.ceil(tokens) : 0;
}

/** What a client whose request is refused for its price can do about the limit of its answer. */
export function adviceOn(limit: LowerableLimit | undefined): string {
  return limit === undefined
    ? `lower max_tokens (or let the gateway lower it: ${LOWER_HEADER}: true)`
    : `set ${limit.member} below ${String(limit.leastTokens)}, the least that the gateway chooses`;
}
