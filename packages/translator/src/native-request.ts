/**
 * The part of a native Messages request that translation produces, and its JSON text.
 *
 * The members mirror `MessageCreateParams` of Anthropic SDK 1.11.0 and, for `temperature` and
 * `top_p`, of 0.137.0. Upstream refuses members it does not know, so nothing outside these types is
 * ever sent.
 */

import type { EffortLevel } from './traits.js';
import type { JsonObject, JsonText } from './raw-json.js';
import type { NativeToolChoice } from './tool-choice.js';

export interface NativeRequest {
  model: string;
  max_tokens: number;
  tools?: NativeTool[];
  system?: TextBlock[];
  messages: NativeMessage[];
  tool_choice?: NativeToolChoice;
  stop_sequences?: string[];
  temperature?: number;
  top_p?: number;
  output_config?: { effort: EffortLevel };
  thinking?: { type: 'disabled' };
  metadata?: { user_id: string };
  cache_control?: CacheControl;
  stream?: true;
}

export interface NativeTool {
  name: string;
  description?: string;
  input_schema: InputSchema;
  cache_control?: CacheControl;
}

export type InputSchema = JsonObject & { type: 'object' };

export type NativeMessage =
  { role: 'user'; content: UserBlock[] } | { role: 'assistant'; content: AssistantBlock[] };

export type UserBlock = ContentBlock | ToolResultBlock;
type AssistantBlock = ThinkingBlock | TextBlock | ToolUseBlock;
export type ContentBlock = TextBlock | ImageBlock | DocumentBlock;

export interface CacheControl {
  type: 'ephemeral';
  ttl?: '5m' | '1h';
}

export interface TextBlock {
  type: 'text';
  text: string;
  cache_control?: CacheControl;
}

export interface ImageBlock {
  type: 'image';
  source:
    { type: 'base64'; media_type: ImageMediaType; data: string } | { type: 'url'; url: string };
  cache_control?: CacheControl;
}

export type ImageMediaType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

export interface DocumentBlock {
  type: 'document';
  source:
    | { type: 'base64'; media_type: 'application/pdf'; data: string }
    | { type: 'text'; media_type: 'text/plain'; data: string }
    | { type: 'url'; url: string };
  title?: string;
  cache_control?: CacheControl;
}

export type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string };

export interface ToolUseBlock {
  type: 'tool_use';
  id: string;
  name: string;
  /** Written into the body as it is. */
  input: JsonText;
  cache_control?: CacheControl;
}

export interface ToolResultBlock {
  type: 'tool_result';
  tool_use_id: string;
  content?: ContentBlock[];
  cache_control?: CacheControl;
}

/**
 * Writes the body that is sent upstream.
 *
 * The order of members is fixed: `model`, `max_tokens`, then `tools`, `system`, `messages` in the
 * order in which upstream computes cached prefixes, then the rest. Two requests that share their
 * beginning therefore share it in bytes too, which caches keyed by the body's text depend on.
 */
export function writeNativeRequest(request: NativeRequest): string {
  const { model, max_tokens, tools, system, messages, ...rest } = request;
  let json = `{"model":${JSON.stringify(model)},"max_tokens":${String(max_tokens)}`;
  if (tools !== undefined) json += `,"tools":${JSON.stringify(tools)}`;
  if (system !== undefined) json += `,"system":${JSON.stringify(system)}`;
  json += `,"messages":[${messages.map(writeMessage).join(',')}]`;
  const tail = JSON.stringify(rest);
  return tail === '{}' ? `${json}}` : `${json},${tail.slice(1)}`;
}

function writeMessage(message: NativeMessage): string {
  if (message.role === 'user') return JSON.stringify(message);
  return `{"role":"assistant","content":[${message.content.map(writeAssistantBlock).join(',')}]}`;
}

function writeAssistantBlock(block: AssistantBlock): string {
  if (block.type !== 'tool_use') return JSON.stringify(block);
  const { input, cache_control, ...head } = block;
  const open = `${JSON.stringify(head).slice(0, -1)},"input":${input.json}`;
  return cache_control === undefined
    ? `${open}}`
    : `${open},"cache_control":${JSON.stringify(cache_control)}}`;
}
