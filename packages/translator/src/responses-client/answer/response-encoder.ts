/** Writes a message as the events of a response. */

import type { CalledTool } from '../../message/called-tool.js';
import type { MessageEvent } from '../../message/message-events.js';
import type { MessageEncoder, MessageFacts } from '../../message/message-reader.js';
import { readCitation, SERVER_BLOCKS, type ServerBlock } from '../../wire/server-block.js';
import { type ThinkingBlock, withAdditions } from '../../message/thinking-block.js';
import type { LocalToolType } from '../../wire/local-tools.js';
import { listOf } from '../../wire/lists.js';
import type { JsonObject } from '../../wire/raw-json.js';
import { requireContext } from '../../wire/require-option.js';
import { CustomInputReader, RenamedInputReader } from './custom-input.js';
import { incompleteReason } from './incomplete-reason.js';
import {
  callDelta,
  ItemEvents,
  type StreamedItem,
  type StreamedPart,
  textDelta,
} from './item-events.js';
import {
  callItem,
  type CallItem,
  closingPart,
  itemId,
  localCallItem,
  localType,
  type ReasoningItem,
  type SearchItem,
  searchItem,
  urlCitations,
} from './output-items.js';
import type { UnnumberedEvent, WrittenEvent } from './response-object.js';
import type { TranslateMessageContext } from './written-response.js';

interface OpenText {
  /** It is created when the first character arrives, because empty text is left out. */
  part: StreamedPart | undefined;
  readonly citations: JsonObject[];
}

type OpenCall =
  | {
      readonly streamed: StreamedItem<CallItem>;
      /** Makes the client's text of the arguments, if it is another than the upstream's. */
      readonly reader: CustomInputReader | RenamedInputReader | undefined;
    }
  | {
      /** The client runs this tool itself. */
      readonly tool: LocalToolType;
      readonly called: CalledTool;
      json: string;
    };

export interface BlockDeltas {
  /** The part or the call that has the whole text. */
  readonly holder: { text: string };
  sample(text: string): UnnumberedEvent;
}

export class ResponseEncoder implements MessageEncoder {
  readonly hasThinking = true;
  readonly events: ItemEvents;
  readonly #context: TranslateMessageContext;
  readonly #texts = new Map<number, OpenText>();
  readonly #thoughts = new Map<number, StreamedItem<ReasoningItem>>();
  readonly #calls = new Map<number, OpenCall>();
  /** Searches whose result has not arrived yet. */
  readonly #searches = new Map<string, StreamedItem<SearchItem>>();

  /** The blocks of searches since the last other block. */
  #serverBlocks: ServerBlock[] = [];

  /** @param write - Called with each event, in order. */
  constructor(context: TranslateMessageContext, write: (event: WrittenEvent) => void) {
    requireContext(context);
    this.#context = context;
    this.events = new ItemEvents(context, write);
  }

  onEvent(event: MessageEvent): void {
    switch (event.type) {
      case 'message_start':
        this.events.begin(event.messageId);
        return;
      case 'text_start':
        this.#sealServerBlocks();
        this.#texts.set(event.at, { part: undefined, citations: [] });
        return;
      case 'text': {
        const part = this.#textPart(event.at);
        if (part) this.events.addText(part, event.text);
        return;
      }
      case 'citation':
        this.#texts.get(event.at)?.citations.push(event.citation);
        return;
      case 'text_end':
        this.#endText(event.at);
        return;
      case 'thinking_start':
        this.#startThinking(event.at);
        return;
      case 'thinking': {
        const streamed = this.#thoughts.get(event.at);
        if (streamed && this.#context.showsSummaries) this.events.addSummary(streamed, event.text);
        return;
      }
      case 'thinking_end':
        this.#endThinking(event.at, event.block);
        return;
      case 'call_start':
        this.#startCall(event.at, event.call);
        return;
      case 'input': {
        const call = this.#calls.get(event.at);
        if (call && 'tool' in call) call.json += event.json;
        else if (call) this.#addText(call.streamed, call.reader?.push(event.json) ?? event.json);
        return;
      }
      case 'call_end':
        this.#endCall(event.at);
        return;
      case 'search':
        this.#startSearch(event.id, event.query);
        return;
      case 'search_result':
        this.#endSearch(event.id, event.outcome);
        return;
      case 'server_block':
        if (this.#context.showsSearches) this.#serverBlocks.push(event.block);
        return;
      case 'message_stop':
        for (const id of this.#searches.keys()) this.#endSearch(id, 'failed');
        this.#sealServerBlocks();
        return;
    }
  }

  /**
   * How deltas of this block are written, for a caller that writes them by itself; undefined if
   * they may not be written one by one.
   */
  deltas(at: number): BlockDeltas | undefined {
    const call = this.#calls.get(at);
    if (call && 'streamed' in call && !call.reader) {
      const { streamed } = call;
      return { holder: streamed.item, sample: (text) => callDelta(streamed, text) };
    }
    const streamed = this.#textPart(at);
    return (
      streamed && {
        holder: streamed.part,
        sample: (text) => textDelta(streamed, text),
      }
    );
  }

  /** The part for text of this block, which begins with its first text. */
  #textPart(at: number): StreamedPart | undefined {
    const text = this.#texts.get(at);
    if (!text) return undefined;
    text.part ??= this.events.openPart('output_text');
    return text.part;
  }

  #endText(at: number): void {
    const text = this.#texts.get(at);
    this.#texts.delete(at);
    if (!text?.part) return;
    if (this.#context.showsSearches) {
      this.events.cite(text.part, {
        annotations: urlCitations(text.citations, text.part.part.text),
        citations: text.citations.flatMap((citation) => listOf(readCitation(citation))),
      });
    }
    this.events.closePart(text.part);
  }

  #startThinking(at: number): void {
    this.#sealServerBlocks();
    this.#thoughts.set(at, this.#addReasoning());
  }

