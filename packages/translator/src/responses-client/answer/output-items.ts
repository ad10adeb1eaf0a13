/**
 * The output items of a response while it is written.
 *
 * https://platform.openai.com/docs/api-reference/responses/object
 */

import { annotationsOf } from '../../chat-client/answer/annotations.js';
import { refusalOf } from '../../chat-client/answer/chunk-encoder.js';
import { calledAs, type CalledTool } from '../../message/called-tool.js';
import type { SearchOutcome } from '../../message/message-events.js';
import type { Citation, SERVER_BLOCKS, ServerBlock } from '../../wire/server-block.js';
import type { ThinkingBlock } from '../../message/thinking-block.js';
import type { CalledAs } from '../../wire/called-as.js';
import { callMembers, isLocalType, type LocalToolType } from '../../wire/local-tools.js';
import type { JsonObject } from '../../wire/raw-json.js';
import { incompleteReason } from './incomplete-reason.js';
import {
  ITEM_PREFIXES,
  type ResponseItem,
  type ResponsePart,
  type SummaryPart,
  type UrlCitation,
} from './response-object.js';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type OutputItem = MessageItem | ReasoningItem | CallItem | WholeItem | SearchItem;

export interface MessageItem {
  readonly type: 'message';
  readonly id: string;
  readonly parts: Part[];
}

export interface Part {
  readonly type: 'output_text' | 'refusal';
  text: string;
  /** The pages that the text cites. */
  annotations?: UrlCitation[] | undefined;
  /** The native citations, without which the model does not get them back. */
  citations?: Citation[] | undefined;
}

export interface ReasoningItem {
  readonly type: 'reasoning';
  readonly id: string;
  /** Undefined when there is no summary. */
  summary: string | undefined;
  /** What the client has to send back. Undefined while the block is open. */
  sealed: ThinkingBlock | ServerBlocks | undefined;
}

/**
 * The blocks of searches. No item of OpenAI's has a place for them, and many clients send only the
 * members that they know, but all return the encrypted content of reasoning.
 */
export interface ServerBlocks {
  readonly type: typeof SERVER_BLOCKS;
  readonly blocks: readonly ServerBlock[];
}

export interface CallItem {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly id: string;
  readonly callId: string;
  readonly calledAs: CalledAs;
  /** The arguments, or the input of a custom tool. */
  text: string;
}

/** An item that is written whole, such as a call of a tool that the client runs itself. */
export interface WholeItem {
  readonly type: Exclude<
    ResponseItem['type'],
    (MessageItem | ReasoningItem | CallItem | SearchItem)['type']
  >;
  readonly id: string;
  /** The members beside `id`, `type` and `status`. */
  readonly members: JsonObject;
}

/** A search of the web that the upstream makes. */
export interface SearchItem {
  readonly type: 'web_search_call';
  readonly id: string;
  readonly query: string;
  /** `failed` until the result of the search has arrived. */
  outcome: SearchOutcome;
}

/** The id of an item: the same in a stream and in a plain response. */
export function itemId(
  type: OutputItem['type'],
  messageId: string | undefined,
  index: number,
): string {
  return `${ITEM_PREFIXES[type]}_${bareId(messageId)}_${index}`;
}

/** The id of the response that a native message becomes. */
export function responseId(messageId: string | undefined): string {
  return `resp_${bareId(messageId)}`;
}

/** The id of the response with an item; undefined if no response has an item with this id. */
export function responseIdOfItem(id: string): string | undefined {
  const bare = /^[a-z]+_(.+)_\d+$/.exec(id)?.[1];
  return bare && `resp_${bare}`;
}

function bareId(messageId = 'unknown'): string {
  return messageId.replace(/^msg_/, '');
}

interface ItemPlace {
  readonly messageId: string | undefined;
  readonly index: number;
}

/** The type of the called tool, if the client runs it itself and it has an item of its own. */
export function localType(
  called: CalledTool,
  tools: ReadonlyMap<string, CalledAs>,
): LocalToolType | undefined {
  const { type } = calledAs(called, tools);
  return isLocalType(type) ? type : undefined;
}

