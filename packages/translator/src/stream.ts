/**
 * Native events, to the chunks of a chat completion.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { NO_BYTES, encodeUtf8 } from './bytes.js';
import { createChunkWriter } from './chunk-writer.js';
import { chatErrorEvent, chatStreamError } from './errors.js';
import { EventSplitter } from './event-splitter.js';
import type { FinishReason } from './finish-reason.js';
import { MALFORMED, TOO_LARGE, parseEvent } from './message-state.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import type { ChatToolCall, TranslateResponseContext } from './response.js';
import { MAX_EVENT_BYTES, isEventStream, readEvent } from './sse.js';
import type { StreamPipe } from './stream-pipe.js';
import type { chatUsage } from './usage.js';

export interface ChatStreamOptions {
  /** Larger events end the stream as failed. Default: 32 MiB. */
  readonly maxEventBytes?: number;
}

const KNOWN_EVENT = /^(message_|content_block_|error$)/;

/**
 * Translates a native event stream, split anywhere, to the chunks of a chat completion.
 *
 * Text and arguments leave with the event that brought them. The chunk with the finish reason, the
 * usage (in a chunk of its own when asked for, else on that chunk) and `[DONE]` are the `tail`. Tool
 * calls are indexed from 0 without gaps, and a call without arguments has `{}`. Thinking, server tools,
 * unknown blocks and unknown events are left out.
 */
export function createChatStream(
  context: TranslateResponseContext,
  options: ChatStreamOptions = {},
): StreamPipe {
  const splitter = new EventSplitter(options.maxEventBytes ?? MAX_EVENT_BYTES);
  let ready = '';
  const writer = createChunkWriter(context, (chunk) => {
    ready += `data: ${chunk}\n\n`;
  });
  let hasEvents = false;

  function onEvent(bytes: Uint8Array): void {
    if (writer.isFinished) return;
    const { event: name, data } = readEvent(bytes);
    if (data === '') return;
    hasEvents = true;
    const event = parseEvent(data);
    if (event !== undefined) writer.onEvent(event, name);
    else if (name === '' || KNOWN_EVENT.test(name)) writer.fail('malformed', MALFORMED);
  }

  /** The event that the upstream broke off, or that only lacks its blank line. */
  function judgeRest(rest: Uint8Array): void {
    const { data } = readEvent(rest);
    if (parseEvent(data) !== undefined) onEvent(rest);
    else if (rest.length > 0 && !hasEvents && !isEventStream(rest)) {
      writer.fail('malformed', MALFORMED);
    }
  }

  return {
    get isFinished() {
      return writer.isFinished;
    },
    push(chunk) {
      if (writer.isFinished) return NO_BYTES;
      ready = '';
      if (!splitter.push(chunk, onEvent)) writer.fail('too_large', TOO_LARGE);
      return ready === '' ? NO_BYTES : encodeUtf8(ready);
    },
    end() {
      ready = '';
      if (!writer.isFinished) judgeRest(splitter.takeRest());
      const end = writer.end();
      if (end.outcome === 'failed') return { ...end, tail: chatErrorEvent(end.error) };
      return { ...end, tail: encodeUtf8(`${ready}data: [DONE]\n\n`) };
    },
  };
}

/** One chunk of a chat completion. `choices` is empty in the chunk that only tells usage. */
export interface ChatChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  /** In seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    readonly delta: ChatDelta;
    readonly logprobs: null;
    readonly finish_reason: FinishReason | null;
  }[];
  readonly usage?: ReturnType<typeof chatUsage> | null;
}

export interface ChatDelta {
  readonly role?: 'assistant';
  readonly content?: string;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly type?: 'function';
    readonly function: Partial<ChatToolCall['function']>;
  }[];
  readonly function_call?: Partial<ChatToolCall['function']>;
  readonly thinking_blocks?: readonly JsonObject[];
}

/** What a chat stream says in place of further chunks when it fails. */
export type ChatStreamError = ReturnType<typeof chatStreamError>;

/**
 * {@link createChatStream} for those who hold objects: native events as an SDK gives them, in; chunk
 * objects out. The `tail` of a failed stream is the one error object that its last event would carry;
 * `[DONE]` is a matter of framing and has no object.
 *
 * Anything that is no object, or no event of a message that began, fails the stream as `malformed`.
 */
export function createChatChunkStream(
  context: TranslateResponseContext,
): StreamPipe<object, readonly (ChatChunk | ChatStreamError)[]> {
  let ready: ChatChunk[] = [];
  const writer = createChunkWriter(context, (chunk) => {
    ready.push(JSON.parse(chunk) as ChatChunk);
  });
  return {
    get isFinished() {
      return writer.isFinished;
    },
    push(event) {
      ready = [];
      if (isJsonObject(event)) writer.onEvent(event, '');
      else writer.fail('malformed', MALFORMED);
      return ready;
    },
    end() {
      ready = [];
      const end = writer.end();
      return { ...end, tail: end.outcome === 'failed' ? [chatStreamError(end.error)] : ready };
    },
  };
}
