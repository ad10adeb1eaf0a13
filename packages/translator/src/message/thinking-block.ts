/** Reads the thinking blocks of a native message. */

import type { Additions } from '../wire/additions.js';
import type { Placement } from '../wire/extent.js';
import { type JsonObject, stringOf } from '../wire/raw-json.js';

export type ThinkingBlock = Additions &
  Placement &
  (
    | { type: 'thinking'; thinking: string; signature: string }
    | { type: 'redacted_thinking'; data: string }
  );

export function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Whether the upstream accepts the block back. It signs a block at its end. */
export function isSigned(block: ThinkingBlock): boolean {
  return block.type === 'redacted_thinking' || block.signature !== '';
}

/** The members of a native block of either type that the client has to send back. */
export function thinkingBlock({ type, thinking, signature, data }: JsonObject): ThinkingBlock {
  return type === 'redacted_thinking'
    ? { type, data: stringOf(data) }
    : { type: 'thinking', thinking: stringOf(thinking), signature: stringOf(signature) };
}

/**
 * A block as the client gets it. The first block of a message also has what the translation added
 * to the request: other blocks would come between the additions and the thinking.
 *
 * @param at - The number of the block in the message.
 */
export function withAdditions(
  block: ThinkingBlock,
  at: number,
  additions: Additions | undefined,
): ThinkingBlock {
  return at === 0 ? { ...block, ...additions } : block;
}
