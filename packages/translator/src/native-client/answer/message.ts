/**
 * The native messages and events that the translation of a chat answer produces.
 *
 * The members mirror `Message` and `RawMessageStreamEvent` of Anthropic SDK 1.11.0. Members that
 * the chat format cannot fill are null. Text has no `citations`: the API omits the member if there
 * are none, although the SDK's type says null, and clients such as the Vercel AI SDK refuse a null.
 */

import type { JsonText } from '../../wire/raw-json.js';
import type { StreamError } from '../../wire/stream-pipe.js';

export interface NativeMessage<Input = unknown> {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly NativeBlock<Input>[];
  readonly stop_reason: StopReason | null;
  readonly stop_sequence: string | null;
  readonly stop_details: RefusalDetails | null;
  readonly container: null;
  readonly diagnostics: null;
  readonly usage: NativeUsage;
}

export type NativeBlock<Input = unknown> =
  | ThinkingPiece
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: Input;
      readonly caller: { readonly type: 'direct' };
    };

export type ThinkingPiece =
  | {
      readonly type: 'thinking';
      readonly thinking: string;
      /**
       * Empty if the upstream signed nothing. Such a block cannot be sent back to a native model.
       */
      readonly signature: string;
    }
  | { readonly type: 'redacted_thinking'; readonly data: string };

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

export interface RefusalDetails {
  readonly type: 'refusal';
  readonly category: null;
  /** The upstream's own `refusal` text. */
  readonly explanation: string | null;
}

export interface DeltaUsage {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cache_read_input_tokens: number | null;
  readonly cache_creation_input_tokens: number | null;
  readonly output_tokens_details: { readonly thinking_tokens: number } | null;
  readonly server_tool_use: null;
}

/**
 * Counts are null until the upstream has reported them, except that `input_tokens` in
 * `message_start` is 0.
 */
export interface NativeUsage extends DeltaUsage {
  readonly cache_creation: null;
  readonly service_tier: null;
  readonly speed: null;
  readonly inference_geo: null;
}

export type NativeEvent =
  | { readonly type: 'message_start'; readonly message: NativeMessage }
  | {
      readonly type: 'content_block_start';
      readonly index: number;
      readonly content_block: NativeBlock;
    }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: BlockDelta }
  | { readonly type: 'content_block_stop'; readonly index: number }
  | {
      readonly type: 'message_delta';
      readonly delta: StopMembers & { readonly container: null };
      readonly usage: DeltaUsage;
    }
  | { readonly type: 'message_stop' }
  | { readonly type: 'ping' }
  | { readonly type: 'error'; readonly error: StreamError };

export type BlockDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string };

export type StopMembers = Pick<NativeMessage, 'stop_reason' | 'stop_sequence' | 'stop_details'>;

export function thinkingBlock(thinking: string, signature: string): ThinkingPiece {
  return { type: 'thinking', thinking, signature };
}

export function textBlock(text: string): NativeBlock<never> {
  return { type: 'text', text };
}

export function toolUseBlock<Input>(id: string, name: string, input: Input): NativeBlock<Input> {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}

/** Writes a message with the inputs of its calls unchanged, digit for digit. */
export function writeMessage(message: NativeMessage<JsonText>): string {
  const { content, ...rest } = message;
  const blocks = content.map((block) => {
    if (block.type !== 'tool_use') return JSON.stringify(block);
    const { input, ...head } = block;
    return `${JSON.stringify(head).slice(0, -1)},"input":${input.json}}`;
  });
  return `${JSON.stringify(rest).slice(0, -1)},"content":[${blocks.join(',')}]}`;
}

/**
 * Turns a chat id into a native one. Undoes the prefix that the translation for chat clients adds.
 */
export function messageIdOf(chatId: unknown): string {
  if (typeof chatId !== 'string' || chatId === '') return 'msg_unknown';
  return chatId.startsWith('chatcmpl-msg_')
    ? chatId.slice('chatcmpl-'.length)
    : chatId.startsWith('msg_')
      ? chatId
      : `msg_${chatId}`;
}
