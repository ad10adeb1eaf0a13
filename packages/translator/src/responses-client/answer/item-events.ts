/**
 * Makes the events of a response in order, with their sequence numbers, and keeps its output items
 * up to date with them.
 *
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */

import type { ThinkingBlock } from '../../message/thinking-block.js';
import type { Citation } from '../../wire/server-block.js';
import type { StreamError } from '../../wire/stream-pipe.js';
import {
  type CallItem,
  itemId,
  itemObject,
  type ItemStatus,
  type MessageItem,
  type OutputItem,
  type Part,
  partObject,
  type ReasoningItem,
  type SearchItem,
  type ServerBlocks,
  summaryPart,
  type WholeItem,
} from './output-items.js';
import type {
  ResponseState,
  UnnumberedEvent,
  UrlCitation,
  WrittenEvent,
  WrittenResponse,
} from './response-object.js';
import {
  responseError,
  type ResponseFacts,
  type TranslateMessageContext,
  writtenResponse,
} from './written-response.js';

export interface StreamedItem<Item extends OutputItem = OutputItem> {
  readonly item: Item;
  readonly index: number;
  /** How many native blocks are still adding to this item. */
  openBlocks: number;
  status: ItemStatus;
}

/** A part of a message while its deltas arrive. */
export interface StreamedPart {
  readonly holder: StreamedItem<MessageItem>;
  readonly part: Part;
  readonly address: PartAddress;
}

/** The members that identify a part, in each of its events. */
interface PartAddress {
  readonly item_id: string;
  readonly output_index: number;
  readonly content_index: number;
}

export class ItemEvents {
  messageId: string | undefined;
  readonly #context: TranslateMessageContext;
  readonly #write: (event: WrittenEvent) => void;
  readonly #items: StreamedItem[] = [];
  /** Items to which a block has stopped adding since the last `finishItems`. */
  #closed: StreamedItem[] = [];
  /** Makes the item that comes whole; undefined unless it is the last one so far. */
  #makeWhole: ((index: number) => WholeItem) | undefined;
  #sequenceNumber = 0;
  /** The events since {@link startTail}, which are not sent yet, and the number of the first. */
  #tail: { from: number; readonly events: UnnumberedEvent[] } | undefined;

  /** The response with which the message ended; undefined before that, and if it failed. */
  finished: WrittenResponse | undefined;

  /** @param write - Called with each event, in order. */
  constructor(context: TranslateMessageContext, write: (event: WrittenEvent) => void) {
    this.#context = context;
    this.#write = write;
  }

  get hasBegun(): boolean {
    return this.#sequenceNumber > 0;
  }

  /** The events from now on are not sent at once, so they can be numbered again or dropped. */
  startTail(): void {
    this.#tail = { from: this.#sequenceNumber, events: [] };
  }

  /** Writes the events of the tail again, with the numbers that follow those of the sent events. */
  repeatTail(): void {
    const events = this.dropTail();
    this.startTail();
    for (const event of events) this.#emit(event);
  }

  dropTail(): readonly UnnumberedEvent[] {
    const { from, events } = this.#tail ?? { from: this.#sequenceNumber, events: [] };
    this.#tail = undefined;
    this.#sequenceNumber = from;
    return events;
  }

  /**
   * Writes OpenAI's `keepalive` event. It counts in the sequence, also before a tail, whose numbers
   * then have to be written again. SDKs take no other event first than `response.created`, so
   * a response that has not begun begins, with an id of the caller's.
   */
  keepAlive(id: string): void {
    if (!this.hasBegun) {
      this.begin(id);
      return;
    }
    const number = this.#tail === undefined ? this.nextNumber() : this.#tail.from++;
    this.#write({ type: 'keepalive', sequence_number: number });
  }

  get items(): readonly OutputItem[] {
    return this.#items.map(({ item }) => item);
  }

  /** Begins the response, unless {@link keepAlive} has begun it. */
  begin(messageId: string | undefined): void {
    if (this.hasBegun) return;
    this.messageId = messageId;
    for (const type of ['response.created', 'response.in_progress'] as const) {
      this.#respond(type, { status: 'in_progress', output: [] });
    }
  }

