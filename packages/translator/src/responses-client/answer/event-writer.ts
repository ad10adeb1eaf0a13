/**
 * Translates native events to the events of a response. The caller parses the upstream's bytes.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { argumentsOf, type CalledTool, calledTool } from '../../chat-client/answer/called-tool.js';
import { inputTexts } from '../../chat-client/answer/input-texts.js';
import { type ThinkingBlock, thinkingBlock } from '../../chat-client/answer/thinking.js';
import type { Additions } from '../../wire/additions.js';
import type { LocalToolType } from '../../wire/local-tools.js';
import { failureOf, MessageState, type StreamFailure } from '../../wire/message-state.js';
import {
  isJsonObject,
  type JsonObject,
  objectOf,
  objectsOf,
  parseJson,
  stringOf,
} from '../../wire/raw-json.js';
import type { FailureCause, MessageEnd, StreamError } from '../../wire/stream-pipe.js';
import { CustomInputReader, RenamedInputReader } from './custom-input.js';
import { incompleteReason } from './incomplete-reason.js';
import {
  type FinishedResponse,
  ItemEvents,
  type StreamedItem,
  type StreamedPart,
} from './item-events.js';
import {
  callItem,
  type CallItem,
  closingPart,
  escaped,
  isSearchBlock,
  itemId,
  localCallItem,
  localType,
  type ReasoningItem,
  type SearchItem,
  searchItem,
  searchOutcome,
  urlCitations,
} from './output-items.js';
import type { TranslateMessageContext } from './response-text.js';

/** A content block while its deltas arrive; undefined for a block that is left out. */
type OpenBlock =
  /** The part is created when the first character arrives, because empty text is left out. */
  | { readonly kind: 'text'; part: StreamedPart | undefined; readonly citations: unknown[] }
  | { readonly kind: 'search'; readonly id: unknown; readonly input: unknown; json: string }
  | {
      readonly kind: 'thinking';
      readonly streamed: StreamedItem<ReasoningItem>;
      readonly block: ThinkingBlock;
    }
  | {
      readonly kind: 'call';
      readonly streamed: StreamedItem<CallItem>;
      /** Makes the client's text of the arguments, if it is another than the upstream's. */
      readonly reader: CustomInputReader | RenamedInputReader | undefined;
      /** The input at the start of the block. It is used if no deltas follow. */
      readonly input: string;
      hasJson: boolean;
    }
  | {
      readonly kind: 'local';
      readonly tool: LocalToolType;
      readonly called: CalledTool;
      readonly input: string;
      json: string;
    }
  | undefined;

/** Events that only make sense once the message has begun. */
const WITHIN_MESSAGE = /^(content_block_|message_(?!start$))/;

export interface ResponseEventWriter {
  /**
   * Takes one native event. `name` is the type to assume when the event has none. Events after the
   * end of the message, or after a failure, are ignored.
   *
   * @param source - Returns the JSON text of the event, from which the inputs of calls are cut.
   */
  onEvent(event: JsonObject, name: string, source: () => string): void;
  /**
   * Takes a text delta as the JSON text of its string.
   *
   * @returns false if no text block with this index is open, or the message is over.
   */
  onText(index: number, json: string): boolean;
  /** Ends an unfinished message as failed. */
  fail(cause: FailureCause): void;
  /** Writes no more content. The message is read on for its usage only. */
  cut(): void;
  /** Whether the message has ended, by `message_stop` or by a failure. */
  isFinished(): boolean;
  /** Call once. Writes the last events. */
  end(): MessageEnd;
  /** Writes the events of a failure in place of those that `end` wrote. */
  failInstead(error: StreamError): void;
  /** Writes an event that keeps the stream alive. After `end`, it precedes what `end` wrote. */
  keepAlive(id: string): void;
  /** The response with which the stream ended; undefined before that, and if it failed. */
  finished(): FinishedResponse | undefined;
  /** Writes the events that `end` wrote again, numbered after all `keepAlive` events. */
  repeatTail(): void;
}

