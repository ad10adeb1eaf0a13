/**
 * Translates a native event stream to the chunks of a chat completion.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { eventPipe, type EventStreamOptions } from '../../message/event-pipe.js';
import { MessageReader } from '../../message/message-reader.js';
import { objectPipe } from '../../message/object-pipe.js';
import { aroundSample, SAMPLE, type WriteString } from '../../message/string-deltas.js';
import { ByteWriter } from '../../wire/byte-writer.js';
import { encodeUtf8 } from '../../wire/bytes.js';
import type { StreamPipe } from '../../wire/stream-pipe.js';
import type { ChatChunk, WrittenChunk } from './completion.js';
import { ChunkEncoder, type TranslateResponseContext } from './chunk-encoder.js';
import { chatErrorText, type ChatStreamError, chatStreamError } from './error-events.js';

/**
 * Translates a native event stream, split anywhere, to the chunks of a chat completion.
 *
 * Text and arguments are sent as soon as their event has arrived; the call of a custom tool is sent
 * whole. The `tail` of a complete stream has the size of an answer with interleaved thinking, the
 * refusal and the annotations, if any, and the chunk with the finish reason, the usage (in a chunk
 * of its own if the client asked for that, else on the same chunk) and `[DONE]`. Tool calls are
 * indexed from 0 without gaps, and a call without arguments has `{}`. Server tools, unknown blocks
 * and unknown events are left out, and so is thinking unless the context asks for it.
 */
export function createChatStream(
  context: TranslateResponseContext,
  options?: EventStreamOptions,
): StreamPipe {
  const bytes = new ByteWriter();
  const encoder = new ChunkEncoder(context, (chunk) => {
    bytes.appendText(`data: ${JSON.stringify(chunk)}\n\n`);
  });
  /** All chunks with deltas of one block differ in their string only. */
  function stringWriter(at: number): WriteString | undefined {
    const sample = encoder.sampleChunk(at, SAMPLE);
    if (!sample) return undefined;
    const [head, rest] = aroundSample(sample);
    const before = encodeUtf8(`data: ${head}`);
    const after = encodeUtf8(`${rest}\n\n`);
    const isText = encoder.isText(at);
    return (json, from, to, units) => {
      if (isText) encoder.countText(units);
      bytes.append(before);
      bytes.appendPart(json, from, to);
      bytes.append(after);
    };
  }

  return eventPipe({
    ...options,
    reader: new MessageReader(encoder),
    output: {
      bytes,
      stringWriter,
      end({ error }) {
        bytes.appendText(error ? chatErrorText(error) : 'data: [DONE]\n\n');
      },
    },
  });
}

/**
 * {@link createChatStream} for objects: it takes native events as an SDK returns them, and returns
 * chunk objects. The `tail` of a failed stream is the one error object that its last event would
 * carry. `[DONE]` is part of the framing and has no object.
 *
 * A value that is not an object, an event of a message before its `message_start`, or a call whose
 * input is nested more than 200 levels deep fails the stream as `malformed`.
 */
export function createChatChunkStream(
  context: TranslateResponseContext,
): StreamPipe<object, readonly (ChatChunk | ChatStreamError)[]> {
  let ready: (ChatChunk | ChatStreamError)[] = [];
  const encoder = new ChunkEncoder(context, (chunk: WrittenChunk) => {
    // The SDK has no type for calls of custom tools in chunks.
    ready.push(chunk as ChatChunk);
  });
  return objectPipe(new MessageReader(encoder), {
    take() {
      const chunks = ready;
      ready = [];
      return chunks;
    },
    end({ error }) {
      if (error) ready.push(chatStreamError(error));
    },
  });
}
