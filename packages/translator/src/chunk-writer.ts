/**
 * Native events, to the JSON text of a chat completion's chunks: the part of the translation that
 * knows nothing of bytes and framing.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { finishReason } from './finish-reason.js';
import { MALFORMED, MessageState, TRUNCATED, errorOf } from './message-state.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import { completionId, isThinking, refusalOf, type TranslateResponseContext } from './response.js';
import type { FailureCause, MessageEnd, StreamError } from './stream-pipe.js';
import { chatUsage } from './usage.js';
import type { UsualDelta } from './usual-delta.js';

/** A content block while its deltas arrive. */
type OpenBlock =
  | { readonly kind: 'text' }
  | { readonly kind: 'call'; readonly toolIndex: number; readonly input: unknown; hasJson: boolean }
  | { readonly kind: 'thinking'; readonly block: JsonObject; thinking: string; signature: string }
  | { readonly kind: 'silent' };

export interface ChunkWriter {
  /**
   * Takes one native event. `name` is its type where the event itself does not tell one. What
   * follows the end of the message, or a failure, is ignored.
   */
  onEvent(event: JsonObject, name: string): void;
  /** Takes a delta unparsed. False when it must be parsed: it does not fit the block that is open. */
  onUsualDelta(delta: UsualDelta): boolean;
  /** Ends the message as failed. */
  fail(cause: FailureCause, error: StreamError): void;
  /** `message_stop` came, or a failure. */
  readonly isFinished: boolean;
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
  let failure: { cause: FailureCause; error: StreamError } | undefined;
  /** Everything of a chunk up to its delta. */
  let prefix = '';
  const usageOnChunks = context.includeUsage ? ',"usage":null' : '';

  function onEvent(event: JsonObject, name: string): void {
    if (isFinished) return;
    const type = typeof event['type'] === 'string' ? event['type'] : name;
    switch (type) {
      case 'message_start':
        state.start(event);
        begin();
        return;
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop':
      case 'message_delta':
      case 'message_stop':
        if (prefix === '') fail('malformed', MALFORMED);
        else onMessageEvent(event, type);
        return;
      case 'error':
        fail('error_event', errorOf(event));
        return;
    }
  }

  /** Events that belong to a message which has begun. */
  function onMessageEvent(event: JsonObject, type: string): void {
    switch (type) {
      case 'content_block_start':
        openBlock(event);
        return;
      case 'content_block_delta':
        addDelta(event);
        return;
      case 'content_block_stop':
        closeBlock(event['index']);
        return;
      case 'message_delta':
        state.delta(event);
        return;
      case 'message_stop':
        // A call whose block was never closed must have arguments all the same.
        for (const index of blocks.keys()) closeBlock(index);
        isFinished = true;
        return;
    }
  }

  function begin(): void {
    const id = JSON.stringify(completionId(state.messageId));
    const model = JSON.stringify(context.model);
    prefix =
      `{"id":${id},"object":"chat.completion.chunk","created":${String(context.created)},` +
      `"model":${model},"choices":[`;
    emit('{"role":"assistant","content":"","refusal":null}');
  }

  function emit(delta: string): void {
    write(chunkOf(delta, 'null', usageOnChunks));
  }

  function chunkOf(delta: string, reason: string, usage: string): string {
    return `${prefix}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]${usage}}`;
  }

  function openBlock(event: JsonObject): void {
    const block = isJsonObject(event['content_block']) ? event['content_block'] : {};
    blocks.set(event['index'], opened(block));
  }

  function opened(block: JsonObject): OpenBlock {
    if (block['type'] === 'text') {
      emitText(block['text']);
      return { kind: 'text' };
    }
    if (block['type'] === 'tool_use') {
      const toolIndex = callCount;
      callCount += 1;
      emitCall(toolIndex, { id: String(block['id']), name: String(block['name']), text: '' });
      return { kind: 'call', toolIndex, input: block['input'], hasJson: false };
    }
    if (context.reasoning !== undefined && isThinking(block)) {
      const { thinking, signature } = block;
      return {
        kind: 'thinking',
        block,
        thinking: typeof thinking === 'string' ? thinking : '',
        signature: typeof signature === 'string' ? signature : '',
      };
    }
    return { kind: 'silent' };
  }

