/**
 * The chat completions request that the translation produces, and its JSON text.
 *
 * The members mirror `ChatCompletionCreateParams` of the OpenAI SDK in `package.json`, except for
 * the extensions that {@link ChatTraits} turn on: `cache_control`, `thinking_blocks`,
 * `reasoning_content`, files that are not PDF, and images and files in the results of tools.
 */

import type { CacheControl } from '../../reading/cache-point.js';
import type { JsonText } from '../../wire/raw-json.js';

export interface ChatRequest {
  readonly model: string;
  readonly max_completion_tokens?: number;
  readonly max_tokens?: number;
  readonly tools?: readonly ChatTool[];
  readonly messages: readonly ChatMessage[];
  readonly tool_choice?: ChatToolChoice;
  readonly parallel_tool_calls?: false;
  readonly stop?: string[];
  readonly temperature?: number;
  readonly top_p?: number;
  readonly reasoning_effort?: ChatEffort;
  readonly response_format?: ChatResponseFormat;
  readonly user?: string;
  readonly service_tier?: 'default';
  readonly cache_control?: CacheControl;
  readonly stream?: true;
  readonly stream_options?: { readonly include_usage: true };
}

export type ChatEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** Any object that may carry a cache point. */
export interface Cacheable {
  readonly cache_control?: CacheControl;
}

export interface ChatTool extends Cacheable {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    /** Written into the body as it is. */
    readonly parameters: JsonText;
    readonly strict?: true;
  };
}

export type ChatToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } };

export interface ChatResponseFormat {
  readonly type: 'json_schema';
  readonly json_schema: {
    readonly name: string;
    /** Written into the body as it is. */
    readonly schema: JsonText;
    readonly strict: boolean;
  };
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string | TextPart[] }
  | { readonly role: 'user'; readonly content: string | ChatPart[] }
  | ChatAssistantMessage
  | ({
      readonly role: 'tool';
      readonly tool_call_id: string;
      readonly content: string | ChatPart[];
    } & Cacheable);

export interface ChatAssistantMessage {
  readonly role: 'assistant';
  readonly content: string | TextPart[] | null;
  readonly tool_calls?: ChatCall[];
  readonly thinking_blocks?: readonly object[];
  readonly reasoning_content?: string;
}

export interface ChatCall extends Cacheable {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface TextPart extends Cacheable {
  readonly type: 'text';
  readonly text: string;
}

export type ChatPart =
  | TextPart
  | ({ readonly type: 'image_url'; readonly image_url: { readonly url: string } } & Cacheable)
  | ({
      readonly type: 'file';
      readonly file: { readonly filename?: string; readonly file_data: string };
    } & Cacheable);

/** A single text as a string, which every server reads. Other content stays a list of parts. */
export function contentOf<Part extends ChatPart>(parts: Part[]): string | Part[] {
  const [first, second] = parts;
  if (first === undefined) return '';
  const isPlain = first.type === 'text' && first.cache_control === undefined;
  return second === undefined && isPlain ? first.text : parts;
}

/** Writes the body that is sent upstream. The members that form its cached prefix come first. */
export function writeChatRequest({ tools, response_format, ...request }: ChatRequest): string {
  const { model, messages, ...rest } = request;
  let json = `{"model":${JSON.stringify(model)}`;
  if (tools !== undefined) json += `,"tools":[${tools.map(writeTool).join(',')}]`;
  json += `,"messages":${JSON.stringify(messages)}`;
  if (response_format !== undefined) json += `,"response_format":${writeFormat(response_format)}`;
  const tail = JSON.stringify(rest);
  return tail === '{}' ? `${json}}` : `${json},${tail.slice(1)}`;
}

function writeTool({ function: { parameters, ...head }, ...tool }: ChatTool): string {
  const called = `${JSON.stringify(head).slice(0, -1)},"parameters":${parameters.json}}`;
  return `${JSON.stringify(tool).slice(0, -1)},"function":${called}}`;
}

function writeFormat({ type, json_schema: { schema, ...head } }: ChatResponseFormat): string {
  const inner = `${JSON.stringify(head).slice(0, -1)},"schema":${schema.json}}`;
  return `{"type":${JSON.stringify(type)},"json_schema":${inner}}`;
}
