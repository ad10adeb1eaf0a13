/** One native assistant turn, to one chat message. */

import type { JsonObject } from '../raw-json.js';
import { noteUnknownMembers, readObject, readString, refuse } from '../translation.js';
import {
  contentOf,
  type ChatAssistantMessage,
  type ChatCall,
  type TextPart,
} from './chat-request.js';
import { dropServerBlock, textParts, type Placed } from './content.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';

export interface AssistantTurn {
  /** Undefined when nothing of the turn can be said in a chat. */
  readonly message: ChatAssistantMessage | undefined;
  /** The paths of its calls, by their ids. */
  readonly calls: ReadonlyMap<string, string>;
}

const CALL_MEMBERS = new Set(['type', 'id', 'name', 'input', 'caller', 'cache_control']);

/** A chat message has its thinking first, then text, then calls: what stood in another order is told. */
export function assistantTurn(t: NativeTranslation, blocks: readonly Placed[]): AssistantTurn {
  const thinking: JsonObject[] = [];
  const texts: TextPart[] = [];
  const calls: ChatCall[] = [];
  const paths = new Map<string, string>();

  for (const placed of blocks) {
    const { block, path } = placed;
    switch (block['type']) {
      case 'thinking':
      case 'redacted_thinking':
        if (texts.length + calls.length > 0) noteOrder(t, path);
        thinking.push(...keptThinking(t, placed));
        break;
      case 'text': {
        const parts = textParts(t, placed);
        if (calls.length > 0 && parts.length > 0) noteOrder(t, path);
        texts.push(...parts);
        break;
      }
      case 'tool_use': {
        const call = readCall(t, block, path);
        if (paths.has(call.id)) {
          refuse(`${path}.id`, 'invalid_value', 'tool_use ids must be unique within a turn');
        }
        paths.set(call.id, path);
        calls.push(call);
        break;
      }
      default:
        dropServerBlock(t, placed, 'text, thinking and tool_use here');
    }
  }
  if (texts.length === 0 && calls.length === 0) return { message: undefined, calls: paths };
  return {
    message: {
      role: 'assistant',
      content: texts.length === 0 ? null : contentOf(texts),
      ...thinkingMembers(t, thinking),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    calls: paths,
  };
}

function noteOrder(t: NativeTranslation, path: string): void {
  t.notes.take(path, 'rewritten', 'moved before what a chat message has after it');
}

/** Thinking goes back as it came, or not at all: as blocks only what its model signed. */
function keptThinking(t: NativeTranslation, { block, path }: Placed): JsonObject[] {
  const { thinking } = t.traits;
  const isText = block['type'] === 'thinking';
  readString(block[isText ? 'thinking' : 'data'], `${path}.${isText ? 'thinking' : 'data'}`);
  const isSigned = !isText || (block['signature'] != null && block['signature'] !== '');
  if (thinking === 'thinking_blocks' ? isSigned : isText && thinking === 'reasoning_content') {
    return [block];
  }
  const detail = isSigned ? 'the upstream takes no such thinking' : 'thinking without a signature';
  t.notes.take(path, 'dropped', detail);
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

function readCall(t: NativeTranslation, block: JsonObject, path: string): ChatCall {
  noteUnknownMembers(t, block, CALL_MEMBERS, path);
  const { caller } = block;
  if (caller != null && readObject(caller, `${path}.caller`)['type'] !== 'direct') {
    t.notes.take(`${path}.caller`, 'dropped', 'a chat has calls by the model only');
  }
  const id = readString(block['id'], `${path}.id`);
  const name = readString(block['name'], `${path}.name`);
  if (id === '' || name === '') {
    refuse(`${path}.${id === '' ? 'id' : 'name'}`, 'invalid_value', 'must not be empty');
  }
  return {
    id,
    type: 'function',
    function: { name, arguments: t.rawObject(`${path}.input`) },
    ...cacheMembers(t, block, path),
  };
}
