/**
 * Native events, to the chunks of a chat completion.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { NO_BYTES, encodeUtf8 } from './bytes.js';
import { chatErrorEvent } from './errors.js';
import { EventSplitter } from './event-splitter.js';
import { finishReason } from './finish-reason.js';
import {
  MALFORMED,
  MessageState,
  TOO_LARGE,
  TRUNCATED,
  errorOf,
  parseEvent,
} from './message-state.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import { completionId, isThinking, refusalOf, type TranslateResponseContext } from './response.js';
import { MAX_EVENT_BYTES, isEventStream, readEvent } from './sse.js';
import type { StreamEnd, StreamPipe } from './stream-pipe.js';
import { chatUsage } from './usage.js';

export interface ChatStreamOptions {
  /** Larger events end the stream as failed. Default: 32 MiB. */
  readonly maxEventBytes?: number;
}

type Failure = (StreamEnd & { readonly outcome: 'failed' })['cause'];

const KNOWN_EVENT = /^(message_|content_block_|error$)/;

/** A content block while its deltas arrive. */
type OpenBlock =
  | { readonly kind: 'text' }
  | { readonly kind: 'call'; readonly toolIndex: number; readonly input: unknown; hasJson: boolean }
  | { readonly kind: 'thinking'; readonly block: JsonObject; thinking: string; signature: string }
  | { readonly kind: 'silent' };

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
  options: ChatStreamOptions = {},
): StreamPipe {
  const splitter = new EventSplitter(options.maxEventBytes ?? MAX_EVENT_BYTES);
  const state = new MessageState();
  const blocks = new Map<unknown, OpenBlock>();
  let callCount = 0;
  let isFinished = false;
  let hasEvents = false;
  let failure: { cause: Failure; error: { type: string; message: string } } | undefined;
  let ready = '';
  /** Everything of a chunk up to its delta; the same for all chunks of one stream. */
  let prefix = '';
  const usageOnChunks = context.includeUsage ? ',"usage":null' : '';

  function onEvent(bytes: Uint8Array): void {
    if (isFinished) return;
    const { event: name, data } = readEvent(bytes);
    if (data === '') return;
    hasEvents = true;
    const event = parseEvent(data);
    if (event !== undefined) onJson(event, name);
    else if (name === '' || KNOWN_EVENT.test(name)) fail('malformed', MALFORMED);
  }

  function onJson(event: JsonObject, name: string): void {
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
      `data: {"id":${id},"object":"chat.completion.chunk","created":${String(context.created)},` +
      `"model":${model},"choices":[`;
    emit('{"role":"assistant","content":"","refusal":null}');
  }

  function emit(delta: string): void {
    ready += chunkOf(delta, 'null', usageOnChunks);
  }

  function chunkOf(delta: string, reason: string, usage: string): string {
    return `${prefix}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]${usage}}\n\n`;
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
    const functionDelta = `{${name}"arguments":${JSON.stringify(call.text)}}`;
    if (context.legacyFunctions) {
      // The old format carries one call.
      if (index === 0) emit(`{"function_call":${functionDelta}}`);
      return;
    }
    const id = call.id === undefined ? '' : `"id":${JSON.stringify(call.id)},"type":"function",`;
    emit(`{"tool_calls":[{"index":${String(index)},${id}"function":${functionDelta}}]}`);
  }

  /** The event that the upstream broke off, or that only lacks its blank line. */
  function judgeRest(rest: Uint8Array): void {
    const { data } = readEvent(rest);
    if (parseEvent(data) !== undefined) onEvent(rest);
    else if (rest.length > 0 && !hasEvents && !isEventStream(rest)) fail('malformed', MALFORMED);
  }

  function fail(cause: Failure, error: { type: string; message: string }): void {
    failure = { cause, error };
    isFinished = true;
  }

  function finalChunks(): string {
    const reading = state.usage();
    const usage = reading.outcome === 'read' ? JSON.stringify(chatUsage(reading.usage)) : undefined;
    const reason = finishReason(state.stopReason, {
      hasCalls: callCount > 0,
      legacyFunctions: context.legacyFunctions,
    });
    const refusal =
      state.stopReason === 'refusal'
        ? chunkOf(JSON.stringify({ refusal: refusalOf(state.stopDetails) }), 'null', usageOnChunks)
        : '';
    const inlineUsage = usage === undefined ? '' : `,"usage":${usage}`;
    const finish = chunkOf(
      '{}',
      JSON.stringify(reason),
      context.includeUsage ? usageOnChunks : inlineUsage,
    );
    const usageChunk =
      context.includeUsage && usage !== undefined ? `${prefix}],"usage":${usage}}\n\n` : '';
    return `${refusal}${finish}${usageChunk}data: [DONE]\n\n`;
  }

  return {
    get isFinished() {
      return isFinished;
    },
    push(chunk) {
      if (isFinished) return NO_BYTES;
      ready = '';
      if (!splitter.push(chunk, onEvent)) fail('too_large', TOO_LARGE);
      return ready === '' ? NO_BYTES : encodeUtf8(ready);
    },
    end() {
      ready = '';
      if (!isFinished) judgeRest(splitter.takeRest());
      const { messageId, stopReason } = state;
      if (isFinished && failure === undefined) {
        const tail = encodeUtf8(ready + finalChunks());
        return { outcome: 'complete', usage: state.usage(), tail, messageId, stopReason };
      }
      const { cause, error } = failure ?? { cause: 'truncated', error: TRUNCATED };
      return { outcome: 'failed', error, cause, tail: chatErrorEvent(error), messageId };
    },
  };
}
