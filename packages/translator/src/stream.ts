/**
 * Native events, to the chunks of a chat completion.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { NO_BYTES, decodeUtf8, encodeUtf8 } from './bytes.js';
import { createChunkWriter } from './chunk-writer.js';
import { chatErrorEvent, chatStreamError } from './errors.js';
import { EventSplitter } from './event-splitter.js';
import type { FinishReason } from './finish-reason.js';
import { MALFORMED, TOO_LARGE, parseEvent } from './message-state.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import type { ChatToolCall, TranslateResponseContext } from './response.js';
import { MAX_EVENT_BYTES, isEventStream, readEvent, readEventText } from './sse.js';
import type { StreamPipe } from './stream-pipe.js';
import type { chatUsage } from './usage.js';
import { readUsualDelta } from './usual-delta.js';

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
  const maxEventBytes = options.maxEventBytes ?? MAX_EVENT_BYTES;
  const splitter = new EventSplitter(maxEventBytes);
  let ready = '';
  const writer = createChunkWriter(context, (chunk) => {
    ready += `data: ${chunk}\n\n`;
  });
  let hasEvents = false;

  /** Answers false when an event is too large. */
  function onChunk(chunk: Uint8Array): boolean {
    const from = splitter.isBetweenEvents ? 0 : splitter.pushOne(chunk, 0, onEvent);
    if (from === undefined) return false;
    const end = lastEventEnd(chunk, from);
    const isRun = end - from <= maxEventBytes && splitter.isBetweenEvents;
    if (!isRun || !onRun(decodeUtf8(chunk.subarray(from, end)))) {
      return splitter.push(chunk.subarray(from), onEvent);
    }
    return splitter.push(chunk.subarray(end), onEvent);
  }

  /** Takes whole events as one text, if they end with LF: most are deltas that need no parsing. */
  function onRun(text: string): boolean {
    if (UNUSUAL.test(text)) return false;
    let from = 0;
    while (from < text.length) {
      const blankLine = text.indexOf('\n\n', from);
      // An odd LF may be left, of two blank lines in a row.
      const end = blankLine === -1 ? text.length : blankLine + 2;
      onEventText(text, from, end);
      from = end;
    }
    return true;
  }

  function onEvent(bytes: Uint8Array): void {
    const text = decodeUtf8(bytes);
    onEventText(text, 0, text.length);
  }

  function onEventText(text: string, from: number, end: number): void {
    if (writer.isFinished) return;
    const delta = readUsualDelta(text, from, end);
    if (delta !== undefined && writer.onUsualDelta(delta)) {
      hasEvents = true;
      return;
    }
    const { event: name, data } = readEventText(text.slice(from, end));
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
      if (!onChunk(chunk)) writer.fail('too_large', TOO_LARGE);
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

/** Other line ends, and byte order marks, which count only where an event begins. */
const UNUSUAL = /[\r\ufeff]/;

/** After the last blank line that two LFs make, or `from`. */
function lastEventEnd(chunk: Uint8Array, from: number): number {
  for (let at = chunk.length - 1; at > from; at -= 1) {
    if (chunk[at] === 0x0a && chunk[at - 1] === 0x0a) return at + 1;
  }
  return from;
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
