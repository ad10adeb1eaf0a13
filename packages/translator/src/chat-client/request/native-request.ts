/**
 * The native Messages request that the translation produces, and its JSON text.
 *
 * The members mirror `MessageCreateParams` of the Anthropic SDK in `package.json`; `temperature`
 * and `top_p` are only in older ones, such as 0.137.0. The upstream refuses members that it does
 * not know, so no others are sent. A member that is undefined is not written.
 */

import type { Citation, ServerBlock } from '../../wire/server-block.js';
import type { CacheControl } from '../../reading/cache-point.js';
import type { NativeToolChoice } from '../../reading/tool-choice.js';
import type { WebSearchTool } from '../../reading/web-search-reading.js';
import { type JsonObject, type JsonText, wellFormed } from '../../wire/raw-json.js';
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
  | {
      role: 'system';
      content: TextBlock[];
      /** The effort of the answer that follows, which leaves the cached prefix valid. */
      output_config?: { effort: EffortLevel } | undefined;
    };

export type Block = ContentBlock | ToolResultBlock | ThinkingBlock | ToolUseBlock | ServerToolBlock;
export type ContentBlock = TextBlock | ImageBlock | DocumentBlock;

export interface TextBlock {
  type: 'text';
  text: string;
  /** Only in answers: of pages that a search found. */
  citations?: Citation[] | undefined;
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

/** A block of a tool that the upstream ran in an earlier answer. */
export type ServerToolBlock = ServerBlock & { cache_control?: CacheControl | undefined };

export function isServerBlock({ type }: Block): boolean {
  return type === 'server_tool_use' || type === 'web_search_tool_result';
}

export function isThinking({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** The blocks of calls or of thinking. */
export function blocksOf<Held>(holders: readonly { readonly block: Held }[]): Held[] {
  return holders.map(({ block }) => block);
}

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

/** Takes the next part of a text. */
export type TakePart = (part: string) => void;

/** Writes a value as JSON text, as a whole or in parts that follow each other. */
export type Stringify = (value: unknown, take: TakePart) => void;

/** An option of the functions that translate requests. */
export interface Encoding<Body> {
  /**
   * Makes the body of its JSON text, which `write` gives to `take` part by part. Default: one
   * string. Encoding each part before the next is written takes less memory, because one character
   * beyond Latin-1 doubles the memory of its whole text.
   */
  readonly encode: (write: (take: TakePart) => void) => Body;
}

/** How a body is written. */
export interface Writing extends Partial<Encoding<unknown>> {
  readonly stringify?: Stringify | undefined;
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
  { stringify = stringifyWhole, encode = asText }: Writing,
): unknown {
  return encode((take) => {
    new RequestWriter(stringify, take).write(request);
  });
}

function stringifyWhole(value: unknown, take: TakePart): void {
  take(JSON.stringify(value));
}

/** Unlike `join`, this does not copy the parts. */
function asText(write: (take: TakePart) => void): string {
  let text = '';
  write((part) => (text += part));
  return text;
}

class RequestWriter {
  readonly #stringify: Stringify;
  readonly #take: TakePart;

  constructor(stringify: Stringify, take: TakePart) {
    this.#stringify = stringify;
    this.#take = take;
  }

  write(request: CountRequest & Partial<NativeRequest>): void {
    const { model, max_tokens, tools, system, messages, ...rest } = request;
    this.#take('{');
    this.#writeMembers({ model, max_tokens, tools, system });
    this.#take(',"messages":');
    this.#writeList(messages, this.#writeMessage);
    this.#writeMembers(rest, ',');
    this.#take('}');
  }

  readonly #writeValue = (value: unknown): void => {
    this.#stringify(value, this.#writeText);
  };

  readonly #writeText = (json: string): void => {
    for (const piece of wellFormed(json)) this.#take(piece);
  };

  readonly #writeMessage = (message: NativeMessage): void => {
    if (message.role === 'assistant') {
      const { content } = message;
      this.#writeObject(message, content, () => {
        this.#writeList(content, this.#writeBlock);
      });
    } else {
      this.#writeValue(message);
    }
  };

  readonly #writeBlock = (block: Block): void => {
    if (block.type === 'tool_use') {
      const { input } = block;
      this.#writeObject(block, input, () => {
        if ('json' in input) this.#writeText(input.json);
        else this.#writeValue(input.object);
      });
    } else {
      this.#writeValue(block);
    }
  };

  /** @param writeOne - Writes this one member. */
  #writeObject(object: object, one: object, writeOne: () => void): void {
    this.#take('{');
    this.#writeMembers(object, '', (value) => {
      if (value === one) writeOne();
      else this.#writeValue(value);
    });
    this.#take('}');
  }

  #writeMembers(object: object, before = '', writeValue = this.#writeValue): void {
    let comma = before;
    for (const [name, value] of Object.entries(object)) {
      if (value === undefined) continue;
      this.#take(`${comma}"${name}":`);
      writeValue(value);
      comma = ',';
    }
  }

  #writeList<Item>(items: readonly Item[], writeItem: (item: Item) => void): void {
    this.#take('[');
    for (const [index, item] of items.entries()) {
      if (index > 0) this.#take(',');
      writeItem(item);
    }
    this.#take(']');
  }
}
