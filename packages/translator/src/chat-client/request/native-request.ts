/**
 * The native Messages request that the translation produces, and its JSON text.
 *
 * The members mirror `MessageCreateParams` of the Anthropic SDK in `package.json`; `temperature`
 * and `top_p` are only in older ones, such as 0.137.0. The upstream refuses members that it does
 * not know, so no others are sent. A member that is undefined is not written.
 */

import type { CacheControl } from '../../reading/cache-point.js';
import type { NativeToolChoice } from '../../reading/tool-choice.js';
import type { WebSearchTool } from '../../reading/web-search-reading.js';
import { type JsonObject, type JsonText, PIECE_LENGTH, wellFormed } from '../../wire/raw-json.js';
import type { EffortLevel } from './traits.js';

export interface NativeRequest {
  model: string;
  max_tokens: number;
  tools?: OfferedTool[] | undefined;
  system?: TextBlock[] | undefined;
  messages: NativeMessage[];
  tool_choice?: NativeToolChoice | undefined;
  stop_sequences?: string[] | undefined;
  temperature?: number;
  top_p?: number;
  output_config?: OutputConfig | undefined;
  thinking?: ThinkingConfig | undefined;
  metadata?: { user_id: string } | undefined;
  service_tier?: 'standard_only' | undefined;
  cache_control?: CacheControl | undefined;
  stream?: true | undefined;
}

/**
 * The members that the upstream's `count_tokens` takes too: `MessageCountTokensParams` of the SDK.
 */
export type CountRequest = Pick<NativeRequest, CountedMember>;
type CountedMember =
  | ('model' | 'tools' | 'system' | 'messages' | 'tool_choice')
  | ('output_config' | 'thinking' | 'cache_control');

/** A tool of the client's, or one that the upstream runs. */
export type OfferedTool = NativeTool | WebSearchTool;

export interface OutputConfig {
  effort?: EffortLevel | undefined;
  /** The text of the answer must satisfy this JSON Schema. */
  format?: OutputFormat | undefined;
}

export interface NativeTool {
  name: string;
  description?: string | undefined;
  input_schema: InputSchema;
  strict?: true | undefined;
  cache_control?: CacheControl | undefined;
}

export interface OutputFormat {
  type: 'json_schema';
  schema: JsonObject;
}

export type ThinkingConfig =
  | { type: 'disabled' | 'between_tools' }
  | {
      type: 'adaptive';
      display?: 'summarized' | undefined;
      block_binding?: { prefix_mismatch_behavior: 'drop_block' } | undefined;
    };

export type InputSchema = JsonObject & { readonly type: 'object' };

export type NativeMessage =
  | { role: 'user' | 'assistant'; content: Block[] }
  /**
   * Allowed only directly after a user message, and only as the last message or before an assistant
   * message.
   */
  | { role: 'system'; content: TextBlock[] };

export type Block = ContentBlock | ToolResultBlock | ThinkingBlock | ToolUseBlock;
export type ContentBlock = TextBlock | ImageBlock | DocumentBlock;

export interface TextBlock {
  type: 'text';
  text: string;
  cache_control?: CacheControl | undefined;
}

export interface ImageBlock {
  type: 'image';
  source:
    { type: 'base64'; media_type: ImageMediaType; data: string } | { type: 'url'; url: string };
  cache_control?: CacheControl | undefined;
}

export type ImageMediaType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

export interface DocumentBlock {
  type: 'document';
  source:
    | { type: 'base64'; media_type: 'application/pdf'; data: string }
    | { type: 'text'; media_type: 'text/plain'; data: string }
    | { type: 'url'; url: string };
  title?: string;
  cache_control?: CacheControl | undefined;
}

export type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string; cache_control?: undefined }
  | { type: 'redacted_thinking'; data: string; cache_control?: undefined };

