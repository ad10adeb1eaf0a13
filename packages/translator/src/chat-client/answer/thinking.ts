/** Reads the thinking blocks of a native message. */

import { type JsonObject, stringOf } from '../../wire/raw-json.js';

export type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string };

/**
 * A thinking block with the members that the client has to send back; undefined for any other
 * block.
 */
export function thinkingBlock(block: JsonObject): ThinkingBlock | undefined {
  const { type, thinking, signature, data } = block;
  if (type === 'redacted_thinking') return { type, data: stringOf(data) };
  if (type !== 'thinking') return undefined;
  return { type, thinking: stringOf(thinking), signature: stringOf(signature) };
}
