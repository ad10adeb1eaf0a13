/**
 * Newer models check that `system`, `tools` and the messages before a thinking block are as they
 * were when the block was made, and refuse the request otherwise.
 *
 * The translation therefore only adds to the end of a conversation of such a model, and the answer
 * carries what it added (see `wire/additions.ts`). What a client changes itself, such as its
 * instructions or its tools, is not an error in the OpenAI formats: the upstream is asked to leave
 * out the blocks that no longer fit. See docs/decisions/0059.
 *
 * https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
 */

import type { Place } from '../../reading/place.js';
import type { Additions } from '../../wire/additions.js';
import { isThinking, type NativeRequest } from './native-request.js';
import { isForced } from './tools.js';
import type { ModelTraits } from './traits.js';

/** The beta of `thinking.block_binding`. */
const BINDING_CONTROLS = 'thinking-binding-controls-2026-08-01';

/** Whether texts may be added only to the end of a conversation. */
export function bindsPrefix({ bindsThinking, systemMessages }: ModelTraits): boolean {
  return bindsThinking === true && systemMessages === 'anywhere';
}

/**
 * Adds instructions for the next answer, as a system message at the end. A cache point for the end
 * of the request stays before them, because the next request repeats them only if the model thinks.
 *
 * @returns their text; undefined if there are none
 */
export function instructLast(
  request: NativeRequest,
  instructions: readonly string[],
): string | undefined {
  if (instructions.length === 0) return undefined;
  const { messages, cache_control: point } = request;
  const last = messages.at(-1);
  const end = last?.content.at(-1);
  if (point && end) {
    end.cache_control ??= point;
    request.cache_control = undefined;
  }
  const text = `This applies to your next reply only.\n${instructions.join('\n')}`;
  const block = { type: 'text', text } as const;
  if (last?.role === 'system') last.content.push(block);
  else messages.push({ role: 'system', content: [block] });
  return text;
}

/** The additions that an answer has to carry, if any. */
export function additionsOf(additions: Additions): Additions | undefined {
  return Object.values(additions).some(Boolean) ? additions : undefined;
}

/**
 * Asks the upstream to leave out thinking that no longer fits. If the request turns thinking off,
 * it cannot be asked, and all thinking is left out and noted.
 *
 * @param conversation - The messages or items, for the note.
 * @returns the betas that the request then needs
 */
export function bindThinking(
  request: NativeRequest,
  { bindsThinking }: ModelTraits,
  conversation: Place,
): string[] {
  const { messages, thinking = { type: 'adaptive' }, tool_choice: choice } = request;
  if (!bindsThinking || !messages.some(({ content }) => content.some(isThinking))) return [];
  // The upstream refuses a forced call together with the member `thinking`.
  if (thinking.type === 'adaptive' && !isForced(choice)) {
    const binding = { prefix_mismatch_behavior: 'drop_block' } as const;
    request.thinking = { ...thinking, block_binding: binding };
    return [BINDING_CONTROLS];
  }
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    message.content = message.content.filter((block) => !isThinking(block));
  }
  conversation.note('dropped', 'no past thinking without thinking');
  return [];
}
