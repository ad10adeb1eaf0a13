/**
 * Translates native events to the JSON text of a chat completion's chunks. The caller decodes the
 * bytes and frames the chunks.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import type { CalledAs } from '../../wire/called-as.js';
import { append } from '../../wire/lists.js';
import { failureOf, MessageState, type StreamFailure } from '../../wire/message-state.js';
import {
  isJsonObject,
  isTooDeep,
  type JsonObject,
  objectOf,
  objectsOf,
  stringOf,
} from '../../wire/raw-json.js';
import type { FailureCause, MessageEnd } from '../../wire/stream-pipe.js';
import { annotationsOf, type ChatAnnotation } from './annotations.js';
import { argumentsOf, calledAs, type CalledTool, calledTool, customInput } from './called-tool.js';
import { ChunkText } from './chunk-text.js';
import { finishReason } from './finish-reason.js';
import { inputTexts } from './input-texts.js';
import { refusalOf, type TranslateResponseContext } from './response.js';
import { type ThinkingBlock, thinkingBlock } from './thinking.js';

/** A content block while its deltas arrive; undefined for a block that is left out. */
type OpenBlock =
  | { readonly kind: 'text'; readonly start: number; readonly citations: JsonObject[] }
  | {
      readonly kind: 'call';
      readonly toolIndex: number;
      /** Set for a call whose arguments are sent whole when its block ends. */
      readonly whole: (CalledTool & CalledAs) | undefined;
      /** The arguments at the start of the block. They are used if no deltas follow. */
      readonly input: string;
      /**
       * The arguments from the deltas: all of them for a whole call, otherwise only the latest.
       */
      json: string;
    }
  | { readonly kind: 'thinking'; readonly block: ThinkingBlock }
  | undefined;

/** Events that only make sense once the message has begun. */
const WITHIN_MESSAGE = /^(content_block_|message_(?!start$))/;

export interface ChunkWriter {
  /**
   * Takes one native event. `name` is the type to assume when the event has none. Events after the
   * end of the message, or after a failure, are ignored.
   *
   * @param source - The JSON text of the event, from which the inputs of calls are cut. Without it
   * they are written from their values.
   */
  onEvent(event: JsonObject, name: string, source?: string): void;
  /**
   * The server-sent event that is written for a text delta, in two parts: the text before and after
   * the delta's JSON string. Undefined if no text block with this index is open, the message has
   * ended, or annotations need the length of the text.
   */
  textFrame(index: number): readonly [before: string, after: string] | undefined;
  /** Ends an unfinished message as failed. `reported` is the `error` that the upstream sent. */
  fail(cause: FailureCause, reported?: unknown): void;
  /** Writes no more content. The message is read on for its usage only. */
  cut(): void;
  /** Whether the message has ended, by `message_stop` or by a failure. */
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
  const annotations: ChatAnnotation[] = [];
  const thoughts: ThinkingBlock[] = [];
  const { reasoning, tools } = context;
  let firstCallId: string | undefined;
  let blockCount = 0;
  let callCount = 0;
  /** The length of the text so far; exact only if `context.annotations` is set. */
  let length = 0;
  let isFinished = false;
  let isCut = false;
  let failure: StreamFailure | undefined;

