/**
 * Translates a native event stream to the chunks of a chat completion.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { decodeUtf8, encodeUtf8 } from '../../wire/bytes.js';
import { EventSplitter } from '../../wire/event-splitter.js';
import { parseObject } from '../../wire/raw-json.js';
import { isEventStream, MAX_EVENT_BYTES, readEvent, readEventText } from '../../wire/sse.js';
import type { StreamPipe } from '../../wire/stream-pipe.js';
import { createChunkWriter } from './chunk-writer.js';
import { chatErrorText } from './error-events.js';
import type { TranslateResponseContext } from './response.js';
import { MAX_SEARCHED_LENGTH, TEXT_DELTA_EVENT } from './text-delta-pattern.js';

/**
 * Events that belong to the message: if one is unreadable, the stream fails. Others are ignored.
 */
const KNOWN_EVENT = /^(message_|content_block_|error$)/;

export interface ChatStreamOptions {
  /** A larger event ends the stream as failed. Default: 32 MiB. */
  readonly maxEventBytes?: number;
}

/**
 * Translates a native event stream, split anywhere, to the chunks of a chat completion.
 *
 * Text and arguments leave as soon as their event came. The `tail` is the chunk with the finish
 * reason, the usage (in a chunk of its own if the client asked for that, else on the same chunk)
 * and `[DONE]`. Tool calls are indexed from 0 without gaps, and a call without arguments has `{}`.
 * Thinking, server tools, unknown blocks and unknown events are left out.
 */
export function createChatStream(
  context: TranslateResponseContext,
  options?: ChatStreamOptions,
): StreamPipe {
  return chatPipe(context, options, encodeUtf8);
}

/**
 * {@link createChatStream} for callers that write text: its output is not encoded. A Node socket
 * writes text directly, which costs less than encoding it first.
 */
export function createChatTextStream(
  context: TranslateResponseContext,
  options?: ChatStreamOptions,
): StreamPipe<Uint8Array, string> {
  return chatPipe(context, options, (text) => text);
}

function chatPipe<Out>(
  context: TranslateResponseContext,
  { maxEventBytes = MAX_EVENT_BYTES }: ChatStreamOptions = {},
  written: (text: string) => Out,
): StreamPipe<Uint8Array, Out> {
  const splitter = new EventSplitter(maxEventBytes);
  let ready = '';
  const writer = createChunkWriter(context, (chunk) => {
    ready += `data: ${chunk}\n\n`;
  });
  let hasEvents = false;

  function onEvent(bytes: Uint8Array, from: number, to: number): void {
    const text = decodeUtf8(bytes.subarray(from, to));
    if (readTexts(text, 0)) return;
    const { event: name, data } = readEventText(text);
    if (data === '') return;
    hasEvents = true;
    const event = parseObject(data);
    if (event) writer.onEvent(event, name);
    else if (name === '' || KNOWN_EVENT.test(name)) writer.fail('malformed');
  }

  /** Translates consecutive text deltas of one block from `from` on. @returns where they end */
  function readTexts(text: string, from: number): number {
    let at = from;
    let block: string | undefined;
    let frame: readonly [string, string] | undefined;
    let between = '';
    while (text.length < MAX_SEARCHED_LENGTH) {
      TEXT_DELTA_EVENT.lastIndex = at;
      const [event, index, string] = TEXT_DELTA_EVENT.exec(text) ?? [];
      if (!event || event.length > maxEventBytes) break;
      frame ??= writer.textFrame(Number(index));
      block ??= index;
      if (!frame || index !== block) break;
      // Appending in two steps makes the fewest pieces for V8 to join when the text is written.
      ready += between || frame[0];
      ready += string;
      between ||= frame[1] + frame[0];
      at += event.length;
    }
    if (frame) ready += frame[1];
    return at;
  }

  /** Reads the bytes after the last whole event. One that only lacks its blank line counts. */
  function judgeRest(rest: Uint8Array): void {
    if (parseObject(readEvent(rest).data)) onEvent(rest, 0, rest.length);
    else if (!hasEvents && !isEventStream(rest)) writer.fail('malformed');
  }

  const pipe = {
    isFinished: false,
    push(chunk: Uint8Array) {
      ready = '';
      if (!pipe.isFinished) {
        const text = decodeUtf8(chunk);
        // If the chunk is ASCII, positions in the text are positions in the chunk.
        const passTexts = (from: number) =>
          text.length === chunk.length ? readTexts(text, from) : from;
        if (!splitter.push(chunk, onEvent, passTexts)) writer.fail('too_large');
        pipe.isFinished = writer.isFinished();
      }
      return written(ready);
    },
    end() {
      ready = '';
      if (!pipe.isFinished) judgeRest(splitter.takeRest());
      const end = writer.end();
      const tail = end.outcome === 'failed' ? chatErrorText(end.error) : `${ready}data: [DONE]\n\n`;
      return { ...end, tail: written(tail) };
    },
  };
  return pipe;
}
