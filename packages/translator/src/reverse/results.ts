/**
 * The results of tools, to messages of role `tool`.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { noteUnknownMembers, readBoolean, readString, refuse } from '../translation.js';
import { contentOf, type ChatMessage, type ChatPart } from './chat-request.js';
import { blocksOf, userParts, type Placed } from './content.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';

export interface ChatResult {
  readonly message: ChatMessage;
  /** What the message may not hold, for the user message that follows. */
  readonly media: readonly ChatPart[];
}

const RESULT_MEMBERS = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control']);
const FAILED = 'Error:';

/**
 * The chat format has no word for a result that is an error, so its text says so: a line `Error:`
 * before it, and a note.
 *
 * @param open - The calls that wait for a result. The one that is answered is taken off it.
 */
export function resultMessage(
  t: NativeTranslation,
  { block, path }: Placed,
  open: Map<string, string>,
): ChatResult {
  noteUnknownMembers(t, block, RESULT_MEMBERS, path);
  const id = readString(block['tool_use_id'], `${path}.tool_use_id`);
  if (!open.delete(id)) {
    const complaint = 'must name a tool_use of the previous message, and each one once';
    refuse(`${path}.tool_use_id`, 'invalid_value', complaint);
  }
  const blocks = blocksOf(block['content'] ?? [], `${path}.content`);
  const parts = blocks.flatMap((placed) => userParts(t, placed));
  if (readBoolean(block['is_error'] ?? false, `${path}.is_error`)) {
    t.notes.take(`${path}.is_error`, 'rewritten', 'said in the text of the result');
    markFailed(parts);
  }
  const isMixed = t.traits.toolResults === 'parts' || parts.every(({ type }) => type === 'text');
  const kept = isMixed ? parts : parts.filter(({ type }) => type === 'text');
  const media = isMixed ? [] : parts.filter(({ type }) => type !== 'text');
  if (media.length > 0) {
    t.notes.take(`${path}.content`, 'rewritten', 'images and files follow in a user message');
    media.unshift({ type: 'text', text: `From the result of the call ${id}:` });
  }
  const message: ChatMessage = {
    role: 'tool',
    tool_call_id: id,
    content: contentOf(kept),
    ...cacheMembers(t, block, path),
  };
  return { message, media };
}

function markFailed(parts: ChatPart[]): void {
  const [first] = parts;
  if (first?.type === 'text') parts[0] = { ...first, text: `${FAILED}\n${first.text}` };
  else parts.unshift({ type: 'text', text: FAILED });
}
