/**
 * Translates the `input` of a Responses request to native turns and system blocks.
 * https://platform.openai.com/docs/api-reference/responses/create
 */

import { finishReading, readCacheControl } from '../../chat-client/request/cache-points.js';
import { type Call, readArguments } from '../../chat-client/request/calls-and-results.js';
import { textBlock } from '../../chat-client/request/content.js';
import type { NativeMessage, TextBlock } from '../../chat-client/request/native-request.js';
import { readBlock } from '../../chat-client/request/thinking.js';
import type { ModelTraits } from '../../chat-client/request/traits.js';
import { Place, quote } from '../../reading/place.js';
import { createIdAllocator } from '../../reading/tool-ids.js';
import type { JsonText } from '../../wire/raw-json.js';
import { INPUT_PARTS, readParts, TEXT_PARTS } from './parts.js';
import { readSealed } from './sealed-thinking.js';
import { calledName } from './tool-names.js';
import { Turns } from './turns.js';

export interface Conversation {
  readonly system: TextBlock[];
  readonly messages: NativeMessage[];
  /** The upstream's names of all tools that past turns called, in order of first use. */
  readonly calledTools: ReadonlySet<string>;
  /** Lists of tools among the items. */
  readonly addedTools: readonly Place[];
}

/** Members of items that only describe how the item was created. */
const BOOKKEEPING = ['id', 'status', 'phase'];
const WITHOUT_CONTENT = 'a message without content';

/**
 * Refuses an input without any content if there are no instructions either. Also refuses an input
 * whose calls and outputs do not match.
 */
export function translateInput(
  input: Place,
  instructions: Place | undefined,
  traits: ModelTraits,
): Conversation {
  const instructed = instructions && textBlock(instructions);
  const system: TextBlock[][] = instructed ? [[instructed]] : [];
  const calledTools = new Set<string>();
  const addedTools: Place[] = [];
  const turns = new Turns(input, traits);
  const allocateId = createIdAllocator();

  if (typeof input.value === 'string') {
    const text = textBlock(input);
    if (text) turns.hear([text], input);
  } else input.items(addItem, 'a string or an array');

  if (turns.isEmpty) turns.hear(lastOf(system, input), input);
  return { system: system.flat(), messages: turns.finish(), calledTools, addedTools };

  function addItem(item: Place): void {
    const type = item.object().at('type');
    for (const name of BOOKKEEPING) item.at(name);
    switch (type.value ?? 'message') {
      case 'message':
        addMessage(item);
        return;
      case 'reasoning':
        addReasoning(item);
        return;
      case 'function_call':
        addCall(item, readArguments(item.at('arguments')));
        return;
      case 'custom_tool_call':
        addCall(item, { json: JSON.stringify({ input: item.at('input').string() }) });
        return;
      case 'function_call_output':
      case 'custom_tool_call_output':
        addOutput(item);
        return;
      // Codex lists its tools in an item. All tools are offered from the start.
      case 'additional_tools':
        item.at('role');
        addedTools.push(item.at('tools'));
        item.noteUnread();
        return;
      // The upstream's own results are not in the item. The model's findings are in its answer.
      case 'web_search_call':
        item.note('dropped', 'past searches are not sent');
        return;
      case 'item_reference':
        type.refuse(
          'nothing is stored here: send the item itself (SDKs do so with store: false)',
          'unsupported_value',
        );
        return;
      default:
        type.refuse(`items of type ${quote(type.value)} have no equivalent`, 'unsupported_value');
    }
  }

  function addMessage(item: Place): void {
    const role = item.at('role');
    const content = item.given('content');
    switch (role.value) {
      case 'system':
      case 'developer': {
        const blocks = readParts(content, TEXT_PARTS);
        finishReading(item, blocks.at(-1));
        if (blocks.length === 0) return;
        // A system message before the first answer stays at the beginning as the conversation
        // grows.
        if (turns.hasAnswer) turns.instruct(blocks, item);
        else system.push(blocks);
        return;
      }
      case 'user': {
        const blocks = readParts(content, INPUT_PARTS);
        finishReading(item, blocks.at(-1));
        if (blocks.length > 0) turns.hear(blocks, item);
        else item.note('dropped', WITHOUT_CONTENT);
        return;
      }
      case 'assistant': {
        const blocks = readParts(content, TEXT_PARTS);
        finishReading(item, blocks.at(-1));
        if (blocks.length > 0) turns.say(blocks);
        else item.note('dropped', WITHOUT_CONTENT);
        return;
      }
      default:
        role.mustBe('system, developer, user or assistant', 'invalid_value');
    }
  }

  /** Only the signed block is read. The summary is a copy of its text, for people. */
  function addReasoning(item: Place): void {
    item.at('summary');
    item.at('content');
    const place = item.at('encrypted_content');
    const sealed = readSealed(place.string(''));
    item.noteUnread();
    // Reasoning of another provider's model means nothing to the upstream.
    if (!sealed) {
      item.note('dropped', 'not signed by upstream');
      return;
    }
    const block = readBlock(new Place(item.t, sealed, item, 'encrypted_content'));
    if (block) turns.think(block, item);
  }

  function addCall(item: Place, input: JsonText): void {
    const place = item.at('call_id');
    const wanted = place.nonEmptyString();
    const id = allocateId(wanted);
    if (id !== wanted) place.note('rewritten', `sent as ${id}`);
    const name = calledName(item);
    calledTools.add(name);
    const block: Call['block'] = { type: 'tool_use', id, name, input };
    finishReading(item, block);
    turns.call({ block, key: wanted, place: item, results: [] });
  }

  function addOutput(item: Place): void {
    const reference = item.at('call_id');
    const key = reference.nonEmptyString();
    item.at('name');
    item.at('namespace');
    const content = readParts(item.given('output'), INPUT_PARTS);
    const cacheControl = readCacheControl(item);
    item.noteUnread();
    const result = { key, isLegacy: false, isError: false, reference, content, cacheControl };
    turns.answer({ ...result, place: item });
  }
}

/** An input that consists of instructions asks for an answer to the last of them. */
function lastOf(system: TextBlock[][], input: Place): TextBlock[] {
  const blocks = system.pop() ?? input.refuse('at least one item must have content');
  input.note('rewritten', 'the last system message is sent as user');
  return blocks;
}
