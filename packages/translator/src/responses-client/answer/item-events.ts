/**
 * Writes the events of a response in order, with their sequence numbers, and keeps its output items
 * up to date with them.
 *
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */

import type { ThinkingBlock } from '../../chat-client/answer/thinking.js';
import type { StreamError } from '../../wire/stream-pipe.js';
import {
  type CallItem,
  itemId,
  itemText,
  type ItemStatus,
  type LocalCallItem,
  type MessageItem,
  type OutputItem,
  type Part,
  partText,
  type ReasoningItem,
  responseId,
  type SearchItem,
  summaryText,
  textMember,
  type UrlCitation,
} from './output-items.js';
import {
  responseError,
  type ResponseFacts,
  responseText,
  type TranslateMessageContext,
} from './response-text.js';

export interface FinishedResponse {
  readonly id: string;
  /** Its JSON text. */
  readonly body: string;
}

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
  /** The members that identify the part, in each of its events. */
  readonly address: string;
}

/** The names of the events with the text of a call. */
const CALL_EVENTS = {
  function_call: 'response.function_call_arguments',
  custom_tool_call: 'response.custom_tool_call_input',
} as const;

export class ItemEvents {
  messageId: string | undefined;
  readonly #context: TranslateMessageContext;
  readonly #write: (event: string) => void;
  readonly #items: StreamedItem[] = [];
  /** Items to which a block has stopped adding since the last `finishItems`. */
  #closed: StreamedItem[] = [];
  /** Makes the item of a call that has ended; undefined unless it is the last one so far. */
  #makeLocalCall: ((index: number) => LocalCallItem) | undefined;
  #sequenceNumber = 0;
  /** The events since {@link startTail}, which are not sent yet, and the number of the first. */
  #tail:
    { from: number; readonly events: (readonly [type: string, members: string])[] } | undefined;

  /** The response with which the stream ended; undefined before that, and if it failed. */
  finished: FinishedResponse | undefined;

  /** @param write - Called with each event, framed as a server-sent event. */
  constructor(context: TranslateMessageContext, write: (event: string) => void) {
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
    for (const [type, members] of events) this.#emit(type, members);
  }

  dropTail(): readonly (readonly [type: string, members: string])[] {
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
    const number = this.#tail === undefined ? this.#sequenceNumber++ : this.#tail.from++;
    this.#write(framed('keepalive', number, ''));
  }

  get items(): readonly OutputItem[] {
    return this.#items.map(({ item }) => item);
  }

