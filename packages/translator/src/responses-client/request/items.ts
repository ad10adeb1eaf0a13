/**
 * Translates the `input` of a Responses request to native turns and system blocks.
 * https://platform.openai.com/docs/api-reference/responses/create
 */

import { bindsPrefix } from '../../chat-client/request/bound-thinking.js';
import { finishReading, readCacheControl } from '../../chat-client/request/cache-points.js';
import { type Call, readArguments } from '../../chat-client/request/calls-and-results.js';
import { textBlock } from '../../chat-client/request/content.js';
import type {
  ContentBlock,
  NativeMessage,
  TextBlock,
  ToolInput,
} from '../../chat-client/request/native-request.js';
import { effortOf } from '../../chat-client/request/reasoning.js';
import { readAdditions, readBlock } from '../../chat-client/request/thinking.js';
import type { EffortLevel, ModelTraits } from '../../chat-client/request/traits.js';
import { Place, quote } from '../../reading/place.js';
import { createIdAllocator } from '../../reading/tool-ids.js';
import type { LocalToolType } from '../../wire/local-tools.js';
import { stringOf } from '../../wire/raw-json.js';
import { calledType, describeFound, readLocalInput, readShellOutput } from './local-calls.js';
import { INPUT_PARTS, readParts, TEXT_PARTS } from './parts.js';
import { readSealed, readServerBlocks } from './sealed-blocks.js';
import type { StoredResponses } from './stored-state.js';
import { calledName } from './tool-names.js';
import { Turns } from './turns.js';

export interface Conversation {
  /**
   * All items, in order: those of the previous response, and those of the input. An item that the
   * input refers to stands in place of the reference.
   */
  readonly items: readonly unknown[];
  readonly system: TextBlock[];
  readonly messages: NativeMessage[];
  /** The upstream's names of all tools that past turns called, in order of first use. */
  readonly calledTools: ReadonlySet<string>;
  /** Lists of tools among the items. */
  readonly addedTools: readonly Place[];
  /** Lists of the tools that searches of the client found. */
  readonly foundTools: readonly Place[];
  /** Whether past answers have searches with their results. */
  readonly hasSearches: boolean;
  /** The effort of the first request, as an answer to it says. */
  readonly firstEffort: EffortLevel | undefined;
  /** The effort that an item sets, if only the request can have one. */
  readonly configured: Place | undefined;
  /** Whether items set the effort of answers. */
  readonly isConfigured: boolean;
  /** The text of the user turn at the end, if the translation added one. */
  readonly closing: string | undefined;
}

interface StoredItems {
  /** The items of the conversation that the input continues. */
  readonly previous: Place | undefined;
  readonly stored: StoredResponses | undefined;
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
  { previous, stored }: StoredItems,
): Conversation {
  return new InputTranslation(input, traits, stored).translate(instructions, previous);
}

class InputTranslation {
  readonly #input: Place;
  readonly #traits: ModelTraits;
  readonly #stored: StoredResponses | undefined;
  readonly #items: unknown[] = [];
  readonly #system: TextBlock[][] = [];
  readonly #calledTools = new Set<string>();
  readonly #addedTools: Place[] = [];
  readonly #foundTools: Place[] = [];
  #configured: Place | undefined;
  readonly #turns: Turns;
  readonly #allocateId = createIdAllocator();

  constructor(input: Place, traits: ModelTraits, stored: StoredResponses | undefined) {
    this.#input = input;
    this.#traits = traits;
    this.#stored = stored;
    this.#turns = new Turns(input, traits);
  }

