/** Translates one native assistant turn to one chat message. */

import type { Place } from '../../reading/place.js';
import { type JsonObject, objectOf } from '../../wire/raw-json.js';
import {
  type ChatAssistantMessage,
  type ChatCall,
  contentOf,
  type TextPart,
} from './chat-request.js';
import { dropServerBlock, textParts } from './content.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';
import { chatToolName } from './tools.js';

export interface AssistantTurn {
  /** Undefined when the turn leaves neither text nor a call to send. */
  readonly message: ChatAssistantMessage | undefined;
  /** The places of its calls, by their ids. */
  readonly calls: ReadonlyMap<string, Place>;
}

/**
 * A chat message has thinking first, then text, then calls. A note reports each block that is moved
 * into this order.
 */
export function assistantTurn(t: NativeTranslation, blocks: readonly Place[]): AssistantTurn {
  const thinking: JsonObject[] = [];
  const texts: TextPart[] = [];
  const calls: ChatCall[] = [];
  const places = new Map<string, Place>();

  for (const block of blocks) {
    switch (block.at('type').value) {
      case 'thinking':
      case 'redacted_thinking':
        if (texts.length + calls.length > 0) noteOrder(block);
        thinking.push(...keptThinking(t, block));
        break;
      case 'text': {
        const parts = textParts(t, block);
        if (calls.length > 0 && parts.length > 0) noteOrder(block);
        texts.push(...parts);
        break;
      }
      case 'tool_use': {
        const call = readCall(t, block);
        if (places.has(call.id)) {
          block.at('id').refuse('tool_use ids must be unique within a turn');
        }
        places.set(call.id, block);
        calls.push(call);
        break;
      }
      default:
        dropServerBlock(block, 'text, thinking or tool_use here');
    }
  }
  if (texts.length === 0 && calls.length === 0) return { message: undefined, calls: places };
  return {
    message: {
      role: 'assistant',
      content: texts.length === 0 ? null : contentOf(texts),
      ...thinkingMembers(t, thinking),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    calls: places,
  };
}

function noteOrder(block: Place): void {
  block.note('rewritten', 'moved to its place in a chat message');
}

/** Thinking is sent back unchanged or not at all. `thinking_blocks` carries only signed blocks. */
function keptThinking({ traits }: NativeTranslation, block: Place): JsonObject[] {
  const isText = block.at('type').value === 'thinking';
  block.at(isText ? 'thinking' : 'data').string();
  const isSigned = !isText || (block.at('signature').value ?? '') !== '';
  const isCarried =
    traits.thinking === 'thinking_blocks'
      ? isSigned
      : isText && traits.thinking === 'reasoning_content';
  if (isCarried) return [objectOf(block.value)];
  const detail = isSigned ? 'the upstream takes no such thinking' : 'thinking without a signature';
  block.note('dropped', detail);
  return [];
}

function thinkingMembers(
  { traits }: NativeTranslation,
  blocks: readonly JsonObject[],
): Pick<ChatAssistantMessage, 'thinking_blocks' | 'reasoning_content'> {
  if (blocks.length === 0) return {};
  if (traits.thinking === 'thinking_blocks') return { thinking_blocks: blocks };
  return { reasoning_content: blocks.map((block) => String(block['thinking'])).join('') };
}

function readCall(t: NativeTranslation, block: Place): ChatCall {
  const caller = block.given('caller');
  if (caller?.object().at('type').value !== 'direct') {
    caller?.note('dropped', 'only the model makes calls in a chat');
  }
  const id = block.at('id').nonEmptyString();
  const name = chatToolName(block.at('name'));
  const input = t.rawObject(block.at('input'));
  const cached = cacheMembers(t, block);
  block.noteUnread();
  return { id, type: 'function', function: { name, arguments: input }, ...cached };
}