  function onEvent(event: JsonObject, name: string, source?: string): void {
    if (isFinished) return;
    const type = stringOf(event['type']) || name;
    if (isCut && type !== 'error') {
      isFinished = state.readOn(type, event);
      return;
    }
    if (!chunks.hasBegun && WITHIN_MESSAGE.test(type)) {
      fail('malformed');
      return;
    }
    switch (type) {
      case 'content_block_delta':
        addDelta(event);
        return;
      case 'content_block_start': {
        state.hasContent = true;
        // A block that was never closed must not be lost.
        closeBlock(event['index']);
        const block = openBlock(event['content_block'], 'content_block', source);
        blocks.set(event['index'], block);
        return;
      }
      case 'content_block_stop':
        closeBlock(event['index']);
        return;
      case 'message_start':
        begin(event, source);
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

  /** Some messages have their content in `message_start`, without events for the content. */
  function begin(event: JsonObject, source: string | undefined): void {
    if (!state.start(event)) {
      fail('malformed');
      return;
    }
    chunks.begin(state.messageId);
    const { content } = objectOf(event['message']);
    if (!Array.isArray(content)) return;
    content.forEach((block: unknown, index) => {
      const key = `message/content/${index}`;
      blocks.set(key, openBlock(block, key, source));
      closeBlock(key);
    });
  }

  /** @param path - Where the block is in the source. */
  function openBlock(value: unknown, path: string, source: string | undefined): OpenBlock {
    const block = objectOf(value);
    const isFirst = blockCount === 0;
    blockCount += 1;
    if (block['type'] === 'text') {
      const start = length;
      addText(block['text']);
      return { kind: 'text', start, citations: objectsOf(block['citations']) };
    }
    if (block['type'] === 'tool_use') return openCall(block, path, source);
    const thinking = reasoning && thinkingBlock(block, isFirst ? context.additions : undefined);
    if (!thinking) return undefined;
    if (thinking.type === 'thinking') showThinking(thinking.thinking);
    return { kind: 'thinking', block: thinking };
  }

  function openCall(block: JsonObject, path: string, source: string | undefined): OpenBlock {
    const called = calledTool(block);
    const { input } = block;
    const isEmpty = isJsonObject(input) && Object.keys(input).length === 0;
    if (!called || (!source && isTooDeep(input))) {
      fail('malformed');
      return undefined;
    }
    const toolIndex = callCount;
    callCount += 1;
    firstCallId ??= called.id;
    const as = calledAs(called, tools);
    const isCustom = as.type === 'custom';
    const whole = isCustom || as.members ? { ...as, id: called.id } : undefined;
    if (!isCustom) chunks.call(toolIndex, '', { id: called.id, name: as.name });
    const text = isEmpty ? '{}' : source ? inputTexts(source).get(path) : JSON.stringify(input);
    return { kind: 'call', toolIndex, whole, input: argumentsOf(text), json: '' };
  }

  function addDelta(event: JsonObject): void {
    const block = blocks.get(event['index']);
    const delta = objectOf(event['delta']);
    switch (block?.kind) {
      case 'text':
        if (delta['type'] === 'text_delta') addText(delta['text']);
        if (delta['type'] === 'citations_delta') {
          append(block.citations, objectsOf([delta['citation']]));
        }
        return;
      case 'call': {
        const json = stringOf(delta['partial_json']);
        if (json === '') return;
        block.json = block.whole ? block.json + json : json;
        if (!block.whole) chunks.call(block.toolIndex, json);
        return;
      }
      case 'thinking': {
        const thought = block.block;
        if (thought.type !== 'thinking') return;
        thought.thinking += stringOf(delta['thinking']);
        thought.signature += stringOf(delta['signature']);
        showThinking(stringOf(delta['thinking']));
        return;
      }
      case undefined:
        return;
    }
  }

  function addText(value: unknown): void {
    const text = stringOf(value);
    length += text.length;
    chunks.text(text);
  }

  function showThinking(text: string): void {
    if (reasoning === 'reasoning_content' && text !== '') {
      chunks.delta(JSON.stringify({ reasoning_content: text }));
    }
  }

  function closeBlock(index: unknown): void {
    const block = blocks.get(index);
    blocks.delete(index);
    switch (block?.kind) {
      case 'call':
        if (block.whole) closeWhole(block.toolIndex, block.whole, block.json || block.input);
        else if (block.json === '') chunks.call(block.toolIndex, block.input);
        return;
      case 'thinking':
        // At once, so that thinking comes before the text and the calls that follow from it.
        // OpenAI's Python SDK joins the items of such lists by their index; its JavaScript SDK
        // keeps the last list.
        chunks.delta(
          JSON.stringify({ thinking_blocks: [{ index: thoughts.length, ...block.block }] }),
        );
        thoughts.push(block.block);
        return;
      case 'text':
        if (context.annotations) {
          append(annotations, annotationsOf(block.citations, block.start, length));
        }
        return;
      case undefined:
        return;
    }
  }

  function closeWhole(index: number, call: CalledTool & CalledAs, json: string): void {
    if (call.type === 'custom') chunks.customCall(index, call, customInput(json));
    else chunks.call(index, argumentsOf(json, call.members));
  }

  function fail(cause: FailureCause, reported?: unknown): void {
    if (isFinished) return;
    failure = failureOf(cause, reported);
    isFinished = true;
  }

  function end(): MessageEnd {
    const { messageId, stopReason, stopDetails, emptyRefusal } = state;
    if (failure || !isFinished) {
      return { outcome: 'failed', ...(failure ?? failureOf('truncated')), messageId };
    }
    const usage = state.usage();
    if (isCut) {
      const { error } = failureOf('too_large');
      return { outcome: 'complete', usage, messageId, stopReason, error };
    }
    if (thoughts[0] && firstCallId) context.onThinking?.(firstCallId, thoughts);
    if (stopReason === 'refusal') {
      chunks.delta(JSON.stringify({ refusal: refusalOf(stopDetails) }));
    }
    // All annotations are in one delta. They have no index, and SDKs that assemble streams may
    // replace an earlier list by a later one.
    if (annotations[0]) chunks.delta(JSON.stringify({ annotations }));
    const { legacyFunctions } = context;
    chunks.end(
      finishReason(stopReason, { hasCalls: callCount > 0, legacyFunctions }),
      usage.outcome === 'read' ? usage.usage : undefined,
      state.serviceTier,
    );
    return { outcome: 'complete', usage, messageId, stopReason, emptyRefusal };
  }

  return {
    onEvent,
    textFrame: (index) =>
      isFinished || isCut || context.annotations || blocks.get(index)?.kind !== 'text'
        ? undefined
        : chunks.textFrame(),
    fail,
    cut() {
      isCut = true;
    },
    isFinished: () => isFinished,
    end,
  };
}