  translate(instructions: Place | undefined, previous: Place | undefined): Conversation {
    const input = this.#input;
    const turns = this.#turns;
    const instructed = instructions && textBlock(instructions);
    if (instructed) this.#system.push([instructed]);
    previous?.items((item) => this.#keepItem(item));
    if (typeof input.value === 'string') {
      const text = textBlock(input);
      if (text) turns.hear([text], input);
      this.#items.push({ role: 'user', content: input.value });
    } else input.items((item) => this.#keepItem(item), 'a string or an array');

    if (turns.isEmpty) turns.hear(lastOf(this.#system, input), input);
    return {
      ...turns.finish(),
      items: this.#items,
      system: this.#system.flat(),
      calledTools: this.#calledTools,
      hasSearches: turns.hasSearches,
      firstEffort: turns.firstEffort,
      configured: this.#configured,
      isConfigured: turns.isConfigured,
      addedTools: this.#addedTools,
      foundTools: this.#foundTools,
    };
  }

  #keepItem(item: Place): void {
    const kept = this.#referredItem(item) ?? item;
    this.#items.push(kept.value);
    this.#addItem(kept);
  }

  /** The item that a reference stands for; undefined if the item is not a reference. */
  #referredItem(item: Place): Place | undefined {
    const type = item.object().at('type');
    // The type of a reference is optional.
    const isBare = type.value == null && item.given('id') && !item.given('role');
    if (type.value !== 'item_reference' && !isBare) return undefined;
    if (!this.#stored) {
      return (isBare ? item : type).refuse(
        'nothing is stored here: send the item itself (SDKs do so with store: false)',
        'unsupported_value',
      );
    }
    const id = item.at('id');
    const found = this.#stored.items.get(id.string());
    if (found === undefined) {
      return id.refuse(
        'there is no such item of this key, or it is no longer kept: send the item itself (SDKs do so with store: false)',
      );
    }
    return new Place(item.t, found, item, 'item');
  }

  #addItem(item: Place): void {
    const type = item.object().at('type');
    for (const name of BOOKKEEPING) item.at(name);
    const local = calledType(type.value);
    if (local) {
      this.#addLocalCall(item, local);
      return;
    }
    switch (type.value ?? 'message') {
      case 'message':
        this.#addMessage(item);
        return;
      case 'reasoning':
        this.#addReasoning(item);
        return;
      case 'function_call':
        this.#addCall(item, calledName(item), readArguments(item.at('arguments')));
        return;
      case 'custom_tool_call':
        this.#addCall(item, calledName(item), {
          object: { input: item.at('input').string() },
        });
        return;
      case 'function_call_output':
      case 'custom_tool_call_output':
      case 'local_shell_call_output':
        this.#addOutput(item, readParts(item.given('output'), INPUT_PARTS));
        return;
      case 'shell_call_output':
        item.at('max_output_length');
        this.#addOutput(item, textBlocks(readShellOutput(item.at('output'))));
        return;
      case 'apply_patch_call_output': {
        const content = readParts(item.given('output'), INPUT_PARTS);
        const isError = item.at('status').value === 'failed';
        // The upstream refuses an error without content.
        if (isError && content.length === 0) content.push({ type: 'text', text: 'failed' });
        this.#addOutput(item, content, isError);
        return;
      }
      case 'tool_search_output': {
        const tools = item.at('tools');
        this.#foundTools.push(tools);
        item.at('execution');
        if (this.#isOfServer(item)) return;
        this.#addOutput(item, [{ type: 'text', text: describeFound(tools) }]);
        return;
      }
      case 'configuration_update':
        this.#configure(item);
        return;
      // Codex lists its tools in an item. All tools are offered from the start.
      case 'additional_tools':
        item.at('role');
        this.#addedTools.push(item.at('tools'));
        item.noteUnread();
        return;
      // Hosted tools that another provider's model called before.
      case 'code_interpreter_call':
      case 'file_search_call':
      case 'mcp_call':
        this.#addAsText(item);
        return;
      // A picture cannot be part of an answer, and a list of tools is not part of a conversation.
      case 'image_generation_call':
      case 'mcp_list_tools':
        item.note('dropped', 'the upstream has no such item');
        return;
      // The upstream's own results are not in this item: see `#addReasoning`.
      case 'web_search_call':
        this.#turns.search(item);
        return;
      default:
        type.refuse(`items of type ${quote(type.value)} have no equivalent`, 'unsupported_value');
    }
  }

