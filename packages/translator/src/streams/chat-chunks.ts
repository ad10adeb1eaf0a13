/** Translates native event objects to chunk objects of a chat completion. */

import { createChunkWriter } from '../chat-client/answer/chunk-writer.js';
import { type ChatStreamError, chatStreamError } from '../chat-client/answer/error-events.js';
import type { ChatAnnotation } from '../chat-client/answer/annotations.js';
import type { FinishReason } from '../chat-client/answer/finish-reason.js';
import type { TranslateResponseContext } from '../chat-client/answer/response.js';
import type { ThinkingBlock } from '../chat-client/answer/thinking.js';
import { isJsonObject } from '../wire/raw-json.js';
import type { StreamPipe } from '../wire/stream-pipe.js';
import type { chatUsage } from '../wire/usage.js';

/**
 * One chunk of a chat completion. It can be used as `OpenAI.ChatCompletionChunk`. `choices` is
 * empty in the chunk that only carries usage.
 */
export interface ChatChunk {
  id: string;
  object: 'chat.completion.chunk';
  /** In seconds since the epoch. */
  created: number;
  model: string;
  choices: {
    index: 0;
    delta: ChatDelta;
    logprobs: null;
    finish_reason: FinishReason | null;
  }[];
  service_tier?: 'default' | 'priority';
  usage?: ReturnType<typeof chatUsage> | null;
}

export interface ChatDelta {
  role?: 'assistant';
  content?: string;
  refusal?: string | null;
  tool_calls?: {
    index: number;
    id?: string;
    type?: 'function';
    function: ChatCallDelta;
  }[];
  function_call?: ChatCallDelta;
  reasoning_content?: string;
  thinking_blocks?: (ThinkingBlock & { index: number })[];
  annotations?: ChatAnnotation[];
}

/** The first delta of a call has its name. Later deltas have more of its arguments. */
export interface ChatCallDelta {
  name?: string;
  arguments: string;
}

/**
 * `createChatStream` for objects: it takes native events as an SDK returns them, and returns chunk
 * objects. The `tail` of a failed stream is the one error object that its last event would carry.
 * `[DONE]` is part of the framing and has no object.
 *
 * A value that is not an object, an event of a message before its `message_start`, or a call whose
 * input is nested more than 200 levels deep fails the stream as `malformed`.
 */
export function createChatChunkStream(
  context: TranslateResponseContext,
): StreamPipe<object, readonly (ChatChunk | ChatStreamError)[]> {
  let ready: ChatChunk[] = [];
  const writer = createChunkWriter(context, (chunk) => {
    ready.push(JSON.parse(chunk) as ChatChunk);
  });
  const pipe = {
    isFinished: false,
    push(event: object) {
      ready = [];
      if (isJsonObject(event)) writer.onEvent(event, '');
      else writer.fail('malformed');
      pipe.isFinished = writer.isFinished();
      return ready;
    },
    end() {
      ready = [];
      const end = writer.end();
      return { ...end, tail: end.outcome === 'failed' ? [chatStreamError(end.error)] : ready };
    },
  };
  return pipe;
}
