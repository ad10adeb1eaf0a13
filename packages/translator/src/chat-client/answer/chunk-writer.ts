/**
 * Translates native events to the JSON text of a chat completion's chunks. Bytes and framing are
 * the caller's.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { failureOf, MessageState, type StreamFailure } from '../../wire/message-state.js';
import { type JsonObject, objectOf, stringOf } from '../../wire/raw-json.js';
import type { FailureCause, MessageEnd } from '../../wire/stream-pipe.js';
import { ChunkText } from './chunk-text.js';
import { finishReason } from './finish-reason.js';
import { isThinking, refusalOf, type TranslateResponseContext } from './response.js';

/** A content block while its deltas arrive; undefined for a block that is left out. */
type OpenBlock =
  | { readonly kind: 'text' }
  | { readonly kind: 'call'; readonly toolIndex: number; readonly input: unknown; hasJson: boolean }
  | {
      readonly kind: 'thinking';
      readonly block: JsonObject;
      readonly texts: { thinking: string; signature: string };
    }
  | undefined;

/** Events that only make sense once the message has begun. */
const WITHIN_MESSAGE = /^(content_block_|message_(?!start$))/;

export interface ChunkWriter {
  /**
   * Takes one native event. `name` is the type to assume when the event has none. Events after the
   * end of the message, or after a failure, are ignored.
   */
  onEvent(event: JsonObject, name: string): void;
  /**
   * The event of a chunk with a text delta: the text before and after the JSON of its string.
   * Undefined unless a text block with this index is open and the message is unfinished.
   */
  textFrame(index: number): readonly [before: string, after: string] | undefined;
  /** Ends an unfinished message as failed. `reported` is the `error` that the upstream sent. */
  fail(cause: FailureCause, reported?: unknown): void;
  /** Whether `message_stop` came, or a failure. */
  isFinished(): boolean;
  /** Call once. For a complete message it writes the last chunks. */
  end(): MessageEnd;
}

/** @param write - Takes the JSON text of each chunk, in order. */
export function createChunkWriter(
  context: TranslateResponseContext,
  write: (chunk: string) => void,
): ChunkWriter {
  const state = new MessageState();
  const chunks = new ChunkText(context, write);
  const blocks = new Map<unknown, OpenBlock>();
  let callCount = 0;
  let isFinished = false;
  let failure: StreamFailure | undefined;

  function onEvent(event: JsonObject, name: string): void {
    if (isFinished) return;
    const type = stringOf(event['type']) || name;
    if (!chunks.hasBegun && WITHIN_MESSAGE.test(type)) {
      fail('malformed');
      return;
    }
    switch (type) {
      case 'content_block_delta':
        addDelta(event);
        return;
      case 'content_block_start':
        blocks.set(event['index'], openBlock(objectOf(event['content_block'])));
        return;
      case 'content_block_stop':
        closeBlock(event['index']);
        return;
      case 'message_start':
        state.start(event);
        chunks.begin(state.messageId);
        return;
      case 'message_delta':
        state.delta(event);
        return;
      case 'message_stop':
        // A call needs arguments even if the upstream never closed its block.
        for (const index of blocks.keys()) closeBlock(index);
        isFinished = true;
        return;
      case 'error':
        fail('error_event', event['error']);
        return;
    }
  }

  function openBlock(block: JsonObject): OpenBlock {
    if (block['type'] === 'text') {
      chunks.text(stringOf(block['text']));
      return { kind: 'text' };
    }
    if (block['type'] === 'tool_use') {
      const toolIndex = callCount;
      callCount += 1;
      chunks.call(toolIndex, '', block);
      return { kind: 'call', toolIndex, input: block['input'], hasJson: false };
    }
    if (context.reasoning && isThinking(block)) {
      const { thinking, signature } = block;
      const texts = { thinking: stringOf(thinking), signature: stringOf(signature) };
      return { kind: 'thinking', block, texts };
    }
    return undefined;
  }

  function addDelta(event: JsonObject): void {
    const block = blocks.get(event['index']);
    const delta = objectOf(event['delta']);
    switch (block?.kind) {
      case 'text':
        if (delta['type'] === 'text_delta') chunks.text(stringOf(delta['text']));
        return;
      case 'call': {
        const json = stringOf(delta['partial_json']);
        if (json === '') return;
        block.hasJson = true;
        chunks.call(block.toolIndex, json);
        return;
      }
      case 'thinking':
        block.texts.thinking += stringOf(delta['thinking']);
        block.texts.signature += stringOf(delta['signature']);
        return;
      case undefined:
        return;
    }
  }

  function closeBlock(index: unknown): void {
    const block = blocks.get(index);
    blocks.delete(index);
    if (block?.kind === 'call' && !block.hasJson) {
      chunks.call(block.toolIndex, JSON.stringify(objectOf(block.input)));
    }
    if (block?.kind === 'thinking') {
      // A redacted block has neither a text nor a signature.
      const texts = block.block['type'] === 'thinking' && block.texts;
      chunks.delta(JSON.stringify({ thinking_blocks: [{ ...block.block, ...texts }] }));
    }
  }

  function fail(cause: FailureCause, reported?: unknown): void {
    if (isFinished) return;
    failure = failureOf(cause, reported);
    isFinished = true;
  }

  function end(): MessageEnd {
    const { messageId, stopReason, stopDetails } = state;
    if (failure || !isFinished) {
      return { outcome: 'failed', ...(failure ?? failureOf('truncated')), messageId };
    }
    const usage = state.usage();
    if (stopReason === 'refusal') {
      chunks.delta(JSON.stringify({ refusal: refusalOf(stopDetails) }));
    }
    const { legacyFunctions } = context;
    chunks.end(
      finishReason(stopReason, { hasCalls: callCount > 0, legacyFunctions }),
      usage.outcome === 'read' ? usage.usage : undefined,
    );
    return { outcome: 'complete', usage, messageId, stopReason };
  }

  return {
    onEvent,
    textFrame: (index) =>
      isFinished || blocks.get(index)?.kind !== 'text' ? undefined : chunks.textFrame(),
    fail,
    isFinished: () => isFinished,
    end,
  };
}
