/**
 * Translates the chunks of a chat completion to native events. The caller reads the bytes and
 * frames the events.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { failureOf, type StreamFailure } from '../../wire/message-state.js';
import {
  isJsonObject,
  type JsonObject,
  objectOf,
  objectsOf,
  stringOf,
} from '../../wire/raw-json.js';
import type { FailureCause, MessageEnd } from '../../wire/stream-pipe.js';
import type { MessageContext } from '../context/message-context.js';
import { BlockQueue } from './block-queue.js';
import { createCallIds } from './call-ids.js';
import { readChatError } from './errors.js';
import { messageIdOf, type NativeEvent } from './message.js';
import { piecesOf } from './pieces.js';
import { finishError, finishReasonOf, stopMembers } from './stop-reason.js';
import { StreamedCalls } from './streamed-calls.js';
import {
  deltaUsage,
  nativeServiceTier,
  readChatUsage,
  startUsage,
  UNKNOWN_USAGE,
} from './usage.js';

export interface EventWriter {
  /**
   * Takes one chunk, or an error object in place of a chunk. Ignored once the message is finished.
   */
  onChunk(chunk: JsonObject): void;
  /** The upstream sent `[DONE]` or closed the stream. */
  onDone(): void;
  /** Ends an unfinished message as failed. `reported` is the error that the upstream sent. */
  fail(cause: FailureCause, reported?: unknown): void;
  isFinished(): boolean;
  /** Call once. For a complete message it writes `message_delta` and `message_stop`. */
  end(): MessageEnd;
}

export interface EventWriterOptions {
  readonly context: MessageContext;
  /** The most characters that may wait for earlier blocks to end. */
  readonly maxHeld: number;
  readonly write: (event: NativeEvent) => void;
}

export function createEventWriter({ context, maxHeld, write }: EventWriterOptions): EventWriter {
  const queue = new BlockQueue(write);
  let calls: StreamedCalls | undefined;
  let messageId: string | undefined;
  let usage = UNKNOWN_USAGE;
  let refusal = '';
  let finishReason: string | undefined;
  let matchedStop: unknown;
  let isFinished = false;
  let failure: StreamFailure | undefined;

  function onChunk(chunk: JsonObject): void {
    if (isFinished) return;
    const choice = objectsOf(chunk['choices']).find(({ index }) => index === 0 || index == null);
    // Older versions of vLLM send an error object in place of a chunk.
    const bare = chunk['object'] === 'error' ? chunk : undefined;
    const error = chunk['error'] ?? choice?.['error'] ?? bare;
    if (error != null) {
      fail('error_event', readChatError(error));
      return;
    }
    // Some servers repeat the usage in every chunk, and Moonshot sends it in the choice. Each usage
    // is complete and replaces the one before.
    const reported = chunk['usage'] ?? choice?.['usage'];
    if (reported != null) usage = readChatUsage(reported);
    if (choice !== undefined) onChoice(choice, chunk);
  }

  function onChoice(choice: JsonObject, chunk: JsonObject): void {
    calls ??= begin(chunk);
    const delta = objectOf(choice['delta']);
    for (const piece of piecesOf(delta)) queue.addPiece(piece);
    refusal += stringOf(delta['refusal']);
    const legacy = delta['function_call'];
    const written = objectsOf(delta['tool_calls']);
    if (isJsonObject(legacy)) written.push({ index: 0, function: legacy });
    for (const call of written) {
      if (!calls.add(call)) fail('malformed');
    }
    finishReason = finishReasonOf(choice) ?? finishReason;
    matchedStop = choice['stop_reason'] ?? matchedStop;
    if (queue.heldLength > maxHeld) fail('too_large');
    const reported = finishError(finishReason);
    if (reported !== undefined) fail('error_event', reported);
  }

  function begin({ id, service_tier: tier }: JsonObject): StreamedCalls {
    messageId = messageIdOf(id);
    write({
      type: 'message_start',
      message: {
        id: messageId,
        type: 'message',
        role: 'assistant',
        model: context.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        container: null,
        diagnostics: null,
        usage: startUsage(usage, nativeServiceTier(tier)),
      },
    });
    return new StreamedCalls(queue, createCallIds(messageId), context);
  }

  function onDone(): void {
    if (isFinished) return;
    // `[DONE]` alone does not make a message complete: some proxies send it after their upstream
    // broke.
    if (finishReason === undefined) fail('truncated');
    else if (!queue.finish()) fail('malformed');
    isFinished = true;
  }

  function fail(cause: FailureCause, reported?: unknown): void {
    if (isFinished) return;
    failure = failureOf(cause, reported);
    isFinished = true;
  }

  return {
    onChunk,
    onDone,
    fail,
    isFinished: () => isFinished,
    end() {
      onDone();
      if (failure !== undefined) return { outcome: 'failed', ...failure, messageId };
      const hasCalls = calls?.isEmpty === false;
      const stop = stopMembers({ finishReason, matchedStop, refusal, hasCalls }, context);
      const delta = { ...stop, container: null };
      write({ type: 'message_delta', delta, usage: deltaUsage(usage) });
      write({ type: 'message_stop' });
      const stopReason = stop.stop_reason ?? undefined;
      return { outcome: 'complete', usage, messageId, stopReason };
    },
  };
}