  #addMessage(item: Place): void {
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
        if (this.#turns.hasAnswer) this.#turns.instruct(blocks, item);
        else this.#system.push(blocks);
        return;
      }
      case 'user': {
        const blocks = readParts(content, INPUT_PARTS);
        finishReading(item, blocks.at(-1));
        if (blocks.length > 0) this.#turns.hear(blocks, item);
        else item.note('dropped', WITHOUT_CONTENT);
        return;
      }
      case 'assistant': {
        const blocks = readParts(content, TEXT_PARTS);
        finishReading(item, blocks.at(-1));
        if (blocks.length > 0) this.#turns.say(blocks, item);
        else item.note('dropped', WITHOUT_CONTENT);
        return;
      }
      default:
        role.mustBe('system, developer, user or assistant', 'invalid_value');
    }
  }

  /**
   * The effort from here on. Where the model takes one for each turn, that leaves the cached prefix
   * valid. The format of the answer can only be set for the whole request.
   */
  #configure(item: Place): void {
    const effort = item.given('reasoning')?.object().given('effort');
    item.noteUnread();
    const level = effort?.string();
    if (!effort || level === undefined) return;
    if (!bindsPrefix(this.#traits)) {
      effort.note('rewritten', 'applies to the whole request');
      this.#configured = effort;
      return;
    }
    const sent = effortOf(level, level, this.#traits, effort);
    if (sent) this.#turns.configure(sent);
  }

  /**
   * Reads only the signed block, or the blocks of the searches before the item. The summary is a
   * copy of the text, for people.
   */
  #addReasoning(item: Place): void {
    item.at('summary');
    item.at('content');
    const place = item.at('encrypted_content');
    const text = place.string('');
    item.noteUnread();
    const searched = readServerBlocks(text);
    if (searched) {
      if (searched.length > 0) this.#turns.addServerBlocks(searched);
      return;
    }
    const sealed = readSealed(text);
    // Reasoning of another provider's model means nothing to the upstream.
    if (!sealed) {
      item.note('dropped', 'not signed by upstream');
      return;
    }
    const native = new Place(item.t, sealed, item, 'encrypted_content');
    const block = readBlock(native);
    if (!block) return;
    if (bindsPrefix(this.#traits)) this.#turns.repeat(readAdditions(native));
    this.#turns.think(block, item);
  }

  #addLocalCall(item: Place, type: LocalToolType): void {
    const input = readLocalInput(item, type);
    if (type !== 'tool_search' || !this.#isOfServer(item)) this.#addCall(item, type, input);
  }

  /** Whether a search of tools was made by another provider's server, and not by the client. */
  #isOfServer(item: Place): boolean {
    const isServers = !item.given('call_id');
    if (isServers) item.note('dropped', 'the search was not made by the client');
    return isServers;
  }

  #addCall(item: Place, name: string, input: ToolInput): void {
    const place = callIdOf(item);
    const wanted = place.nonEmptyString();
    const id = this.#allocateId(wanted);
    if (id !== wanted) place.note('rewritten', `sent as ${id}`);
    this.#calledTools.add(name);
    const block: Call['block'] = { type: 'tool_use', id, name, input };
    finishReading(item, block);
    this.#turns.call({ block, key: wanted, place: item, results: [] });
  }

  /** The whole item as text of the assistant, for the model to read. */
  #addAsText(item: Place): void {
    item.note('rewritten', 'sent as text');
    this.#turns.say([{ type: 'text', text: JSON.stringify(item.value) }], item);
  }

  #addOutput(item: Place, content: readonly ContentBlock[], isError = false): void {
    const reference = callIdOf(item);
    const key = reference.nonEmptyString();
    item.at('name');
    item.at('namespace');
    const cacheControl = readCacheControl(item);
    item.noteUnread();
    const result = { key, isLegacy: false, isError, reference, content, cacheControl };
    this.#turns.answer({ ...result, place: item });
  }
}

/** The upstream refuses an empty text. */
function textBlocks(text: string): TextBlock[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

/** The id of a call or of an output. OpenAI's output of a local shell has it as its `id`. */
function callIdOf(item: Place): Place {
  const isLocalShell = stringOf(item.at('type').value).startsWith('local_shell_call');
  return item.given('call_id') ?? item.at(isLocalShell ? 'id' : 'call_id');
}

/** An input that consists of instructions asks for an answer to the last of them. */
function lastOf(system: TextBlock[][], input: Place): TextBlock[] {
  const blocks = system.pop() ?? input.refuse('at least one item must have content');
  input.note('rewritten', 'the last system message is sent as user');
  return blocks;
}
