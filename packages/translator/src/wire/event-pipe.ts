/**
 * Passes the bytes of a native event stream to a writer that translates its events to a format.
 */

import { decodeUtf8 } from './bytes.js';
import { EventSplitter, type LargeEventSink } from './event-splitter.js';
import { LargeEventReader } from './large-event.js';
import { type JsonObject, parseObject } from './raw-json.js';
import { isEventStream, readEvent, readEventText } from './sse.js';
import type { FailureCause, MessageEnd, StreamPipe } from './stream-pipe.js';

/**
 * Events that belong to the message. If one of them, or an event without a name, is unreadable, the
 * stream fails; other unreadable events are ignored.
 */
const KNOWN_EVENT = /^(message_|content_block_|error$)/;

export interface EventWriter {
  /**
   * Takes one native event.
   *
   * @param name - The type to assume when the event has none.
   * @param source - The JSON text of the event.
   */
  onEvent(event: JsonObject, name: string, source: string): void;
  /**
   * Translates consecutive events that need no parsing, from `from` on. @returns where they end
   */
  readTexts(text: string, from: number): number;
  /** Ends an unfinished message as failed. */
  fail(cause: FailureCause): void;
  /**
   * An event was too large to translate. From now on only the facts about the message as a whole
   * are read, and the end of the stream is an error.
   */
  cut(): void;
  isFinished(): boolean;
  /** The text that was written since the last call. */
  take(): string;
  /** Call once. The tail is the text that was written at the end. */
  end(): MessageEnd & { readonly tail: string };
}

/** @param written - Makes the output of the pipe from text. */
export function eventPipe<Out>(
  writer: EventWriter,
  maxEventBytes: number,
  written: (text: string) => Out,
): StreamPipe<Uint8Array, Out> {
  const splitter = new EventSplitter(maxEventBytes, { open: openLarge });
  let hasEvents = false;

  function openLarge(): LargeEventSink {
    const reader = new LargeEventReader();
    return {
      push(bytes, from, to) {
        reader.push(bytes, from, to);
      },
      end() {
        hasEvents = true;
        writer.cut();
        const event = reader.end();
        if (event !== undefined) writer.onEvent(event.data, event.type, '');
      },
    };
  }

  function onEvent(bytes: Uint8Array, from: number, to: number): void {
    const text = decodeUtf8(bytes.subarray(from, to));
    if (writer.readTexts(text, 0)) return;
    const { event: name, data } = readEventText(text);
    if (data === '') return;
    hasEvents = true;
    const event = parseObject(data);
    if (event) writer.onEvent(event, name, data);
    else if (name === '' || KNOWN_EVENT.test(name)) writer.fail('malformed');
  }

  /**
   * Reads the bytes after the last whole event. An event that lacks only its blank line is read
   * like a whole one.
   */
  function judgeRest(rest: Uint8Array): void {
    if (parseObject(readEvent(rest).data)) onEvent(rest, 0, rest.length);
    else if (!hasEvents && !isEventStream(rest)) writer.fail('malformed');
  }

  const pipe = {
    isFinished: false,
    push(chunk: Uint8Array) {
      if (!pipe.isFinished) {
        const text = decodeUtf8(chunk);
        // If the chunk is ASCII, positions in the text are positions in the chunk.
        const passTexts = (from: number) =>
          text.length === chunk.length ? writer.readTexts(text, from) : from;
        if (!splitter.push(chunk, onEvent, passTexts)) writer.fail('too_large');
        pipe.isFinished = writer.isFinished();
      }
      return written(writer.take());
    },
    end() {
      if (!pipe.isFinished) judgeRest(splitter.takeRest());
      const end = writer.end();
      return { ...end, tail: written(end.tail) };
    },
  };
  return pipe;
}