/** @param write - Called with each event, framed as a server-sent event, in order. */
export function createResponseEventWriter(
  context: TranslateMessageContext,
  write: (event: string) => void,
): ResponseEventWriter {
  const state = new MessageState();
  const events = new ItemEvents(context, write);
  const blocks = new Map<unknown, OpenBlock>();
  /** Searches whose result has not arrived yet, by their native id. */
  const searches = new Map<unknown, StreamedItem<SearchItem>>();
  let blockCount = 0;
  let isFinished = false;
  let isCut = false;
  let hasStarted = false;
  let failure: StreamFailure | undefined;

  function onEvent(event: JsonObject, name: string, source: () => string): void {
    if (isFinished) return;
    const type = stringOf(event['type']) || name;
    if (isCut && type !== 'error') {
      isFinished = state.readOn(type, event);
      return;
    }
    if (!hasStarted && WITHIN_MESSAGE.test(type)) {
      fail('malformed');
      return;
    }
    switch (type) {
      case 'content_block_delta':
        addDelta(event);
        return;
      case 'content_block_start':
        state.hasContent = true;
        openBlock(event['index'], event['content_block'], () =>
          inputTexts(source()).get('content_block'),
        );
        return;
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
        // An item needs its last events even if the upstream never closed its block.
        for (const index of blocks.keys()) closeBlock(index);
        for (const id of searches.keys()) closeSearch(id, 'failed');
        isFinished = true;
        return;
      case 'error':
        fail('error_event', event['error']);
        return;
    }
  }

  /** Some messages have their content in `message_start`, without events for the content. */
  function begin(event: JsonObject, source: () => string): void {
    if (!state.start(event)) {
      fail('malformed');
      return;
    }
    hasStarted = true;
    events.begin(state.messageId);
    const { content } = objectOf(event['message']);
    if (!Array.isArray(content)) return;
    content.forEach((block: unknown, index) => {
      const path = `message/content/${index}`;
      openBlock(path, block, () => inputTexts(source()).get(path));
      closeBlock(path);
    });
  }

  function openBlock(index: unknown, value: unknown, inputText: () => string | undefined): void {
    if (isFinished) return;
    // A block that was never closed must not stay open for ever.
    closeBlock(index);
    const block = objectOf(value);
    const isFirst = blockCount === 0;
    blockCount += 1;
    switch (block['type']) {
      case 'text': {
        const citations: unknown[] = objectsOf(block['citations']);
        const opened: OpenBlock = { kind: 'text', part: undefined, citations };
        blocks.set(index, opened);
        addText(opened, escaped(stringOf(block['text'])));
        return;
      }
      case 'tool_use':
        openCall(index, block, inputText);
        return;
      case 'server_tool_use':
        if (!context.showsSearches || !isSearchBlock(block)) return;
        blocks.set(index, { kind: 'search', id: block['id'], input: block['input'], json: '' });
        return;
      case 'web_search_tool_result':
        closeSearch(block['tool_use_id'], searchOutcome(block));
        return;
      default:
        openThinking(index, block, isFirst ? context.additions : undefined);
    }
  }

  function openThinking(
    index: unknown,
    native: JsonObject,
    additions: Additions | undefined,
  ): void {
    const block = thinkingBlock(native, additions);
    if (!block) return;
    const streamed = events.add((at): ReasoningItem => ({
      type: 'reasoning',
      id: itemId('reasoning', events.messageId, at),
      summary: undefined,
      sealed: undefined,
    }));
    blocks.set(index, { kind: 'thinking', streamed, block });
    if (block.type === 'thinking') showThinking(streamed, block.thinking);
  }

  function openCall(index: unknown, block: JsonObject, inputText: () => string | undefined): void {
    const called = calledTool(block);
    if (!called) {
      // No client could answer this call.
      fail('malformed');
      return;
    }
    const { messageId } = events;
    const { input } = block;
    const isEmpty = isJsonObject(input) && Object.keys(input).length === 0;
    const text = argumentsOf(isEmpty ? '{}' : inputText());
    const tool = localType(called, context.tools);
    if (tool) {
      events.finishItems('completed');
      blocks.set(index, { kind: 'local', tool, called, input: text, json: '' });
      return;
    }
    const streamed = events.add((at) => callItem(called, context.tools, { messageId, index: at }));
    const { members } = streamed.item.calledAs;
    const reader =
      streamed.item.type === 'custom_tool_call'
        ? new CustomInputReader()
        : members && new RenamedInputReader(members);
    blocks.set(index, { kind: 'call', streamed, reader, input: text, hasJson: false });
  }

  function addDelta(event: JsonObject): void {
    const block = blocks.get(event['index']);
    const delta = objectOf(event['delta']);
    switch (block?.kind) {
      case 'text':
        if (delta['type'] === 'text_delta') addText(block, escaped(stringOf(delta['text'])));
        else if (delta['type'] === 'citations_delta') block.citations.push(delta['citation']);
        return;
      case 'search':
      case 'local':
        block.json += stringOf(delta['partial_json']);
        return;
      case 'thinking': {
        const { block: thought, streamed } = block;
        if (thought.type !== 'thinking') return;
        thought.thinking += stringOf(delta['thinking']);
        thought.signature += stringOf(delta['signature']);
        showThinking(streamed, stringOf(delta['thinking']));
        return;
      }
      case 'call': {
        const json = stringOf(delta['partial_json']);
        if (json === '') return;
        block.hasJson = true;
        addToCall(block, json);
        return;
      }
      case undefined:
        return;
    }
  }

  function addText(block: OpenBlock & { kind: 'text' }, text: string): void {
    if (text === '') return;
    block.part ??= events.openPart('output_text');
    events.addText(block.part, text);
  }

  function showThinking(streamed: StreamedItem<ReasoningItem>, text: string): void {
    if (context.showsSummaries && text !== '') events.addSummary(streamed, escaped(text));
  }

  function addToCall({ streamed, reader }: OpenBlock & { kind: 'call' }, json: string): void {
    const text = reader ? reader.push(json) : json;
    if (text !== '') events.addToCall(streamed, escaped(text));
  }

  function closeText(part: StreamedPart, citations: readonly unknown[]): void {
    const cited = context.showsSearches ? urlCitations(citations, part.part.text) : undefined;
    if (cited) events.cite(part, cited);
    events.closePart(part);
  }

  /** Ends a search, if one with this id is open. */
  function closeSearch(id: unknown, outcome: SearchItem['outcome']): void {
    const search = searches.get(id);
    if (!search) return;
    searches.delete(id);
    events.closeSearch(search, outcome);
  }

  function closeBlock(index: unknown): void {
    const block = blocks.get(index);
    blocks.delete(index);
    switch (block?.kind) {
      case 'text':
        if (block.part) closeText(block.part, block.citations);
        return;
      case 'search': {
        // The query of the search is complete only now.
        const input = block.json === '' ? block.input : parseJson(block.json);
        const { messageId } = events;
        closeSearch(block.id, 'failed');
        searches.set(
          block.id,
          events.addSearch((at) => searchItem(input, { messageId, index: at })),
        );
        return;
      }
      case 'thinking':
        events.closeReasoning(block.streamed, block.block);
        return;
      case 'call': {
        if (!block.hasJson) addToCall(block, block.input);
        const rest = block.reader?.end() ?? '';
        if (rest !== '') events.addToCall(block.streamed, escaped(rest));
        events.closeCall(block.streamed);
        return;
      }
      case 'local': {
        const { tool, called, json, input } = block;
        const { messageId } = events;
        events.addLocalCall((at) =>
          localCallItem(tool, called, json || input, { messageId, index: at }),
        );
        return;
      }
      case undefined:
        return;
    }
  }

  function fail(cause: FailureCause, reported?: unknown): void {
    if (isFinished) return;
    failure = failureOf(cause, reported);
    isFinished = true;
  }

  function end(): MessageEnd {
    const { messageId, stopReason, serviceTier, emptyRefusal } = state;
    if (failure || !isFinished) {
      const failed = failure ?? failureOf('truncated');
      events.fail(failed.error);
      return { outcome: 'failed', ...failed, messageId };
    }
    events.startTail();
    if (isCut) {
      const { error } = failureOf('too_large');
      events.fail(error);
      return { outcome: 'complete', usage: state.usage(), messageId, stopReason, error };
    }
    const reason = incompleteReason(stopReason);
    events.finishItems(reason ? 'incomplete' : 'completed');
    const closing = closingPart(events.items, state);
    if (closing) {
      const part = events.openPart(closing.type);
      if (closing.text !== '') events.addText(part, closing.text);
      events.closePart(part);
      events.finishItems('completed');
    }
    const usage = state.usage();
    const counts = usage.outcome === 'read' ? usage.usage : undefined;
    events.end({ incompleteReason: reason, usage: counts, serviceTier });
    return { outcome: 'complete', usage, messageId, stopReason, emptyRefusal };
  }

  return {
    onEvent,
    onText(index, json) {
      const block = blocks.get(index);
      if (isFinished || isCut || block?.kind !== 'text') return false;
      addText(block, json.slice(1, -1));
      return true;
    },
    fail,
    cut() {
      isCut = true;
    },
    isFinished: () => isFinished,
    end,
    failInstead(error) {
      events.dropTail();
      events.fail(error);
    },
    keepAlive(id) {
      events.keepAlive(id);
    },
    finished: () => events.finished,
    repeatTail() {
      events.repeatTail();
    },
  };
}
