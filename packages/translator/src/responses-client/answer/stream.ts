/**
 * Translates a native event stream to the events of a response.
 *
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */

import { eventPipe, type EventStreamOptions } from '../../message/event-pipe.js';
import { MessageReader } from '../../message/message-reader.js';
import { objectPipe } from '../../message/object-pipe.js';
import { aroundSample, SAMPLE, type WriteString } from '../../message/string-deltas.js';
import { ByteWriter } from '../../wire/byte-writer.js';
import { decodeUtf8, encodeUtf8 } from '../../wire/bytes.js';
import { parseJson, stringOf } from '../../wire/raw-json.js';
import type { MessageEnd, StreamError, StreamPipe } from '../../wire/stream-pipe.js';
import { type ItemEvents, numbered } from './item-events.js';
import { ResponseEncoder } from './response-encoder.js';
import { type ResponseEvent, sdkResponse } from './response-object.js';
import type { TranslateMessageContext } from './written-response.js';

/** Stands for the number of an event in a sample of it. */
const SAMPLE_NUMBER = -1;

export interface FinishedResponse {
  readonly id: string;
  /** Its JSON text. */
  readonly body: string;
}

/** A pipe whose end can be replaced by a failure. */
export interface ResponseStreamPipe<Out = Uint8Array, In = Uint8Array> extends StreamPipe<In, Out> {
  /**
   * The events to send in place of the `tail`, when something fails after {@link StreamPipe.end},
   * or when the upstream's own error is not for the client. Their sequence numbers follow those of
   * the events sent before.
   */
  failInstead(error: StreamError): Out;
}

/**
 * A pipe that keeps its client's connection alive while the upstream is silent, also between
 * {@link StreamPipe.end} and the sending of the `tail`.
 */
export interface ResponseBytePipe extends ResponseStreamPipe {
  /**
   * OpenAI's `keepalive` event, with the next sequence number. Send it at once. Some clients, such
   * as Codex, discard comments and give up a stream that has no events.
   *
   * @param id - SDKs take no other event first than `response.created`. So if the upstream's
   * message has not begun, the response begins with this id, and the output is that event and
   * `response.in_progress`.
   */
  keepAlive(id: string): Uint8Array;
  /**
   * The `tail` of a complete stream, numbered after the events of {@link keepAlive}. Send it in
   * place of the `tail` if any of them were sent after {@link StreamPipe.end}.
   */
  repeatTail(): Uint8Array;
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
  options?: EventStreamOptions,
): ResponseBytePipe {
  const bytes = new ByteWriter();
  const encoder = new ResponseEncoder(context, (event) => {
    bytes.appendText(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  });
  const { events } = encoder;
  /** The JSON string of the deltas that {@link holder} does not have yet, without its end. */
  const passed = new ByteWriter();
  let holder: { text: string } | undefined;

  /** All deltas of one block differ in their string and their number only. */
  function stringWriter(at: number): WriteString | undefined {
    const deltas = encoder.deltas(at);
    if (!deltas) return undefined;
    holder = deltas.holder;
    const sample = numbered(deltas.sample(SAMPLE), SAMPLE_NUMBER);
    const [head, rest] = aroundSample(sample);
    const number = head.indexOf(String(SAMPLE_NUMBER));
    const before = encodeUtf8(`event: ${sample.type}\ndata: ${head.slice(0, number)}`);
    const between = encodeUtf8(head.slice(number + String(SAMPLE_NUMBER).length));
    const after = encodeUtf8(`${rest}\n\n`);
    return (json, from, to) => {
      bytes.append(before);
      bytes.appendNumber(events.nextNumber());
      bytes.append(between);
      bytes.appendPart(json, from, to);
      bytes.append(after);
      passed.appendPart(json, passed.length === 0 ? from : from + 1, to - 1);
    };
  }

  /** Adds the deltas to the text of their block: parsing them together costs less. */
  function endStrings(): void {
    if (!holder || passed.length === 0) return;
    holder.text += stringOf(parseJson(`${decodeUtf8(passed.take())}"`));
  }

  const pipe = eventPipe({
    ...options,
    reader: new MessageReader(encoder),
    output: {
      bytes,
      stringWriter,
      endStrings,
      end: (end) => writeFailure(events, end),
    },
  });
  return Object.assign(pipe, {
    finished() {
      const { finished } = events;
      return finished && { id: finished.id, body: JSON.stringify(finished) };
    },
    failInstead(error: StreamError) {
      replaceTail(events, error);
      return bytes.take();
    },
    keepAlive(id: string) {
      events.keepAlive(id);
      return bytes.take();
    },
    repeatTail() {
      events.repeatTail();
      return bytes.take();
    },
  });
}

/**
 * {@link createResponseStream} for objects: it takes native events as an SDK returns them, and
 * returns the objects of the events that the stream would have. The `tail` of a failed stream ends
 * with its `error` and `response.failed`.
 *
 * A value that is not an object, an event of a message before its `message_start`, or a call whose
 * input is nested more than 200 levels deep fails the stream as `malformed`.
 */
export function createResponseEventStream(
  context: TranslateMessageContext,
): ResponseStreamPipe<readonly ResponseEvent[], object> {
  let ready: ResponseEvent[] = [];
  const encoder = new ResponseEncoder(context, (event) => {
    if (event.type === 'keepalive') return;
    ready.push('response' in event ? { ...event, response: sdkResponse(event.response) } : event);
  });
  const { events } = encoder;

  function take(): ResponseEvent[] {
    const taken = ready;
    ready = [];
    return taken;
  }

  const pipe = objectPipe(new MessageReader(encoder), {
    take,
    end: (end) => writeFailure(events, end),
  });
  return Object.assign(pipe, {
    failInstead(error: StreamError) {
      replaceTail(events, error);
      return take();
    },
  });
}

/** Writes the end of a stream that did not arrive whole. */
function writeFailure(events: ItemEvents, { error }: MessageEnd): void {
  if (!error) return;
  events.startTail();
  events.fail(error);
}

function replaceTail(events: ItemEvents, error: StreamError): void {
  events.dropTail();
  events.fail(error);
}