  function addDelta(event: JsonObject): void {
    const block = blocks.get(event['index']);
    const delta = isJsonObject(event['delta']) ? event['delta'] : {};
    switch (block?.kind) {
      case 'text':
        if (delta['type'] === 'text_delta') emitText(delta['text']);
        return;
      case 'call': {
        const json = delta['partial_json'];
        if (typeof json !== 'string' || json === '') return;
        block.hasJson = true;
        emitCall(block.toolIndex, { text: json });
        return;
      }
      case 'thinking':
        if (typeof delta['thinking'] === 'string') block.thinking += delta['thinking'];
        if (typeof delta['signature'] === 'string') block.signature += delta['signature'];
        return;
      case 'silent':
      case undefined:
        return;
    }
  }

  function onUsualDelta({ kind, index, json }: UsualDelta): boolean {
    const block = blocks.get(index);
    if (isFinished || json === '') return false;
    if (kind === 'text' && block?.kind === 'text') {
      emit(`{"content":"${json}"}`);
      return true;
    }
    if (kind === 'json' && block?.kind === 'call') {
      block.hasJson = true;
      emitArguments(block.toolIndex, '', '', `"${json}"`);
      return true;
    }
    return false;
  }

  function closeBlock(index: unknown): void {
    const block = blocks.get(index);
    blocks.delete(index);
    if (block?.kind === 'call' && !block.hasJson) {
      const input = isJsonObject(block.input) ? JSON.stringify(block.input) : '{}';
      emitCall(block.toolIndex, { text: input });
    }
    if (block?.kind === 'thinking') {
      const whole =
        block.block['type'] === 'thinking'
          ? { ...block.block, thinking: block.thinking, signature: block.signature }
          : block.block;
      emit(JSON.stringify({ thinking_blocks: [whole] }));
    }
  }

  function emitText(text: unknown): void {
    if (typeof text === 'string' && text !== '') emit(`{"content":${JSON.stringify(text)}}`);
  }

  /** The first delta of a call tells its id and name, later ones only more of its arguments. */
  function emitCall(
    index: number,
    call: { readonly id?: string; readonly name?: string; readonly text: string },
  ): void {
    const name = call.name === undefined ? '' : `"name":${JSON.stringify(call.name)},`;
    const id = call.id === undefined ? '' : `"id":${JSON.stringify(call.id)},"type":"function",`;
    emitArguments(index, id, name, JSON.stringify(call.text));
  }

  /** @param json - The arguments as a JSON string. */
  function emitArguments(index: number, id: string, name: string, json: string): void {
    const functionDelta = `{${name}"arguments":${json}}`;
    if (!context.legacyFunctions) {
      emit(`{"tool_calls":[{"index":${String(index)},${id}"function":${functionDelta}}]}`);
    } else if (index === 0) {
      // The old format carries one call.
      emit(`{"function_call":${functionDelta}}`);
    }
  }

  function fail(cause: FailureCause, error: StreamError): void {
    failure = { cause, error };
    isFinished = true;
  }

  /** Writes what a complete message ends with. */
  function writeFinalChunks(): void {
    const reading = state.usage();
    const usage = reading.outcome === 'read' ? JSON.stringify(chatUsage(reading.usage)) : undefined;
    const reason = finishReason(state.stopReason, {
      hasCalls: callCount > 0,
      legacyFunctions: context.legacyFunctions,
    });
    if (state.stopReason === 'refusal') {
      emit(JSON.stringify({ refusal: refusalOf(state.stopDetails) }));
    }
    const inlineUsage = usage === undefined ? '' : `,"usage":${usage}`;
    const onFinish = context.includeUsage ? usageOnChunks : inlineUsage;
    write(chunkOf('{}', JSON.stringify(reason), onFinish));
    if (context.includeUsage && usage !== undefined) write(`${prefix}],"usage":${usage}}`);
  }

  return {
    onEvent,
    onUsualDelta,
    fail,
    get isFinished() {
      return isFinished;
    },
    end() {
      const { messageId, stopReason } = state;
      if (isFinished && failure === undefined) {
        writeFinalChunks();
        return { outcome: 'complete', usage: state.usage(), messageId, stopReason };
      }
      const { cause, error } = failure ?? { cause: 'truncated', error: TRUNCATED };
      return { outcome: 'failed', error, cause, messageId };
    },
  };
}
