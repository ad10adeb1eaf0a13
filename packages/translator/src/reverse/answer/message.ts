/**
 * The native messages and events that the translation of a chat answer produces.
 *
 * The members mirror `Message` and `RawMessageStreamEvent` of the Anthropic SDK in `package.json`.
 * Members that the chat format cannot fill are null. Text has no `citations`: the API omits the
 * member if there are none, although the SDK's type says null, and clients such as the Vercel AI
 * SDK refuse a null.
 */

import type { JsonText } from '../../wire/raw-json.js';
import type { StreamError } from '../../wire/stream-pipe.js';

/** A native message. It can be used as `Anthropic.Message`. */
export interface NativeMessage<Input = unknown> {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: NativeBlock<Input>[];
  stop_reason: StopReason | null;
  stop_sequence: string | null;
  stop_details: RefusalDetails | null;
  container: null;
  diagnostics: null;
  usage: NativeUsage;
}

export type NativeBlock<Input = unknown> =
  | ThinkingPiece
  /** The SDK's type demands `citations`. It is left out, as the API does if there are none. */
  | { type: 'text'; text: string; citations: null }
  | {
      type: 'tool_use';
      id: string;
      name: string;
      input: Input;
      caller: { type: 'direct' };
    };

export type ThinkingPiece =
  | {
      type: 'thinking';
      thinking: string;
      /**
       * Empty if the upstream signed nothing. Such a block cannot be sent back to a native model.
       */
      signature: string;
    }
  | { type: 'redacted_thinking'; data: string };

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

export interface RefusalDetails {
  type: 'refusal';
  category: null;
  /** The text of the upstream's `refusal`. */
  explanation: string | null;
}

export interface DeltaUsage {
  input_tokens: number | null;
  /** Null if it is unknown, although the SDK's type has no null. */
  output_tokens: number;
  cache_read_input_tokens: number | null;
  cache_creation_input_tokens: number | null;
  output_tokens_details: { thinking_tokens: number } | null;
  server_tool_use: null;
}

/**
 * Counts are null until the upstream has reported them, except that `input_tokens` in
 * `message_start` is 0.
 */
export interface NativeUsage extends DeltaUsage {
  /** Null if it is unknown, although the SDK's type has no null. */
  input_tokens: number;
  cache_creation: null;
  service_tier: 'standard' | 'priority' | null;
  speed: null;
  inference_geo: null;
}

export type NativeEvent =
  | { type: 'message_start'; message: NativeMessage }
  | {
      type: 'content_block_start';
      index: number;
      content_block: NativeBlock;
    }
  | { type: 'content_block_delta'; index: number; delta: BlockDelta }
  | { type: 'content_block_stop'; index: number }
  | {
      type: 'message_delta';
      delta: StopMembers & { container: null };
      usage: DeltaUsage;
    }
  | { type: 'message_stop' }
  | { type: 'ping' }
  | { type: 'error'; error: StreamError };

export type BlockDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'input_json_delta'; partial_json: string };

export type StopMembers = Pick<NativeMessage, 'stop_reason' | 'stop_sequence' | 'stop_details'>;

export function thinkingBlock(thinking: string, signature: string): ThinkingPiece {
  return { type: 'thinking', thinking, signature };
}

export function textBlock(text: string): NativeBlock<never> {
  // The SDK's type demands `citations`, and the API leaves it out.
  return { type: 'text', text } as NativeBlock<never>;
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
