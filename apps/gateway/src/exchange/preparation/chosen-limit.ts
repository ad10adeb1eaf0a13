/**
 * The `max_tokens` that the gateway chose, because the client of a translated format gave none.
 * Such a client cannot lower it, so with `OVERDRAFT=none` the gateway lowers it to what the balance
 * covers. See docs/decisions/0009.
 */

import type { JsonSpan } from '@gateway/translator/native';

export interface ChosenLimit {
  readonly maxTokens: number;
  /** The most that the request can cost without output, in units of 10^-14 USD. */
  readonly promptCharge: bigint;
  /** What each token of the limit adds to that. */
  readonly chargePerToken: bigint;
  /** Where the limit is in the body that goes upstream. */
  readonly span: JsonSpan;
  /** The name of the member in the client's format. */
  readonly member: string;
}

/** Below this an agent's answer would often be cut off, and a cut answer is charged too. */
const LEAST_TOKENS = 4_096;

/** @returns the most that the request can cost with this limit */
export function chargeWith(limit: ChosenLimit, maxTokens: number): bigint {
  return limit.promptCharge + BigInt(maxTokens) * limit.chargePerToken;
}

/**
 * A lower limit. It takes half of what can be held, so that a request beside this one also finds
 * something. It is never lower than the least useful one, even if that is too much.
 */
export function lowerLimit(limit: ChosenLimit, available: bigint): number {
  const rest = available - limit.promptCharge;
  const half = rest > 0n ? Number(rest / (2n * limit.chargePerToken)) : 0;
  return Math.min(limit.maxTokens, Math.max(LEAST_TOKENS, half));
}

/** Writes a lower limit into the body, in place: spaces fill what is left of the former number. */
export function writeLimit(body: Uint8Array, { start, end }: JsonSpan, maxTokens: number): void {
  const digits = Buffer.from(String(maxTokens).padStart(end - start, ' '));
  if (digits.length !== end - start) throw new RangeError('the limit is longer than before');
  body.set(digits, start);
}
