/**
 * The events of a message, and how its content blocks become them. Each client format has an
 * encoder that reads these events and nothing else of the content.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import {
  isJsonObject,
  isTooDeep,
  type JsonObject,
  objectOf,
  objectsOf,
  parseJson,
  stringOf,
} from '../wire/raw-json.js';
import { argumentsOf, type CalledTool, calledTool } from './called-tool.js';
import { readServerBlock, type ServerBlock } from '../wire/server-block.js';
import { isThinking, type ThinkingBlock, thinkingBlock } from './thinking-block.js';

/**
 * What a message consists of, in the order in which it arrives. `at` is the number of the block
 * among all blocks of the message, those that are left out included. Each block that starts also
 * ends, unless the message fails. Texts are never empty.
 */
export type MessageEvent =
  | { readonly type: 'message_start'; readonly messageId: string | undefined }
  | { readonly type: 'text_start'; readonly at: number }
  | { readonly type: 'text'; readonly at: number; readonly text: string }
  | { readonly type: 'citation'; readonly at: number; readonly citation: JsonObject }
  | { readonly type: 'text_end'; readonly at: number }
  | { readonly type: 'thinking_start'; readonly at: number }
  | { readonly type: 'thinking'; readonly at: number; readonly text: string }
  | { readonly type: 'thinking_end'; readonly at: number; readonly block: ThinkingBlock }
  | { readonly type: 'call_start'; readonly at: number; readonly call: CalledTool }
  /** A piece of the JSON text of a call's input. There is at least one before the end. */
  | { readonly type: 'input'; readonly at: number; readonly json: string }
  | { readonly type: 'call_end'; readonly at: number }
  /** A search of the web, whose query is complete. Its result follows, or never comes. */
  | { readonly type: 'search'; readonly id: string; readonly query: string }
  | { readonly type: 'search_result'; readonly id: string; readonly outcome: SearchOutcome }
  /** A whole block of a tool that the upstream runs itself, which the next turn needs. */
  | { readonly type: 'server_block'; readonly block: ServerBlock }
  | { readonly type: 'message_stop' };

export type SearchOutcome = 'completed' | 'failed';

/** Reads one native block while it is open, after its start. */
export interface BlockReader {
  /**
   * Whether the caller may write the strings of deltas of this type itself, instead of `onDelta`.
   * It then has to write the next one.
   */
  mayPass?(type: string): boolean;
  onDelta(delta: JsonObject): void;
  end(): void;
}

export interface BlockPlace {
  readonly at: number;
  /**
   * Cuts the block's `input` out of the JSON text of the message, so that it keeps its digits and
   * its order. Without that text, the input is written from its value.
   */
  readonly inputText: (() => string | undefined) | undefined;
}

type Emit = (event: MessageEvent) => void;

/**
 * Starts to read a native block.
 *
 * @returns `ignored` for a block that no client format has, `malformed` for a call that no client
 * could answer
 */
export function openBlock(
  block: JsonObject,
  place: BlockPlace,
  emit: Emit,
): BlockReader | 'ignored' | 'malformed' {
  if (isThinking(block)) return new ThinkingReader(block, place, emit);
  switch (block['type']) {
    case 'text':
      return new TextReader(block, place, emit);
    case 'tool_use': {
      const call = calledTool(block);
      const { input } = block;
      if (!call || (!place.inputText && isTooDeep(input))) return 'malformed';
      emit({ type: 'call_start', at: place.at, call });
      return new CallReader(input, place, emit);
    }
    case 'server_tool_use':
      return block['name'] === 'web_search' ? new SearchReader(block, emit) : 'ignored';
    case 'web_search_tool_result': {
      const outcome = Array.isArray(block['content']) ? 'completed' : 'failed';
      emit({ type: 'search_result', id: stringOf(block['tool_use_id']), outcome });
      emitServerBlock(block, emit);
      return 'ignored';
    }
    default:
      return 'ignored';
  }
}

class TextReader implements BlockReader {
  readonly #at: number;
  readonly #emit: Emit;

  constructor({ text, citations }: JsonObject, { at }: BlockPlace, emit: Emit) {
    this.#at = at;
    this.#emit = emit;
    emit({ type: 'text_start', at });
    this.#add(stringOf(text));
    for (const citation of objectsOf(citations)) emit({ type: 'citation', at, citation });
  }

  mayPass(type: string): boolean {
    return type === 'text_delta';
  }

  onDelta({ type, text, citation }: JsonObject): void {
    if (type === 'text_delta') this.#add(stringOf(text));
    else if (type === 'citations_delta' && isJsonObject(citation)) {
      this.#emit({ type: 'citation', at: this.#at, citation });
    }
  }

  #add(text: string): void {
    if (text !== '') this.#emit({ type: 'text', at: this.#at, text });
  }

  end(): void {
    this.#emit({ type: 'text_end', at: this.#at });
  }
}

class ThinkingReader implements BlockReader {
  readonly #block: ThinkingBlock;
  readonly #at: number;
  readonly #emit: Emit;

  constructor(block: JsonObject, { at }: BlockPlace, emit: Emit) {
    this.#block = thinkingBlock(block);
    this.#at = at;
    this.#emit = emit;
    emit({ type: 'thinking_start', at });
    if (this.#block.type === 'thinking') this.#show(this.#block.thinking);
  }

  onDelta({ thinking, signature }: JsonObject): void {
    const block = this.#block;
    if (block.type !== 'thinking') return;
    block.thinking += stringOf(thinking);
    block.signature += stringOf(signature);
    this.#show(stringOf(thinking));
  }

  #show(text: string): void {
    if (text !== '') this.#emit({ type: 'thinking', at: this.#at, text });
  }

  end(): void {
    this.#emit({ type: 'thinking_end', at: this.#at, block: this.#block });
  }
}

class CallReader implements BlockReader {
  readonly #at: number;
  readonly #emit: Emit;
  /** The input at the start of the block. It is used if no deltas follow. */
  #input: string;

  constructor(input: unknown, { at, inputText }: BlockPlace, emit: Emit) {
    this.#at = at;
    this.#emit = emit;
    const isEmpty = isJsonObject(input) && Object.keys(input).length === 0;
    this.#input = argumentsOf(inputText && !isEmpty ? inputText() : JSON.stringify(input));
  }

  mayPass(type: string): boolean {
    if (type !== 'input_json_delta') return false;
    this.#input = '';
    return true;
  }

  onDelta({ partial_json: partial }: JsonObject): void {
    const json = stringOf(partial);
    if (json === '') return;
    this.#input = '';
    this.#emit({ type: 'input', at: this.#at, json });
  }

  end(): void {
    const [at, json] = [this.#at, this.#input];
    if (json !== '') this.#emit({ type: 'input', at, json });
    this.#emit({ type: 'call_end', at });
  }
}

class SearchReader implements BlockReader {
  readonly #block: JsonObject;
  readonly #emit: Emit;
  #json = '';

  constructor(block: JsonObject, emit: Emit) {
    this.#block = block;
    this.#emit = emit;
  }

  onDelta({ partial_json: partial }: JsonObject): void {
    this.#json += stringOf(partial);
  }

  end(): void {
    const { id } = this.#block;
    const input = this.#json === '' ? this.#block['input'] : parseJson(this.#json);
    this.#emit({ type: 'search', id: stringOf(id), query: stringOf(objectOf(input)['query']) });
    emitServerBlock({ ...this.#block, input }, this.#emit);
  }
}

function emitServerBlock(native: JsonObject, emit: Emit): void {
  const block = readServerBlock(native);
  if (block) emit({ type: 'server_block', block });
}
