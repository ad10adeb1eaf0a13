/**
 * Translates a native event stream to the events of a response.
 *
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */

import type { ChatStreamOptions } from '../../chat-client/answer/stream.js';
import {
  MAX_SEARCHED_LENGTH,
  TEXT_DELTA_EVENT,
} from '../../chat-client/answer/text-delta-pattern.js';
import { encodeUtf8 } from '../../wire/bytes.js';
import { eventPipe } from '../../wire/event-pipe.js';
import { MAX_EVENT_BYTES } from '../../wire/sse.js';
import type { StreamError, StreamPipe } from '../../wire/stream-pipe.js';
import { createResponseEventWriter } from './event-writer.js';
import type { FinishedResponse } from './item-events.js';
import type { TranslateMessageContext } from './response-text.js';

/** A pipe whose end can be replaced by a failure. */
export interface ResponseStreamPipe<Out = Uint8Array, In = Uint8Array> extends StreamPipe<In, Out> {
  /**
   * The events to send in place of the `tail` of a complete stream, when something fails after
   * {@link StreamPipe.end}. Their sequence numbers follow those of the events sent before.
   */
  failInstead(error: StreamError): Out;
}

/**
 * A pipe that keeps its client's connection alive while the upstream is silent, also between
 * {@link StreamPipe.end} and the sending of the `tail`.
 */
export interface ResponseBytePipe<Out = Uint8Array> extends ResponseStreamPipe<Out> {
  /**
   * OpenAI's `keepalive` event, with the next sequence number. Send it at once. Some clients, such
   * as Codex, discard comments and give up a stream that has no events.
   *
   * @param id - SDKs take no other event first than `response.created`. So if the upstream's
   * message has not begun, the response begins with this id, and the output is that event and
   * `response.in_progress`.
   */
  keepAlive(id: string): Out;
  /**
   * The `tail` of a complete stream, numbered after the events of {@link keepAlive}. Send it in
   * place of the `tail` if any of them were sent after {@link StreamPipe.end}.
   */
  repeatTail(): Out;
  /**
   * The response with which the stream ended. Undefined before {@link StreamPipe.end}, and if the
   * stream failed.
   */
  finished(): FinishedResponse | undefined;
}

/**
 * Translates a native event stream, split anywhere, to the events of a response.
 *
 * `response.created` and `response.in_progress` come first. Then each content block becomes an
 * output item: text a `message`, consecutive text blocks one message; thinking a `reasoning` item;
 * a call a `function_call` or a `custom_tool_call`; a web search, if the request offered it, a
 * `web_search_call`. Text is sent as soon as its event has arrived, and its citations at the end of
 * its block. The `tail` is the end of the items that are open, and `response.completed` or
 * `response.incomplete` with the whole response and its usage. A stream that fails ends with
 * `error` and `response.failed`. Other server tools, unknown blocks and unknown events are left
 * out.
 */
export function createResponseStream(
  context: TranslateMessageContext,
  options?: ChatStreamOptions,
): ResponseBytePipe {
  return responsePipe(context, options, encodeUtf8);
}

/** {@link createResponseStream} for callers that write text: its output is not encoded. */
export function createResponseTextStream(
  context: TranslateMessageContext,
  options?: ChatStreamOptions,
): ResponseBytePipe<string> {
  return responsePipe(context, options, (text) => text);
}

function responsePipe<Out>(
  context: TranslateMessageContext,
  { maxEventBytes = MAX_EVENT_BYTES }: ChatStreamOptions = {},
  written: (text: string) => Out,
): ResponseBytePipe<Out> {
  let ready = '';
  const writer = createResponseEventWriter(context, (event) => {
    ready += event;
  });

  function readTexts(text: string, from: number): number {
    let at = from;
    while (text.length < MAX_SEARCHED_LENGTH) {
      TEXT_DELTA_EVENT.lastIndex = at;
      const [event, index, string] = TEXT_DELTA_EVENT.exec(text) ?? [];
      if (!event || !string || event.length > maxEventBytes) break;
      if (!writer.onText(Number(index), string)) break;
      at += event.length;
    }
    return at;
  }

  function take(): string {
    const text = ready;
    ready = '';
    return text;
  }

  const pipe = eventPipe(
    {
      ...writer,
      onEvent(event, name, source) {
        writer.onEvent(event, name, () => source);
      },
      readTexts,
      take,
      end() {
        const end = writer.end();
        return { ...end, tail: take() };
      },
    },
    maxEventBytes,
    written,
  );
  return Object.assign(pipe, {
    finished: () => writer.finished(),
    failInstead(error: StreamError) {
      writer.failInstead(error);
      return written(take());
    },
    keepAlive(id: string) {
      writer.keepAlive(id);
      return written(take());
    },
    repeatTail() {
      writer.repeatTail();
      return written(take());
    },
  });
}