  /** Adds an item, and completes the earlier items to which no block is still adding. */
  add<Item extends OutputItem>(makeItem: (index: number) => Item): StreamedItem<Item> {
    this.finishItems('completed');
    const index = this.#items.length;
    const added: StreamedItem<Item> = {
      item: makeItem(index),
      index,
      openBlocks: 1,
      status: 'in_progress',
    };
    this.#items.push(added);
    this.#emit({
      type: 'response.output_item.added',
      output_index: index,
      item: itemObject(added.item, 'in_progress'),
    });
    return added;
  }

  /** Begins a part of the last item if that is a message, or else of a new message. */
  openPart(type: Part['type']): StreamedPart {
    const holder = this.#lastMessage() ?? this.#addMessage();
    const { parts } = holder.item;
    const part: Part = { type, text: '' };
    const address = { ...addressOf(holder), content_index: parts.length };
    this.#emit({ type: 'response.content_part.added', ...address, part: partObject(part) });
    parts.push(part);
    return { holder, part, address };
  }

  #lastMessage(): StreamedItem<MessageItem> | undefined {
    const last = this.#items.at(-1);
    if (last?.item.type !== 'message' || last.status !== 'in_progress') return undefined;
    last.openBlocks += 1;
    return last as StreamedItem<MessageItem>;
  }

  #addMessage(): StreamedItem<MessageItem> {
    return this.add((index) => ({
      type: 'message',
      id: itemId('message', this.messageId, index),
      parts: [],
    }));
  }

  addText(streamed: StreamedPart, text: string): void {
    streamed.part.text += text;
    this.#emit(textDelta(streamed, text));
  }

  /** Adds the pages that a part cites, and its native citations. */
  cite(
    { part, address }: StreamedPart,
    { annotations, citations }: { annotations: UrlCitation[]; citations: Citation[] },
  ): void {
    part.annotations = annotations;
    if (citations.length > 0) part.citations = citations;
    annotations.forEach((annotation, at) => {
      this.#emit({
        type: 'response.output_text.annotation.added',
        ...address,
        annotation_index: at,
        annotation,
      });
    });
  }

  closePart({ holder, part, address }: StreamedPart): void {
    const { type, text } = part;
    if (type === 'refusal')
      this.#emit({ type: 'response.refusal.done', ...address, refusal: text });
    else this.#emit({ type: 'response.output_text.done', ...address, logprobs: [], text });
    this.#emit({ type: 'response.content_part.done', ...address, part: partObject(part) });
    this.#close(holder);
  }

  addSummary(reasoning: StreamedItem<ReasoningItem>, text: string): void {
    const { item } = reasoning;
    const address = summaryAddress(reasoning);
    if (item.summary === undefined) {
      this.#emit({
        type: 'response.reasoning_summary_part.added',
        ...address,
        part: summaryPart(''),
      });
    }
    item.summary = (item.summary ?? '') + text;
    this.#emit({ type: 'response.reasoning_summary_text.delta', ...address, delta: text });
  }

  closeReasoning(
    reasoning: StreamedItem<ReasoningItem>,
    block: ThinkingBlock | ServerBlocks,
  ): void {
    const { item } = reasoning;
    item.sealed = block;
    this.#close(reasoning);
    if (item.summary === undefined) return;
    const address = summaryAddress(reasoning);
    this.#emit({ type: 'response.reasoning_summary_text.done', ...address, text: item.summary });
    this.#emit({
      type: 'response.reasoning_summary_part.done',
      ...address,
      part: summaryPart(item.summary),
    });
  }

  addToCall(call: StreamedItem<CallItem>, text: string): void {
    call.item.text += text;
    this.#emit(callDelta(call, text));
  }

  closeCall(call: StreamedItem<CallItem>): void {
    const { type, text, calledAs } = call.item;
    this.#close(call);
    const head = addressOf(call);
    if (type === 'custom_tool_call') {
      this.#emit({ type: 'response.custom_tool_call_input.done', ...head, input: text });
    } else {
      const { name } = calledAs;
      this.#emit({ type: 'response.function_call_arguments.done', ...head, name, arguments: text });
    }
  }

  /**
   * Adds an item that is written whole, once it is known that the message goes on or is complete.
   * A call that was cut off is left out: the client would run a part of it.
   */
  addWhole(makeItem: (index: number) => WholeItem): void {
    this.finishItems('completed');
    this.#makeWhole = makeItem;
  }

  /** Adds a search, which stays open until {@link closeSearch}. */
  addSearch(makeItem: (index: number) => SearchItem): StreamedItem<SearchItem> {
    const search = this.add(makeItem);
    for (const state of ['in_progress', 'searching'] as const) this.#progress(search, state);
    return search;
  }

  closeSearch(search: StreamedItem<SearchItem>, outcome: SearchItem['outcome']): void {
    search.item.outcome = outcome;
    if (outcome === 'completed') this.#progress(search, outcome);
    search.openBlocks -= 1;
    this.#finish(search, 'completed');
  }

  #progress(search: StreamedItem, state: 'in_progress' | 'searching' | 'completed'): void {
    this.#emit({ type: `response.web_search_call.${state}`, ...addressOf(search) });
  }

  /** @param status - The status of the items to which no block is still adding. */
  finishItems(status: 'completed' | 'incomplete'): void {
    const closed = this.#closed;
    this.#closed = [];
    for (const streamed of closed) {
      // A message can be in this list twice, and another block can have begun to add to it since.
      if (streamed.openBlocks > 0 || streamed.status !== 'in_progress') continue;
      this.#finish(streamed, status);
    }
    const makeItem = this.#makeWhole;
    this.#makeWhole = undefined;
    if (!makeItem || status === 'incomplete') return;
    const call = this.add(makeItem);
    call.openBlocks = 0;
    this.#finish(call, status);
  }

  #finish(streamed: StreamedItem, status: 'completed' | 'incomplete'): void {
    streamed.status = status;
    this.#emit({
      type: 'response.output_item.done',
      output_index: streamed.index,
      item: itemObject(streamed.item, status),
    });
  }

  /** Writes the last event of a message that ended. */
  end(
    facts: Pick<ResponseFacts, 'incompleteReason' | 'stopReason' | 'usage' | 'serviceTier'>,
  ): void {
    const status = facts.incompleteReason ? 'incomplete' : 'completed';
    const output = this.#items.map((streamed) => itemObject(streamed.item, streamed.status));
    this.finished = this.#respond(`response.${status}`, { ...facts, status, output });
  }

  /** Writes the two events of a failed stream. SDKs throw at the first; Codex reads the second. */
  fail(error: StreamError): void {
    this.begin(undefined);
    const { code, message } = responseError(error);
    const details = { code, message, param: null };
    this.#emit({ type: 'error', ...details, error: { type: error.type, ...details } });
    this.#respond('response.failed', { status: 'failed', output: [], error: { code, message } });
  }

  #respond(type: ResponseState, facts: Omit<ResponseFacts, 'messageId'>): WrittenResponse {
    const response = writtenResponse(this.#context, { ...facts, messageId: this.messageId });
    this.#emit({ type, response });
    return response;
  }

  #close(streamed: StreamedItem): void {
    streamed.openBlocks -= 1;
    this.#closed.push(streamed);
  }

  #emit(event: UnnumberedEvent): void {
    this.#tail?.events.push(event);
    this.#write(numbered(event, this.nextNumber()));
  }

  /** Takes the number of the next event. A caller that writes an event itself calls this. */
  nextNumber(): number {
    return this.#sequenceNumber++;
  }
}

export function numbered(event: UnnumberedEvent, number: number): WrittenEvent {
  return Object.assign({ type: event.type, sequence_number: number }, event);
}

export function textDelta({ part, address }: StreamedPart, text: string): UnnumberedEvent {
  return part.type === 'refusal'
    ? { type: 'response.refusal.delta', ...address, delta: text }
    : { type: 'response.output_text.delta', ...address, logprobs: [], delta: text };
}

export function callDelta(call: StreamedItem<CallItem>, text: string): UnnumberedEvent {
  const type =
    call.item.type === 'function_call'
      ? 'response.function_call_arguments.delta'
      : 'response.custom_tool_call_input.delta';
  return { type, ...addressOf(call), delta: text };
}

function addressOf({ item, index }: StreamedItem) {
  return { item_id: item.id, output_index: index };
}

function summaryAddress(reasoning: StreamedItem<ReasoningItem>) {
  return { ...addressOf(reasoning), summary_index: 0 };
}
