/**
 * Translates a native message to a response.
 *
 * https://platform.claude.com/docs/en/api/messages (SDK: `Message`, `ContentBlock`)
 * https://platform.openai.com/docs/api-reference/responses/object
 */

import { argumentsOf, calledTool, customInput } from '../../chat-client/answer/called-tool.js';
import { inputTexts } from '../../chat-client/answer/input-texts.js';
import type { ResponseTranslation } from '../../chat-client/answer/response.js';
import { thinkingBlock } from '../../chat-client/answer/thinking.js';
import { decodeStrictly } from '../../wire/bytes.js';
import { emptyRefusalOfMessage } from '../../wire/message-state.js';
import { type JsonObject, objectOf, parseObject, stringOf } from '../../wire/raw-json.js';
import { readUsage } from '../../wire/usage.js';
import { incompleteReason } from './incomplete-reason.js';
import {
  callItem,
  closingPart,
  escaped,
  isSearchBlock,
  itemId,
  itemText,
  localCallItem,
  localType,
  type OutputItem,
  type Part,
  type SearchItem,
  searchItem,
  searchOutcome,
  urlCitations,
} from './output-items.js';
import { responseText, type TranslateMessageContext } from './response-text.js';

/**
 * Translates the body of a successful response of the upstream. The result is the response with
 * which the stream of the same message would end.
 *
 * Each content block becomes an output item, but consecutive text blocks become one message.
 * Arguments of calls have the digits and the order of the native `input`. Web searches become items
 * if the request offered them. Other server tools and blocks of unknown type are left out. A
 * message that was cut off or refused is `incomplete`. A body is `malformed` if it is not a
 * message, or if a call's id or name is missing, empty or not a string.
 */
export function translateMessage(
  nativeBody: string | Uint8Array,
  context: TranslateMessageContext,
): ResponseTranslation {
  const json = typeof nativeBody === 'string' ? nativeBody : (decodeStrictly(nativeBody) ?? '');
  const message = objectOf(parseObject(json));
  const {
    content,
    id,
    usage: nativeUsage,
    stop_reason: reason,
    stop_details: stopDetails,
  } = message;
  if (!Array.isArray(content)) return { outcome: 'malformed', reason: 'the body is not a message' };
  const stopReason = stringOf(reason) || undefined;
  const messageId = stringOf(id) || undefined;
  const items = outputItems(content.map(objectOf), { json, messageId, context });
  if (!items) return { outcome: 'malformed', reason: 'a call has no id or no name' };

  const usage = readUsage(nativeUsage);
  const why = incompleteReason(stopReason);
  // The client would run a part of a call that was cut off.
  if (why && 'members' in (items.at(-1) ?? {})) items.pop();
  const last = items.length - 1;
  const output = items.map((item, index) =>
    itemText(item, why && index === last ? 'incomplete' : 'completed'),
  );
  const closing = closingPart(items, { stopReason, stopDetails });
  if (closing) {
    const closingId = itemId('message', messageId, items.length);
    output.push(itemText({ type: 'message', id: closingId, parts: [closing] }, 'completed'));
  }
  const body = responseText(context, {
    status: why ? 'incomplete' : 'completed',
    messageId,
    output,
    incompleteReason: why,
    usage: usage.outcome === 'read' ? usage.usage : undefined,
    serviceTier: objectOf(nativeUsage)['service_tier'],
  });
  const emptyRefusal = emptyRefusalOfMessage(message);
  return { outcome: 'translated', body, usage, messageId, stopReason, emptyRefusal };
}

interface Source {
  readonly json: string;
  readonly messageId: string | undefined;
  readonly context: TranslateMessageContext;
}

/** Undefined when a call cannot be read. */
function outputItems(
  blocks: readonly JsonObject[],
  { json, messageId, context }: Source,
): OutputItem[] | undefined {
  const items: OutputItem[] = [];
  /** The searches by their native ids. */
  const searches = new Map<unknown, SearchItem>();
  let inputs: ReadonlyMap<string, string> | undefined;
  for (const [at, block] of blocks.entries()) {
    const index = items.length;
    if (block['type'] === 'text') {
      const text = escaped(stringOf(block['text']));
      const annotations = context.showsSearches
        ? urlCitations(block['citations'], text)
        : undefined;
      addText(
        items,
        { type: 'output_text', text, annotations },
        itemId('message', messageId, index),
      );
    } else if (block['type'] === 'tool_use') {
      const called = calledTool(block);
      if (!called) return undefined;
      inputs ??= inputTexts(json);
      const tool = localType(called, context.tools);
      if (tool) {
        const written = argumentsOf(inputs.get(`content/${at}`));
        items.push(localCallItem(tool, called, written, { messageId, index }));
        continue;
      }
      const item = callItem(called, context.tools, { messageId, index });
      const input = argumentsOf(inputs.get(`content/${at}`), item.calledAs.members);
      item.text = escaped(item.type === 'custom_tool_call' ? customInput(input) : input);
      items.push(item);
    } else if (context.showsSearches && isSearchBlock(block)) {
      const item = searchItem(block['input'], { messageId, index });
      searches.set(block['id'], item);
      items.push(item);
    } else if (block['type'] === 'web_search_tool_result') {
      const search = searches.get(block['tool_use_id']);
      if (search) search.outcome = searchOutcome(block);
    } else {
      const sealed = thinkingBlock(block, at === 0 ? context.additions : undefined);
      if (!sealed) continue;
      const thought = sealed.type === 'thinking' && context.showsSummaries ? sealed.thinking : '';
      const summary = thought === '' ? undefined : escaped(thought);
      items.push({ type: 'reasoning', id: itemId('reasoning', messageId, index), summary, sealed });
    }
  }
  return items;
}

function addText(items: OutputItem[], part: Part, id: string): void {
  if (part.text === '') return;
  const last = items.at(-1);
  if (last?.type === 'message') last.parts.push(part);
  else items.push({ type: 'message', id, parts: [part] });
}
