/**
 * Writes the JSON text of a response's output items. Texts are kept as the content of JSON strings,
 * without the quotes, so that the text of a stream is escaped once, or not at all if the upstream's
 * bytes are used unchanged.
 *
 * https://platform.openai.com/docs/api-reference/responses/object
 */

import { annotationsOf } from '../../chat-client/answer/annotations.js';
import { calledAs, type CalledTool } from '../../chat-client/answer/called-tool.js';
import { refusalOf } from '../../chat-client/answer/response.js';
import type { ThinkingBlock } from '../../chat-client/answer/thinking.js';
import type { CalledAs } from '../../wire/called-as.js';
import { callMembers, isLocalType, type LocalToolType } from '../../wire/local-tools.js';
import { type JsonObject, objectOf, parseJson, stringOf } from '../../wire/raw-json.js';

import { incompleteReason } from './incomplete-reason.js';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type OutputItem = MessageItem | ReasoningItem | CallItem | LocalCallItem | SearchItem;

export interface MessageItem {
  readonly type: 'message';
  readonly id: string;
  readonly parts: Part[];
}

export interface Part {
  readonly type: 'output_text' | 'refusal';
  /** The content of a JSON string. */
  text: string;
  /** The pages that the text cites. */
  annotations?: readonly UrlCitation[] | undefined;
}

/** A page that a part of a message cites. The indexes count UTF-16 code units of its text. */
export interface UrlCitation {
  readonly type: 'url_citation';
  readonly start_index: number;
  readonly end_index: number;
  readonly title: string;
  readonly url: string;
}

export interface ReasoningItem {
  readonly type: 'reasoning';
  readonly id: string;
  /** The content of a JSON string; undefined when there is no summary. */
  summary: string | undefined;
  /** Undefined while the block is open. */
  sealed: ThinkingBlock | undefined;
}

export interface CallItem {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly id: string;
  readonly callId: string;
  readonly calledAs: CalledAs;
  /** The arguments, or the input of a custom tool, as the content of a JSON string. */
  text: string;
}

/** A call of a tool that the client runs itself and that has an item of its own. */
export interface LocalCallItem {
  readonly type: `${LocalToolType}_call`;
  readonly id: string;
  readonly callId: string;
  /** The members that have the input. */
  readonly members: JsonObject;
}

/** A search of the web that the upstream makes. */
export interface SearchItem {
  readonly type: 'web_search_call';
  readonly id: string;
  readonly query: string;
  /** `failed` until the result of the search has arrived. */
  outcome: 'completed' | 'failed';
}

/** The content of the JSON string of a text. */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The prefixes that OpenAI's ids have. Some clients check them. */
const PREFIXES = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  shell_call: 'sh',
  local_shell_call: 'lsh',
  apply_patch_call: 'apc',
  tool_search_call: 'tsc',
  web_search_call: 'ws',
} as const;

/** The id of an item: the same in a stream and in a plain response. */
export function itemId(
  type: OutputItem['type'],
  messageId: string | undefined,
  index: number,
): string {
  return `${PREFIXES[type]}_${bareId(messageId)}_${index}`;
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
): LocalCallItem {
  const type = `${tool}_call` as const;
  const id = itemId(type, messageId, index);
  return { type, id, callId: called.id, members: callMembers(tool, json) };
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

export function itemText(item: OutputItem, status: ItemStatus): string {
  const head = `{"id":${JSON.stringify(item.id)},"type":"${item.type}"`;
  switch (item.type) {
    case 'message':
      return `${head},"status":"${status}","role":"assistant","content":[${item.parts.map(partText).join(',')}]}`;
    case 'reasoning': {
      const summary = item.summary === undefined ? '' : summaryText(item.summary);
      const sealed = JSON.stringify(sealedThinking(item.sealed));
      return `${head},"summary":[${summary}],"encrypted_content":${sealed}}`;
    }
    case 'function_call':
    case 'custom_tool_call': {
      const { name, namespace } = item.calledAs;
      const called = JSON.stringify({ call_id: item.callId, name, namespace }).slice(1, -1);
      const member = textMember(item);
      return `${head},"status":"${status}",${called},"${member}":"${item.text}"}`;
    }
    case 'web_search_call': {
      const reached = status === 'in_progress' ? status : item.outcome;
      const action = JSON.stringify({ type: 'search', query: item.query, queries: [item.query] });
      return `${head},"status":"${reached}","action":${action}}`;
    }
    default: {
      const called = JSON.stringify({ call_id: item.callId, ...item.members });
      return `${head},"status":"${status}",${called.slice(1)}`;
    }
  }
}

/** The member of a call that has its text. */
export function textMember({ type }: CallItem): 'arguments' | 'input' {
  return type === 'custom_tool_call' ? 'input' : 'arguments';
}

/** @param input - The input of the search, as the model wrote it. */
export function searchItem(input: unknown, place: ItemPlace): SearchItem {
  const id = itemId('web_search_call', place.messageId, place.index);
  const query = stringOf(objectOf(input)['query']);
  return { type: 'web_search_call', id, query, outcome: 'failed' };
}

/** Whether a native block is a search of the web. */
export function isSearchBlock({ type, name }: JsonObject): boolean {
  return type === 'server_tool_use' && name === 'web_search';
}

/** The outcome of a search, from the block with its result. */
export function searchOutcome({ content }: JsonObject): SearchItem['outcome'] {
  return Array.isArray(content) ? 'completed' : 'failed';
}

/** The pages that a native text block cites. Each citation covers the whole block. */
export function urlCitations(citations: unknown, text: string): UrlCitation[] | undefined {
  if (!Array.isArray(citations) || citations.length === 0) return undefined;
  const { length } = stringOf(parseJson(`"${text}"`));
  return annotationsOf(citations, 0, length).map(({ type, url_citation: cited }) => ({
    type,
    ...cited,
  }));
}

export function partText({ type, text, annotations = [] }: Part): string {
  return type === 'refusal'
    ? `{"type":"refusal","refusal":"${text}"}`
    : `{"type":"output_text","annotations":${JSON.stringify(annotations)},"logprobs":[],"text":"${text}"}`;
}

export function summaryText(text: string): string {
  return `{"type":"summary_text","text":"${text}"}`;
}

/**
 * The JSON text of a native thinking block. The client has to send it back, so that the model can
 * continue its thinking. A block without a signature was cut off, and the upstream would refuse it.
 */
function sealedThinking(block: ThinkingBlock | undefined): string | null {
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
  if (stopReason === 'refusal') return { type: 'refusal', text: escaped(refusalOf(stopDetails)) };
  const isEmpty = items.every(({ type }) => type === 'reasoning' || type === 'web_search_call');
  return isEmpty && !incompleteReason(stopReason) ? { type: 'output_text', text: '' } : undefined;
}
