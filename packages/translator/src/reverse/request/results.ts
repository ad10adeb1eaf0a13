/**
 * Translates the results of tools to messages of role `tool`.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import type { Place } from '../../reading/place.js';
import { type ChatMessage, type ChatPart, contentOf } from './chat-request.js';
import { blocksOf, userParts } from './content.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';

export interface ChatResult {
  readonly message: ChatMessage;
  /**
   * The parts that the upstream does not accept in the message. They go into the next user message.
   */
  readonly media: readonly ChatPart[];
}

const FAILED = 'Error:';

/**
 * Translates one result. The chat format cannot mark a result as an error, so the text of a failed
 * one begins with a line `Error:`, and a note says so.
 *
 * @param open - The calls that wait for a result. The call that is answered is removed.
 */
export function resultMessage(
  t: NativeTranslation,
  block: Place,
  open: Map<string, Place>,
): ChatResult {
  const reference = block.at('tool_use_id');
  const id = reference.string();
  if (!open.delete(id)) {
    reference.refuse('must name a tool_use of the previous message that has no other result');
  }
  const blocks = block.given('content') ? blocksOf(block, 'content') : [];
  const parts = blocks.flatMap((inner) => userParts(t, inner));
  const isError = block.at('is_error');
  if (isError.boolean(false)) {
    isError.note('rewritten', 'said in the text of the result');
    markFailed(parts);
  }
  const fitsInMessage =
    t.traits.toolResults === 'parts' || parts.every(({ type }) => type === 'text');
  const kept = fitsInMessage ? parts : parts.filter(({ type }) => type === 'text');
  const media = fitsInMessage ? [] : parts.filter(({ type }) => type !== 'text');
  if (media.length > 0) {
    block.at('content').note('rewritten', 'images and files follow in a user message');
    media.unshift({ type: 'text', text: `From the result of the call ${id}:` });
  }
  const message: ChatMessage = {
    role: 'tool',
    tool_call_id: id,
    content: contentOf(kept),
    ...cacheMembers(t, block),
  };
  block.noteUnread();
  return { message, media };
}

function markFailed(parts: ChatPart[]): void {
  const [first] = parts;
  if (first?.type === 'text') parts[0] = { ...first, text: `${FAILED}\n${first.text}` };
  else parts.unshift({ type: 'text', text: FAILED });
}
