/** Reads the thinking blocks of a native message. */

import type { Additions } from '../../wire/additions.js';
import { type JsonObject, stringOf } from '../../wire/raw-json.js';

export type ThinkingBlock = Additions &
  (
    | { type: 'thinking'; thinking: string; signature: string }
    | { type: 'redacted_thinking'; data: string }
  );

/**
 * A thinking block with the members that the client has to send back; undefined for any other
 * block.
 *
 * @param additions - Only for the first block of a message: other blocks would come between the
 * additions and the thinking.
 */
export function thinkingBlock(
  block: JsonObject,
  additions: Additions | undefined,
): ThinkingBlock | undefined {
  const { type, thinking, signature, data } = block;
  if (type === 'redacted_thinking') return { type, data: stringOf(data), ...additions };
  if (type !== 'thinking') return undefined;
  return { type, thinking: stringOf(thinking), signature: stringOf(signature), ...additions };
}