export interface ToolUseBlock {
  type: 'tool_use';
  id: string;
  name: string;
  input: ToolInput;
  cache_control?: CacheControl | undefined;
}

/** Text is written as it is, except that escapes of unpaired surrogates become U+FFFD. */
export type ToolInput = JsonText | { readonly object: JsonObject };

export interface ToolResultBlock {
  type: 'tool_result';
  tool_use_id: string;
  content?: ContentBlock[] | undefined;
  is_error?: boolean | undefined;
  cache_control?: CacheControl | undefined;
}

/** The request that counts the tokens of a request's input. */
export function countRequest(request: NativeRequest): CountRequest {
  const { model, tools, system, messages, tool_choice } = request;
  const { output_config, thinking, cache_control } = request;
  return { model, tools, system, messages, tool_choice, output_config, thinking, cache_control };
}

/** JSON text of a value, as a whole or in pieces that follow each other. */
export type Stringify = (value: unknown) => string | readonly string[];

/** The body of a request to the upstream. */
export interface WrittenBody {
  /** JSON text. */
  readonly body: string;
  /**
   * `body` in parts: each message is one, and so is each other member. Long ones have several.
   * Encoding them one after another is cheaper, because one character beyond Latin-1 doubles the
   * memory of its whole text.
   */
  readonly parts: readonly string[];
}

/**
 * Writes the body that is sent upstream.
 *
 * The order of members is fixed: `model` and `max_tokens`, then `tools`, `system` and `messages`,
 * as the upstream orders its cached prefixes, then the rest. Two requests with the same beginning
 * therefore begin with the same bytes. Caches keyed by the text of the body depend on that.
 *
 * Unpaired surrogates become U+FFFD.
 */
export function writeNativeRequest(
  request: CountRequest & Partial<NativeRequest>,
  stringify: Stringify = JSON.stringify,
): WrittenBody {
  const { model, max_tokens, tools, system, messages, ...rest } = request;
  const parts = [
    '{',
    ...withCommas(membersOf({ model, max_tokens, tools, system })),
    ',"messages":[',
    ...withCommas(messages.map(writeMessage)),
    ']',
    ...membersOf(rest).flatMap((member) => [',', ...member]),
    '}',
  ];
  return { body: joined(parts), parts };

  function write(value: unknown): string[] {
    const json = stringify(value);
    return typeof json === 'string' ? wellFormed(json) : json.flatMap((piece) => wellFormed(piece));
  }

  function writeMessage(message: NativeMessage): readonly string[] {
    if (message.role !== 'assistant') return write(message);
    const blocks = withCommas(message.content.map(writeBlock));
    return inOne(writeObject(message, message.content, ['[', ...blocks, ']']));
  }

  function writeBlock(block: Block): string[] {
    if (block.type !== 'tool_use') return write(block);
    const { input } = block;
    const text = 'json' in input ? wellFormed(input.json) : write(input.object);
    return writeObject(block, input, text);
  }

  /** @param text - the JSON text of one member */
  function writeObject(object: object, member: object, text: readonly string[]): string[] {
    const members = membersOf(object, (value) => (value === member ? text : write(value)));
    return ['{', ...withCommas(members), '}'];
  }

  function membersOf(object: object, writeValue: (value: unknown) => readonly string[] = write) {
    return Object.entries(object).flatMap(([name, value]) =>
      value === undefined ? [] : [inOne([`"${name}":`, ...writeValue(value)])],
    );
  }
}

function withCommas(texts: readonly (readonly string[])[]): string[] {
  return texts.flatMap((text, index) => (index === 0 ? text : [',', ...text]));
}

/** Encoding many short parts would take longer than encoding them as one. */
function inOne(parts: readonly string[]): readonly string[] {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return length <= PIECE_LENGTH ? [joined(parts)] : parts;
}

/** Unlike `join`, this does not copy the texts. */
function joined(texts: readonly string[]): string {
  return texts.reduce((all, text) => all + text, '');
}
