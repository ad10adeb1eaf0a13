/**
 * Translates a native event stream to the chunks of a chat completion.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { encodeUtf8 } from '../../wire/bytes.js';
import { eventPipe } from '../../wire/event-pipe.js';
import { MAX_EVENT_BYTES } from '../../wire/sse.js';
import type { StreamPipe } from '../../wire/stream-pipe.js';
import { createChunkWriter } from './chunk-writer.js';
import { chatErrorText } from './error-events.js';
import type { TranslateResponseContext } from './response.js';
import { MAX_SEARCHED_LENGTH, TEXT_DELTA_EVENT } from './text-delta-pattern.js';

export interface ChatStreamOptions {
  /** A larger event ends the stream as failed. Default: 32 MiB. */
  readonly maxEventBytes?: number;
}

/**
 * Translates a native event stream, split anywhere, to the chunks of a chat completion.
 *
 * Text and arguments are sent as soon as their event has arrived; the call of a custom tool is sent
 * whole. The `tail` of a complete stream has the refusal and the annotations, if any, and the chunk
 * with the finish reason, the usage (in a chunk of its own if the client asked for that, else on
 * the same chunk) and `[DONE]`. Tool calls are indexed from 0 without gaps, and a call without
 * arguments has `{}`. Server tools, unknown blocks and unknown events are left out, and so is
 * thinking unless the context asks for it.
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
  let ready = '';
  const writer = createChunkWriter(context, (chunk) => {
    ready += `data: ${chunk}\n\n`;
  });

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
      // Each delta after the first appends two strings: `between` and its text. `between` is the
      // end of one chunk and the start of the next. It is joined only once.
      ready += between || frame[0];
      ready += string;
      between ||= frame[1] + frame[0];
      at += event.length;
    }
    if (frame) ready += frame[1];
    return at;
  }

  function take(): string {
    const text = ready;
    ready = '';
    return text;
  }

  return eventPipe(
    {
      ...writer,
      readTexts,
      take,
      end() {
        const end = writer.end();
        const last = end.error ? chatErrorText(end.error) : 'data: [DONE]\n\n';
        return { ...end, tail: take() + last };
      },
    },
    maxEventBytes,
    written,
  );
}