  #addReasoning(): StreamedItem<ReasoningItem> {
    const { messageId } = this.events;
    return this.events.add((index) => ({
      type: 'reasoning',
      id: itemId('reasoning', messageId, index),
      summary: undefined,
      sealed: undefined,
    }));
  }

  /** Adds an item with the blocks of the searches before the next block. */
  #sealServerBlocks(): void {
    const blocks = this.#serverBlocks;
    if (blocks.length === 0) return;
    this.#serverBlocks = [];
    this.events.closeReasoning(this.#addReasoning(), { type: SERVER_BLOCKS, blocks });
  }

  #endThinking(at: number, block: ThinkingBlock): void {
    const streamed = this.#thoughts.get(at);
    this.#thoughts.delete(at);
    if (!streamed) return;
    this.events.closeReasoning(streamed, withAdditions(block, at, this.#context.additions));
  }

  #startCall(at: number, called: CalledTool): void {
    this.#sealServerBlocks();
    const { messageId } = this.events;
    const { tools } = this.#context;
    const tool = localType(called, tools);
    if (tool) {
      this.events.finishItems('completed');
      this.#calls.set(at, { tool, called, json: '' });
      return;
    }
    const streamed = this.events.add((index) => callItem(called, tools, { messageId, index }));
    const { type, calledAs } = streamed.item;
    const reader =
      type === 'custom_tool_call'
        ? new CustomInputReader()
        : calledAs.members && new RenamedInputReader(calledAs.members);
    this.#calls.set(at, { streamed, reader });
  }

  #endCall(at: number): void {
    const call = this.#calls.get(at);
    this.#calls.delete(at);
    if (!call) return;
    if ('tool' in call) {
      const { tool, called, json } = call;
      const { messageId } = this.events;
      this.events.addWhole((index) => localCallItem(tool, called, json, { messageId, index }));
      return;
    }
    this.#addText(call.streamed, call.reader?.end() ?? '');
    this.events.closeCall(call.streamed);
  }

  #addText(call: StreamedItem<CallItem>, text: string): void {
    if (text !== '') this.events.addToCall(call, text);
  }

  #startSearch(id: string, query: string): void {
    if (!this.#context.showsSearches) return;
    const { messageId } = this.events;
    this.#endSearch(id, 'failed');
    const search = this.events.addSearch((index) => searchItem(query, { messageId, index }));
    this.#searches.set(id, search);
  }

  /** Ends a search, if one with this id is open. */
  #endSearch(id: string, outcome: SearchItem['outcome']): void {
    const search = this.#searches.get(id);
    this.#searches.delete(id);
    if (search) this.events.closeSearch(search, outcome);
  }

  complete({ stopReason, stopDetails, serviceTier, usage }: MessageFacts): void {
    const { events } = this;
    events.startTail();
    const reason = incompleteReason(stopReason);
    events.finishItems(reason ? 'incomplete' : 'completed');
    const closing = closingPart(events.items, { stopReason, stopDetails });
    if (closing) {
      const part = events.openPart(closing.type);
      if (closing.text !== '') events.addText(part, closing.text);
      events.closePart(part);
      events.finishItems('completed');
    }
    events.end({ incompleteReason: reason, stopReason, usage, serviceTier });
  }
}
