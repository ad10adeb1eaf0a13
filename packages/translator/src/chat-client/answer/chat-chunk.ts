/**
 * The chunks of a chat completion.
 *
 * https://platform.openai.com/docs/api-reference/chat-streaming/streaming
 */

import type { ThinkingBlock } from '../../message/thinking-block.js';
import type { chatUsage } from '../../wire/usage.js';
import type { ChatAnnotation } from './annotations.js';
import type { FinishReason } from './finish-reason.js';

/**
 * One chunk of a chat completion. It can be used as `OpenAI.ChatCompletionChunk`. `choices` is
 * empty in the chunk that only carries usage.
 */
export interface ChatChunk<Delta = ChatDelta> {
  id: string;
  object: 'chat.completion.chunk';
  /** In seconds since the epoch. */
  created: number;
  model: string;
  choices: {
    index: 0;
    delta: Delta;
    logprobs: null;
    finish_reason: FinishReason | null;
  }[];
  service_tier?: 'default' | 'priority';
  usage?: ReturnType<typeof chatUsage> | null;
}

export interface ChatDelta<Call = ChatFunctionDelta> {
  role?: 'assistant';
  content?: string;
  refusal?: string | null;
  tool_calls?: Call[];
  function_call?: ChatCallDelta;
  reasoning_content?: string;
  thinking_blocks?: (ThinkingBlock & { index: number })[];
  annotations?: ChatAnnotation[];
}

export interface ChatFunctionDelta {
  index: number;
  id?: string;
  type?: 'function';
  function: ChatCallDelta;
}

/** The first delta of a call has its name. Later deltas have more of its arguments. */
export interface ChatCallDelta {
  name?: string;
  arguments: string;
}

/** A whole call of a custom tool. The SDK has no type for it in chunks. */
interface CustomCall {
  index: number;
  id: string;
  type: 'custom';
  custom: { name: string; input: string };
}

export type WrittenDelta = ChatDelta<ChatFunctionDelta | CustomCall>;
export type WrittenChunk = ChatChunk<WrittenDelta>;
