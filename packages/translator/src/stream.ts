/**
 * Native events, to the chunks of a chat completion.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { NO_BYTES, decodeUtf8, encodeUtf8 } from './bytes.js';
import { createChunkWriter } from './chunk-writer.js';
import { chatErrorEvent } from './errors.js';
import { EventSplitter } from './event-splitter.js';
import { parseObject } from './raw-json.js';
import type { TranslateResponseContext } from './response.js';
import { MAX_EVENT_BYTES, isEventStream, readEvent, readEventText } from './sse.js';
import type { StreamPipe } from './stream-pipe.js';
import { USUAL_TEXT } from './usual-text.js';

/** Events without which the message would be another. */
const KNOWN_EVENT = /^(message_|content_block_|error$)/;

export interface ChatStreamOptions {
  /** Larger events end the stream as failed. Default: 32 MiB. */
  readonly maxEventBytes?: number;
}

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
  { maxEventBytes = MAX_EVENT_BYTES }: ChatStreamOptions = {},
): StreamPipe {
  const splitter = new EventSplitter(maxEventBytes);
  let ready = '';
  const writer = createChunkWriter(context, (chunk) => {
    ready += `data: ${chunk}\n\n`;
  });
  let hasEvents = false;

  let chunk: Uint8Array = NO_BYTES;
  /** The chunk as text, if it is all ASCII: an event stands at the same place in both then. */
  let chunkText: string | undefined;

  function onEvent(bytes: Uint8Array, from: number, to: number): void {
    if (writer.isFinished) return;
    if (bytes === chunk && chunkText !== undefined) readIn(chunkText, from, to);
    else readIn(decodeUtf8(bytes.subarray(from, to)), 0);
  }

  function readIn(text: string, from: number, to = text.length): void {
    if (readTexts(text, from) > from) return;
    const { event: name, data } = readEventText(text.slice(from, to));
    if (data === '') return;
    hasEvents = true;
    const event = parseObject(data);
    if (event) writer.onEvent(event, name);
    else if (name === '' || KNOWN_EVENT.test(name)) writer.fail('malformed');
  }

  /** Translates the usual text deltas from `from` on, all at once, and answers where they end. */
  function readTexts(text: string, from: number): number {
    let at = from;
    let block: string | undefined;
    let frame: ReturnType<typeof writer.textFrame>;
    let strings: string[] = [];
    const write = (): void => {
      if (frame === undefined || strings.length === 0) return;
      const [before, after] = frame;
      ready += `data: ${before}${strings.join(`${after}\n\ndata: ${before}`)}${after}\n\n`;
      strings = [];
    };
    while (!writer.isFinished) {
      USUAL_TEXT.lastIndex = at;
      const match = USUAL_TEXT.exec(text);
      const end = USUAL_TEXT.lastIndex;
      if (match === null || end - at > maxEventBytes) break;
      const [, index, string = ''] = match;
      if (index !== block) {
        write();
        block = index;
        frame = writer.textFrame(Number(index));
      }
      if (frame === undefined) break;
      strings.push(string);
      at = end;
    }
    write();
    return at;
  }

  /** The event that the upstream broke off, or that only lacks its blank line. */
  function judgeRest(rest: Uint8Array): void {
    if (parseObject(readEvent(rest).data)) onEvent(rest, 0, rest.length);
    else if (!hasEvents && !isEventStream(rest)) writer.fail('malformed');
  }

  return {
    get isFinished() {
      return writer.isFinished;
    },
    push(pushed) {
      if (writer.isFinished) return NO_BYTES;
      ready = '';
      chunk = pushed;
      const text = decodeUtf8(chunk);
      chunkText = text.length === chunk.length ? text : undefined;
      const passTexts =
        chunkText === undefined ? undefined : (from: number) => readTexts(text, from);
      if (!splitter.push(chunk, onEvent, passTexts)) writer.fail('too_large');
      // An open stream must not keep its last chunk in memory.
      chunk = NO_BYTES;
      chunkText = undefined;
      return encodeUtf8(ready);
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
