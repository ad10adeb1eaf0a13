/** Passes the bytes of a native event stream to a reader, and returns what its encoder wrote. */

import type { ByteWriter } from '../wire/byte-writer.js';
import { part } from '../wire/bytes.js';
import { EventSplitter, type LargeEventSink } from '../wire/event-splitter.js';
import { LargeEventReader } from '../wire/large-event.js';
import { parseObject } from '../wire/raw-json.js';
import { isEventStream, MAX_EVENT_BYTES, readEvent } from '../wire/sse.js';
import type { MessageEnd, StreamPipe } from '../wire/stream-pipe.js';
import type { MessageReader } from './message-reader.js';
import { StringDeltaReader, type WriteString } from './string-deltas.js';

/**
 * Events that belong to the message. If one of them, or an event without a name, is unreadable, the
 * stream fails; other unreadable events are ignored.
 */
const KNOWN_EVENT = /^(message_|content_block_|error$)/;
/** A chunk of the output is about this many times as long as the upstream's. */
const GROWTH = 2.5;

export interface EventStreamOptions {
  /** A larger event ends the stream as failed. Default: 32 MiB. */
  readonly maxEventBytes?: number;
}

/** The encoder of a format, and what it has written. */
export interface EncodedOutput {
  readonly bytes: ByteWriter;
  /**
   * Prepares to write deltas of a block, in the fast path. Undefined if they need an event each.
   *
   * @param at - The number of the block in the message.
   */
  stringWriter(at: number): WriteString | undefined;
  /** Called after deltas that {@link stringWriter} has written, before any other event. */
  endStrings?(): void;
  /** Writes the end of the stream in the client's format. */
  end(end: MessageEnd): void;
}

export interface EventPipeParts extends EventStreamOptions {
  readonly reader: MessageReader;
  readonly output: EncodedOutput;
}

export function eventPipe({
  reader,
  output,
  maxEventBytes = MAX_EVENT_BYTES,
}: EventPipeParts): StreamPipe {
  const splitter = new EventSplitter(maxEventBytes, { open: openLarge });
  const delta = new StringDeltaReader();
  let hasEvents = false;
  /** The block whose deltas were passed last, and its writer. */
  let passed: number | undefined;
  let write: WriteString | undefined;

  function openLarge(): LargeEventSink {
    return new LargeEventReader((event) => {
      hasEvents = true;
      output.endStrings?.();
      // The event cannot be translated, so the client's stream ends with an error.
      reader.cut();
      if (event !== undefined) reader.read(event.data, event.type);
    });
  }

  function readBytes(bytes: Uint8Array, from: number, to: number): void {
    // An event that was split between chunks has bytes of its own, and can be a delta.
    if (to === bytes.length && passDeltas(bytes, from) === to) return;
    const { event: name, data } = readEvent(part(bytes, from, to));
    if (data === '') return;
    hasEvents = true;
    output.endStrings?.();
    const event = parseObject(data);
    if (event) reader.read(event, name, data);
    else if (name === '' || KNOWN_EVENT.test(name)) reader.fail('malformed');
  }

  /** The fast path (`string-deltas.ts`). @returns where the deltas that begin at `from` end */
  function passDeltas(bytes: Uint8Array, from: number): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = from;
    while (delta.read(bytes, view, at) && delta.end - at <= maxEventBytes) {
      const { index, type } = delta;
      if (!reader.isIgnored(index)) {
        const block = reader.passingBlock(index, type);
        if (block === undefined) break;
        if (block !== passed) {
          output.endStrings?.();
          passed = block;
          write = output.stringWriter(block);
        }
        if (!write) {
          // The next delta of the block may be passed.
          passed = undefined;
          break;
        }
        write(bytes, delta.from, delta.to, delta.units);
      }
      at = delta.end;
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
    heldBytes: 0,
    push(chunk: Uint8Array) {
      if (!ArrayBuffer.isView(chunk)) {
        throw new TypeError('this pipe takes bytes: for objects of events see `/objects`');
      }
      if (!pipe.isFinished) {
        output.bytes.expect(GROWTH * chunk.length);
        const passKnown = (from: number) => passDeltas(chunk, from);
        if (!splitter.push(chunk, readBytes, passKnown)) reader.fail('too_large');
        pipe.isFinished = reader.isFinished;
        pipe.heldBytes = splitter.pendingBytes;
      }
      return output.bytes.take();
    },
    cut() {
      splitter.cutEvent();
      pipe.heldBytes = splitter.pendingBytes;
    },
    end() {
      if (!pipe.isFinished) judgeRest(splitter.takeRest());
      output.endStrings?.();
      const end = reader.end();
      output.end(end);
      return { ...end, tail: output.bytes.take() };
    },
  };
  return pipe;
}
