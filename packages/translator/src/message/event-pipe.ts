/** Passes the bytes of a native event stream to a reader, and returns what its encoder wrote. */

import { decodeUtf8 } from '../wire/bytes.js';
import { EventSplitter, type LargeEventSink } from '../wire/event-splitter.js';
import { LargeEventReader } from '../wire/large-event.js';
import { parseObject } from '../wire/raw-json.js';
import { isEventStream, MAX_EVENT_BYTES, readEvent, readEventText } from '../wire/sse.js';
import type { MessageEnd, StreamPipe } from '../wire/stream-pipe.js';
import type { MessageReader } from './message-reader.js';
import { MAX_SEARCHED_LENGTH, TEXT_DELTA_EVENT } from './text-deltas.js';

/**
 * Events that belong to the message. If one of them, or an event without a name, is unreadable, the
 * stream fails; other unreadable events are ignored.
 */
const KNOWN_EVENT = /^(message_|content_block_|error$)/;
/** An event in the form that the upstream uses. It is sticky, and consumes the whole event. */
const USUAL_EVENT = /event: (.*)\ndata: (.*)\n\n/y;

export interface EventStreamOptions {
  /** A larger event ends the stream as failed. Default: 32 MiB. */
  readonly maxEventBytes?: number;
}

/** The encoder of a format, and the text that it has written. */
export interface TextOutput {
  /**
   * Prepares to write text deltas of a block. The result takes each as the JSON text of its string.
   * Undefined if they need an event each.
   *
   * @param at - The number of the block in the message.
   */
  textWriter(at: number): ((json: string) => void) | undefined;
  /** The text that was written since the last call. */
  take(): string;
  /** Writes the end of the stream in the client's format. */
  end(end: MessageEnd): void;
}

export interface EventPipeParts<Out> extends EventStreamOptions {
  readonly reader: MessageReader;
  readonly output: TextOutput;
  /** Makes the output of the pipe from text. */
  readonly written: (text: string) => Out;
}

export function eventPipe<Out>({
  reader,
  output,
  written,
  maxEventBytes = MAX_EVENT_BYTES,
}: EventPipeParts<Out>): StreamPipe<Uint8Array, Out> {
  const splitter = new EventSplitter(maxEventBytes, { open: openLarge });
  let hasEvents = false;

  function openLarge(): LargeEventSink {
    const large = new LargeEventReader();
    return {
      push(bytes, from, to) {
        large.push(bytes, from, to);
      },
      end() {
        hasEvents = true;
        // The event cannot be translated, so the client's stream ends with an error.
        reader.cut();
        const event = large.end();
        if (event !== undefined) reader.read(event.data, event.type);
      },
    };
  }

  function readBytes(bytes: Uint8Array, from: number, to: number): void {
    const text = decodeUtf8(bytes.subarray(from, to));
    if (readUsual(text, 0) > 0) return;
    const { event, data } = readEventText(text);
    readData(event, data);
  }

  function readData(name: string, data: string): void {
    if (data === '') return;
    hasEvents = true;
    const event = parseObject(data);
    if (event) reader.read(event, name, data);
    else if (name === '' || KNOWN_EVENT.test(name)) reader.fail('malformed');
  }

  /** Reads consecutive events in the usual form. @returns where the last one ends */
  function readUsual(text: string, from: number): number {
    let at = from;
    for (;;) {
      const start = at;
      at = readTextDeltas(text, at);
      USUAL_EVENT.lastIndex = at;
      const [event, name = '', data = ''] = USUAL_EVENT.exec(text) ?? [];
      if (event && event.length <= maxEventBytes) {
        readData(name, data);
        at += event.length;
      }
      if (at === start) return at;
    }
  }

  /**
   * The fast path: writes consecutive text deltas of one block without parsing them and without
   * objects. @returns where they end
   */
  function readTextDeltas(text: string, from: number): number {
    let at = from;
    let block: string | undefined;
    let write: ((json: string) => void) | undefined;
    while (text.length < MAX_SEARCHED_LENGTH) {
      TEXT_DELTA_EVENT.lastIndex = at;
      const [event, index = '', json = ''] = TEXT_DELTA_EVENT.exec(text) ?? [];
      if (!event || event.length > maxEventBytes) break;
      if (index !== block) {
        const number = reader.textBlock(Number(index));
        write = number === undefined ? undefined : output.textWriter(number);
        block = index;
      }
      if (!write) break;
      write(json);
      at += event.length;
    }
    return at;
  }

  /**
   * Reads the bytes after the last whole event. An event that lacks only its blank line is read
   * like a whole one.
   */
  function judgeRest(rest: Uint8Array): void {
    if (parseObject(readEvent(rest).data)) readBytes(rest, 0, rest.length);
    else if (!hasEvents && !isEventStream(rest)) reader.fail('malformed');
  }

  const pipe = {
    isFinished: false,
    push(chunk: Uint8Array) {
      if (!pipe.isFinished) {
        const text = decodeUtf8(chunk);
        // If the chunk is ASCII, positions in the text are positions in the chunk.
        const isAscii = text.length === chunk.length;
        const passUsual = isAscii ? (from: number) => readUsual(text, from) : undefined;
        if (!splitter.push(chunk, readBytes, passUsual)) reader.fail('too_large');
        pipe.isFinished = reader.isFinished;
      }
      return written(output.take());
    },
    end() {
      if (!pipe.isFinished) judgeRest(splitter.takeRest());
      const end = reader.end();
      output.end(end);
      return { ...end, tail: written(output.take()) };
    },
  };
  return pipe;
}
