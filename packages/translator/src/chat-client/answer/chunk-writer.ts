/**
 * Native events, to the JSON text of a chat completion's chunks: the part of the translation that
 * knows nothing of bytes and framing.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { failureOf, MessageState, type StreamFailure } from '../../wire/message-state.js';
import { type JsonObject, objectOf, stringOf } from '../../wire/raw-json.js';
import type { FailureCause, MessageEnd } from '../../wire/stream-pipe.js';
import { chatUsage, type UsageReading } from '../../wire/usage.js';
import { finishReason } from './finish-reason.js';
import { completionId, isThinking, refusalOf, type TranslateResponseContext } from './response.js';

/** A content block while its deltas arrive; undefined for one that is left out. */
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
const OF_A_MESSAGE = /^(content_block_|message_(?!start$))/;

export interface ChunkWriter {
  /**
   * Takes one native event. `name` is its type where the event itself does not tell one. What
   * follows the end of the message, or a failure, is ignored.
   */
  onEvent(event: JsonObject, name: string): void;
  /** The event of a chunk with a text delta, around the JSON text of its string. Only while such a block is open and the message is not over. */
  textFrame(index: number): readonly [before: string, after: string] | undefined;
  /** Ends the message as failed, unless it is finished; `told` is what the upstream itself says of it. */
  fail(cause: FailureCause, told?: unknown): void;
  /** Whether `message_stop` came, or a failure. */
  isFinished(): boolean;
  /** To be called once. A complete message writes its last chunks meanwhile. */
  end(): MessageEnd;
}

/**
 * @param write - Is given the JSON text of each chunk, in order. The chunks of one message share
 * their beginning, so that text is made once.
 */
export function createChunkWriter(
  context: TranslateResponseContext,
  write: (chunk: string) => void,
): ChunkWriter {
  const state = new MessageState();
  const blocks = new Map<unknown, OpenBlock>();
  let callCount = 0;
  let isFinished = false;
  let failure: StreamFailure | undefined;
  /** Everything of a chunk up to its delta. */
  let prefix = '';
  const usageOnChunks = context.includeUsage ? ',"usage":null' : '';

  function onEvent(event: JsonObject, name: string): void {
    if (isFinished) return;
    const type = stringOf(event['type']) || name;
    if (prefix === '' && OF_A_MESSAGE.test(type)) {
      fail('malformed');
      return;
    }
    switch (type) {
      case 'content_block_delta':
        addDelta(event);
        return;
      case 'content_block_start':
        blocks.set(event['index'], opened(objectOf(event['content_block'])));
        return;
      case 'content_block_stop':
        closeBlock(event['index']);
        return;
      case 'message_start':
        state.start(event);
        begin();
        return;
      case 'message_delta':
        state.delta(event);
        return;
      case 'message_stop':
        // A call whose block was never closed must have arguments all the same.
        for (const index of blocks.keys()) closeBlock(index);
        isFinished = true;
        return;
      case 'error':
        fail('error_event', event['error']);
        return;
    }
  }

  function begin(): void {
    const { created, model } = context;
    const id = completionId(state.messageId);
    const head = { id, object: 'chat.completion.chunk', created, model };
    prefix = `${JSON.stringify(head).slice(0, -1)},"choices":[`;
    emit('{"role":"assistant","content":"","refusal":null}');
  }

  function emit(delta: string, reason = 'null', usage = usageOnChunks): void {
    write(
      `${prefix}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]${usage}}`,
    );
  }

  function opened(block: JsonObject): OpenBlock {
    if (block['type'] === 'text') {
      emitText(stringOf(block['text']));
      return { kind: 'text' };
    }
    if (block['type'] === 'tool_use') {
      const toolIndex = callCount;
      callCount += 1;
      emitCall(toolIndex, '', block);
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
        if (delta['type'] === 'text_delta') emitText(stringOf(delta['text']));
        return;
      case 'call': {
        const json = stringOf(delta['partial_json']);
        if (json === '') return;
        block.hasJson = true;
        emitCall(block.toolIndex, json);
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

  function textFrame(index: number): readonly [string, string] | undefined {
    if (isFinished || blocks.get(index)?.kind !== 'text') return undefined;
    return [
      `data: ${prefix}{"index":0,"delta":{"content":`,
      `},"logprobs":null,"finish_reason":null}]${usageOnChunks}}\n\n`,
    ];
  }

  function closeBlock(index: unknown): void {
    const block = blocks.get(index);
    blocks.delete(index);
    if (block?.kind === 'call' && !block.hasJson) {
      emitCall(block.toolIndex, JSON.stringify(objectOf(block.input)));
    }
    if (block?.kind === 'thinking') {
      // A redacted one has neither.
      const texts = block.block['type'] === 'thinking' && block.texts;
      emit(JSON.stringify({ thinking_blocks: [{ ...block.block, ...texts }] }));
    }
  }

  function emitText(text: string): void {
    if (text !== '') emit(`{"content":${JSON.stringify(text)}}`);
  }

  /** The first delta of a call tells its id and name, later ones only more of its arguments. */
  function emitCall(index: number, text: string, call?: JsonObject): void {
    const name = call ? `"name":${JSON.stringify(String(call['name']))},` : '';
    const functionDelta = `{${name}"arguments":${JSON.stringify(text)}}`;
    if (context.legacyFunctions) {
      // The old format carries one call.
      if (index === 0) emit(`{"function_call":${functionDelta}}`);
      return;
    }
    const id = call ? `"id":${JSON.stringify(String(call['id']))},"type":"function",` : '';
    emit(`{"tool_calls":[{"index":${index},${id}"function":${functionDelta}}]}`);
  }

  function fail(cause: FailureCause, told?: unknown): void {
    if (isFinished) return;
    failure = failureOf(cause, told);
    isFinished = true;
  }

  /** Writes what a complete message ends with. */
  function writeFinalChunks(reading: UsageReading): void {
    const { stopReason, stopDetails } = state;
    const usage =
      reading.outcome === 'read' ? `,"usage":${JSON.stringify(chatUsage(reading.usage))}` : '';
    const { includeUsage, legacyFunctions } = context;
    const reason = finishReason(stopReason, { hasCalls: callCount > 0, legacyFunctions });
    if (stopReason === 'refusal') emit(JSON.stringify({ refusal: refusalOf(stopDetails) }));
    emit('{}', `"${reason}"`, includeUsage ? usageOnChunks : usage);
    if (includeUsage && usage !== '') write(`${prefix}]${usage}}`);
  }

  return {
    onEvent,
    textFrame,
    fail,
    isFinished: () => isFinished,
    end() {
      const { messageId, stopReason } = state;
      if (isFinished && !failure) {
        const usage = state.usage();
        writeFinalChunks(usage);
        return { outcome: 'complete', usage, messageId, stopReason };
      }
      return { outcome: 'failed', ...(failure ?? failureOf('truncated')), messageId };
    },
  };
}
