/**
 * The forms of chat answers, chunks and completions, and how the chunks of a message add up to its
 * completion.
 *
 * https://platform.openai.com/docs/api-reference/chat-streaming/streaming
 * https://platform.openai.com/docs/api-reference/chat/object
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
    /** See `ChatCompletion`. */
    native_finish_reason?: string;
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

/** A chat completion. It can be used as `OpenAI.ChatCompletion`. */
export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  /** In seconds since the epoch. */
  created: number;
  model: string;
  choices: {
    index: number;
    message: ChatAnswer;
    logprobs: null;
    finish_reason: FinishReason;
    /**
     * The upstream's stop reason, such as `pause_turn`, if `finish_reason` has no word
     * for it. The name is OpenRouter's.
     */
    native_finish_reason?: string;
  }[];
  service_tier?: 'default' | 'priority';
  usage?: ReturnType<typeof chatUsage>;
}

export interface ChatAnswer {
  role: 'assistant';
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  thinking_blocks?: ThinkingBlock[];
  annotations?: ChatAnnotation[];
  function_call?: { name: string; arguments: string };
  tool_calls?: ChatToolCall[];
}

export type ChatToolCall =
  | { id: string; type: 'function'; function: { name: string; arguments: string } }
  | { id: string; type: 'custom'; custom: { name: string; input: string } };

/** The completion that the chunks of a complete message add up to. */
export function completionOf(chunks: readonly WrittenChunk[]): ChatCompletion | undefined {
  const [first] = chunks;
  if (!first) return undefined;
  const { id, created, model } = first;
  const completion: ChatCompletion = {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [],
  };
  const answer = new AnswerFold();
  let ending: Pick<ChatCompletion['choices'][number], 'finish_reason' | 'native_finish_reason'> = {
    finish_reason: 'stop',
  };
  for (const { choices, service_tier: tier, usage } of chunks) {
    for (const { delta, finish_reason: finish, native_finish_reason: native } of choices) {
      answer.add(delta);
      if (!finish) continue;
      ending = { finish_reason: finish, ...(native && { native_finish_reason: native }) };
    }
    if (tier) completion.service_tier = tier;
    if (usage) completion.usage = usage;
  }
  const message = answer.end();
  completion.choices.push({ index: 0, message, logprobs: null, ...ending });
  return completion;
}

class AnswerFold {
  #content = '';
  #refusal: string | null = null;
  #reasoning = '';
  readonly #thoughts: ThinkingBlock[] = [];
  #annotations: ChatAnnotation[] | undefined;
  #functionCall: { name: string; arguments: string } | undefined;
  readonly #calls: ChatToolCall[] = [];

  add(delta: WrittenDelta): void {
    this.#content += delta.content ?? '';
    this.#refusal = delta.refusal ?? this.#refusal;
    this.#reasoning += delta.reasoning_content ?? '';
    for (const { index, ...block } of delta.thinking_blocks ?? []) {
      const { answer_has } = block;
      const known = this.#thoughts[index];
      this.#thoughts[index] = known ? { ...known, answer_has } : block;
    }
    this.#annotations = delta.annotations ?? this.#annotations;
    const { function_call: legacy } = delta;
    if (legacy) {
      this.#functionCall ??= { name: legacy.name ?? '', arguments: '' };
      this.#functionCall.arguments += legacy.arguments;
    }
    for (const call of delta.tool_calls ?? []) this.#addCall(call);
  }

  #addCall(delta: NonNullable<WrittenDelta['tool_calls']>[number]): void {
    if (!('function' in delta)) {
      const { id, type, custom } = delta;
      this.#calls.push({ id, type, custom });
      return;
    }
    const { index, id, function: piece } = delta;
    const call = this.#calls[index];
    if (call?.type === 'function') call.function.arguments += piece.arguments;
    else if (id !== undefined) {
      this.#calls[index] = { id, type: 'function', function: { name: '', ...piece } };
    }
  }

  end(): ChatAnswer {
    const calls = this.#calls;
    const hasCalls = calls[0] !== undefined || this.#functionCall !== undefined;
    return {
      role: 'assistant',
      content: this.#content || (hasCalls ? null : ''),
      refusal: this.#refusal,
      ...(this.#reasoning && { reasoning_content: this.#reasoning }),
      ...(this.#thoughts[0] && { thinking_blocks: this.#thoughts }),
      ...(this.#annotations && { annotations: this.#annotations }),
      ...(this.#functionCall && { function_call: this.#functionCall }),
      ...(calls[0] && { tool_calls: calls }),
    };
  }
}