  /** Begins the response, unless {@link keepAlive} has begun it. */
  begin(messageId: string | undefined): void {
    if (this.hasBegun) return;
    this.messageId = messageId;
    for (const type of ['response.created', 'response.in_progress']) {
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
    const item = itemText(added.item, 'in_progress');
    this.#emit('response.output_item.added', `"output_index":${index},"item":${item}`);
    return added;
  }

  /** Begins a part of the last item if that is a message, or else of a new message. */
  openPart(type: Part['type']): StreamedPart {
    const holder = this.#lastMessage() ?? this.#addMessage();
    const { item, index } = holder;
    const part: Part = { type, text: '' };
    const address = `${addressOf(holder)},"output_index":${index},"content_index":${item.parts.length}`;
    this.#emit('response.content_part.added', `${address},"part":${partText(part)}`);
    item.parts.push(part);
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

  /** @param text - The content of a JSON string, without its quotes, here and below. */
  addText({ part, address }: StreamedPart, text: string): void {
    part.text += text;
    const [event, extra] =
      part.type === 'refusal' ? ['refusal', ''] : ['output_text', ',"logprobs":[]'];
    this.#emit(`response.${event}.delta`, `${address}${extra},"delta":"${text}"`);
  }

  /** Adds the pages that a part cites. */
  cite({ part, address }: StreamedPart, annotations: readonly UrlCitation[]): void {
    part.annotations = annotations;
    annotations.forEach((annotation, at) => {
      const members = `"annotation_index":${at},"annotation":${JSON.stringify(annotation)}`;
      this.#emit('response.output_text.annotation.added', `${address},${members}`);
    });
  }

  closePart({ holder, part, address }: StreamedPart): void {
    const { type, text } = part;
    if (type === 'refusal') this.#emit('response.refusal.done', `${address},"refusal":"${text}"`);
    else this.#emit('response.output_text.done', `${address},"logprobs":[],"text":"${text}"`);
    this.#emit('response.content_part.done', `${address},"part":${partText(part)}`);
    this.#close(holder);
  }

  addSummary(reasoning: StreamedItem<ReasoningItem>, text: string): void {
    const { item } = reasoning;
    const address = summaryAddress(reasoning);
    if (item.summary === undefined) {
      this.#emit('response.reasoning_summary_part.added', `${address},"part":${summaryText('')}`);
    }
    item.summary = (item.summary ?? '') + text;
    this.#emit('response.reasoning_summary_text.delta', `${address},"delta":"${text}"`);
  }

  closeReasoning(reasoning: StreamedItem<ReasoningItem>, block: ThinkingBlock): void {
    const { item } = reasoning;
    item.sealed = block;
    this.#close(reasoning);
    if (item.summary === undefined) return;
    const address = summaryAddress(reasoning);
    this.#emit('response.reasoning_summary_text.done', `${address},"text":"${item.summary}"`);
    const part = summaryText(item.summary);
    this.#emit('response.reasoning_summary_part.done', `${address},"part":${part}`);
  }

  addToCall(call: StreamedItem<CallItem>, text: string): void {
    const { item, index } = call;
    item.text += text;
    const members = `${addressOf(call)},"output_index":${index},"delta":"${text}"`;
    this.#emit(`${CALL_EVENTS[item.type]}.delta`, members);
  }

  closeCall(call: StreamedItem<CallItem>): void {
    const { item, index } = call;
    this.#close(call);
    const name =
      item.type === 'function_call' ? `,"name":${JSON.stringify(item.calledAs.name)}` : '';
    const members = `${addressOf(call)},"output_index":${index}${name},"${textMember(item)}":"${item.text}"`;
    this.#emit(`${CALL_EVENTS[item.type]}.done`, members);
  }

  /**
   * Adds a call of a tool that the client runs itself, whole, once it is known that the message
   * goes on or is complete. A call that was cut off is left out: the client would run a part of it.
   */
  addLocalCall(makeItem: (index: number) => LocalCallItem): void {
    this.finishItems('completed');
    this.#makeLocalCall = makeItem;
  }

  /** Adds a search, which stays open until {@link closeSearch}. */
  addSearch(makeItem: (index: number) => SearchItem): StreamedItem<SearchItem> {
    const search = this.add(makeItem);
    for (const state of ['in_progress', 'searching']) this.#progress(search, state);
    return search;
  }

  closeSearch(search: StreamedItem<SearchItem>, outcome: SearchItem['outcome']): void {
    search.item.outcome = outcome;
    if (outcome === 'completed') this.#progress(search, outcome);
    search.openBlocks -= 1;
    this.#finish(search, 'completed');
  }

  #progress(search: StreamedItem, state: string): void {
    const members = `${addressOf(search)},"output_index":${search.index}`;
    this.#emit(`response.web_search_call.${state}`, members);
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
    const makeItem = this.#makeLocalCall;
    this.#makeLocalCall = undefined;
    if (!makeItem || status === 'incomplete') return;
    const call = this.add(makeItem);
    call.openBlocks = 0;
    this.#finish(call, status);
  }

  #finish(streamed: StreamedItem, status: 'completed' | 'incomplete'): void {
    streamed.status = status;
    const text = itemText(streamed.item, status);
    this.#emit('response.output_item.done', `"output_index":${streamed.index},"item":${text}`);
  }

  /** Writes the last event of a message that ended. */
  end(facts: Pick<ResponseFacts, 'incompleteReason' | 'usage' | 'serviceTier'>): void {
    const status = facts.incompleteReason ? 'incomplete' : 'completed';
    const output = this.#items.map((streamed) => itemText(streamed.item, streamed.status));
    const body = this.#respond(`response.${status}`, { ...facts, status, output });
    this.finished = { id: responseId(this.messageId), body };
  }

  /** Writes the two events of a failed stream. SDKs throw at the first; Codex reads the second. */
  fail(error: StreamError): void {
    this.begin(undefined);
    const { code, message } = responseError(error);
    const details = { code, message, param: null };
    const both = { ...details, error: { type: error.type, ...details } };
    this.#emit('error', JSON.stringify(both).slice(1, -1));
    this.#respond('response.failed', { status: 'failed', output: [], error: { code, message } });
  }

  #respond(type: string, facts: Omit<ResponseFacts, 'messageId'>): string {
    const response = responseText(this.#context, { ...facts, messageId: this.messageId });
    this.#emit(type, `"response":${response}`);
    return response;
  }

  #close(streamed: StreamedItem): void {
    streamed.openBlocks -= 1;
    this.#closed.push(streamed);
  }

  #emit(type: string, members: string): void {
    this.#tail?.events.push([type, members]);
    this.#write(framed(type, this.#sequenceNumber, `,${members}`));
    this.#sequenceNumber += 1;
  }
}

function framed(type: string, sequenceNumber: number, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequenceNumber}${members}}\n\n`;
}

function addressOf({ item }: StreamedItem): string {
  return `"item_id":${JSON.stringify(item.id)}`;
}

function summaryAddress(reasoning: StreamedItem<ReasoningItem>): string {
  return `${addressOf(reasoning)},"output_index":${reasoning.index},"summary_index":0`;
}