/** @param json - The input of the call, as the model wrote it. */
export function localCallItem(
  tool: LocalToolType,
  called: CalledTool,
  json: string,
  { messageId, index }: ItemPlace,
): WholeItem {
  const type = `${tool}_call` as const;
  const id = itemId(type, messageId, index);
  return { type, id, members: { call_id: called.id, ...callMembers(tool, json) } };
}

/** The item that a call becomes, still without its arguments. */
export function callItem(
  called: CalledTool,
  tools: ReadonlyMap<string, CalledAs>,
  place: ItemPlace,
): CallItem {
  const as = calledAs(called, tools);
  const type = as.type === 'custom' ? 'custom_tool_call' : 'function_call';
  const id = itemId(type, place.messageId, place.index);
  return { type, id, callId: called.id, calledAs: as, text: '' };
}

/** The item as a response has it. The result does not change when the item does. */
export function itemObject(item: OutputItem, status: ItemStatus): ResponseItem {
  const { id, type } = item;
  switch (type) {
    case 'message': {
      const content = item.parts.map(partObject);
      return { id, type, status, role: 'assistant', content };
    }
    case 'reasoning': {
      const summary = item.summary === undefined ? [] : [summaryPart(item.summary)];
      return { id, type, summary, encrypted_content: sealedText(item.sealed) };
    }
    case 'function_call':
      return { id, type, status, ...calledMembers(item), arguments: item.text };
    case 'custom_tool_call':
      return { id, type, status, ...calledMembers(item), input: item.text };
    case 'web_search_call': {
      const reached = status === 'in_progress' ? status : item.outcome;
      const { query } = item;
      const action = { type: 'search' as const, query, queries: [query] };
      return { id, type, status: reached, action };
    }
    default:
      // Whoever makes the item gives the members that its type has.
      return { id, type, status, ...item.members } as ResponseItem;
  }
}

function calledMembers({ callId, calledAs: { name, namespace } }: CallItem) {
  return { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
}

export function searchItem(query: string, place: ItemPlace): SearchItem {
  const id = itemId('web_search_call', place.messageId, place.index);
  return { type: 'web_search_call', id, query, outcome: 'failed' };
}

/** The pages that a native text block cites. Each citation covers the whole block. */
export function urlCitations(citations: readonly JsonObject[], text: string): UrlCitation[] {
  return annotationsOf(citations, 0, text.length).map(({ type, url_citation: cited }) => ({
    type,
    ...cited,
  }));
}

export function partObject({ type, text, annotations = [], citations }: Part): ResponsePart {
  if (type === 'refusal') return { type, refusal: text };
  const cited = citations && { citations };
  return { type, annotations, logprobs: [], text, ...cited };
}

export function summaryPart(text: string): SummaryPart {
  return { type: 'summary_text', text };
}

/**
 * The JSON text of native blocks. The client has to send it back, so that the model can continue
 * its thinking. Thinking without a signature was cut off, and the upstream would refuse it.
 */
function sealedText(block: ReasoningItem['sealed']): string | null {
  if (!block || (block.type === 'thinking' && block.signature === '')) return null;
  return JSON.stringify(block);
}

/**
 * The part that the translation adds at the end of a response, if one is needed. A refused message
 * gets its refusal. A complete message without text and calls gets an empty text, because agents
 * would otherwise ask again.
 */
export function closingPart(
  items: readonly OutputItem[],
  {
    stopReason,
    stopDetails,
  }: { readonly stopReason: string | undefined; readonly stopDetails: unknown },
): Part | undefined {
  if (stopReason === 'refusal') return { type: 'refusal', text: refusalOf(stopDetails) };
  const isEmpty = items.every(({ type }) => type === 'reasoning' || type === 'web_search_call');
  return isEmpty && !incompleteReason(stopReason) ? { type: 'output_text', text: '' } : undefined;
}
