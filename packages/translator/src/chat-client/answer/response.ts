/**
 * Translates a native message to a chat completion.
 *
 * https://platform.claude.com/docs/en/api/messages (SDK: `Message`, `ContentBlock`)
 */

import { decodeStrictly } from '../../wire/bytes.js';
import { append, listed } from '../../wire/lists.js';
import { emptyRefusalOfMessage } from '../../wire/message-state.js';
import { type JsonObject, objectOf, parseObject, stringOf } from '../../wire/raw-json.js';
import { chatUsage, readUsage, type UsageReading } from '../../wire/usage.js';
import type { ResponseContext } from '../response-context.js';
import { annotationsOf, type ChatAnnotation } from './annotations.js';
import { argumentsOf, calledAs, calledTool, customInput } from './called-tool.js';
import { finishReason } from './finish-reason.js';
import { inputTexts } from './input-texts.js';
import { chatServiceTier } from './service-tier.js';
import { type ThinkingBlock, thinkingBlock } from './thinking.js';

export interface TranslateResponseContext extends ResponseContext {
  /** The `created` time of the completion, in seconds since the epoch. */
  readonly created: number;
  /**
   * Called once, at the end of a complete answer that has thinking and calls, if thinking is
   * returned: with the id of the first call, and the blocks as in `thinking_blocks`. A caller that
   * keeps them can give them to `translateRequest` as `keptThinking`.
   */
  readonly onThinking?: ((callId: string, blocks: readonly object[]) => void) | undefined;
}

export type ResponseTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the chat completion. */
      readonly body: string;
      readonly usage: UsageReading;
      readonly messageId: string | undefined;
      readonly stopReason: string | undefined;
      /** See {@link MessageEnd}. */
      readonly emptyRefusal?: string | undefined;
    }
  | { readonly outcome: 'malformed'; readonly reason: string };

/**
 * Translates the body of a successful response.
 *
 * The arguments of tool calls have the digits and the order of the native `input`. Server tools and
 * blocks of unknown type are left out, and so is thinking unless the context asks for it. An
 * unknown stop reason counts as `stop`, or as calls if there are calls. The content is null if
 * there are calls and no text; otherwise it is a string.
 *
 * A body is `malformed` if it is not a message, or if a call's id or name is missing, empty or not
 * a string.
 */
export function translateResponse(
  nativeBody: string | Uint8Array,
  context: TranslateResponseContext,
): ResponseTranslation {
  const json = typeof nativeBody === 'string' ? nativeBody : (decodeStrictly(nativeBody) ?? '');
  const message = objectOf(parseObject(json));
  const { content, id, usage: nativeUsage, stop_reason: reason, stop_details: details } = message;
  if (!Array.isArray(content)) return { outcome: 'malformed', reason: 'the body is not a message' };

  const usage = readUsage(nativeUsage);
  const stopReason = stringOf(reason) || undefined;
  const messageId = stringOf(id) || undefined;
  const blocks = content.map(objectOf);
  const calls = callsOf(blocks, json, context);
  if (!calls) return { outcome: 'malformed', reason: 'a call has no id or no name' };
  const hasCalls = calls.length > 0;
  const { created, model, legacyFunctions, reasoning, additions } = context;
  const thinking = reasoning
    ? blocks.flatMap((block, at) => thinkingBlock(block, at === 0 ? additions : undefined) ?? [])
    : [];
  if (thinking[0] && calls[0]) context.onThinking?.(calls[0].id, thinking);
  const { text, annotations } = textOf(blocks);
  const completion = {
    id: completionId(messageId),
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text || (hasCalls ? null : ''),
          refusal: stopReason === 'refusal' ? refusalOf(details) : null,
          reasoning_content:
            (reasoning === 'reasoning_content' && thoughtsOf(thinking)) || undefined,
          thinking_blocks: listed(thinking),
          annotations: context.annotations ? listed(annotations) : undefined,
          ...(legacyFunctions
            ? { function_call: firstFunction(calls) }
            : { tool_calls: listed(calls) }),
        },
        logprobs: null,
        finish_reason: finishReason(stopReason, { hasCalls, legacyFunctions }),
      },
    ],
    service_tier: chatServiceTier(objectOf(nativeUsage)['service_tier']),
    usage: usage.outcome === 'read' ? chatUsage(usage.usage) : undefined,
  };
  const body = JSON.stringify(completion);
  const emptyRefusal = emptyRefusalOfMessage(message);
  return { outcome: 'translated', body, usage, messageId, stopReason, emptyRefusal };
}

export function completionId(messageId: string | undefined): string {
  return `chatcmpl-${messageId ?? 'unknown'}`;
}

/** The `message.refusal` of a refused message. The upstream may give no explanation. */
export function refusalOf(stopDetails: unknown): string {
  return stringOf(objectOf(stopDetails)['explanation']) || 'The model declined to answer.';
}

export type ChatToolCall =
  | { id: string; type: 'function'; function: { name: string; arguments: string } }
  | { id: string; type: 'custom'; custom: { name: string; input: string } };

/**
 * Undefined if a call's id or name is missing, empty or not a string: no client could answer such a
 * call.
 */
function callsOf(
  blocks: readonly JsonObject[],
  json: string,
  { tools }: ResponseContext,
): ChatToolCall[] | undefined {
  let inputs: ReadonlyMap<string, string> | undefined;
  const calls: ChatToolCall[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block['type'] !== 'tool_use') continue;
    const called = calledTool(block);
    if (!called) return undefined;
    inputs ??= inputTexts(json);
    const { id } = called;
    const { type, name, members } = calledAs(called, tools);
    const text = argumentsOf(inputs.get(`content/${index}`), members);
    calls.push(
      type === 'custom'
        ? { id, type, custom: { name, input: customInput(text) } }
        : { id, type: 'function', function: { name, arguments: text } },
    );
  }
  return calls;
}

function firstFunction([call]: readonly ChatToolCall[]) {
  return call?.type === 'function' ? call.function : undefined;
}

function textOf(blocks: readonly JsonObject[]): { text: string; annotations: ChatAnnotation[] } {
  let text = '';
  const annotations: ChatAnnotation[] = [];
  for (const block of blocks) {
    if (block['type'] !== 'text') continue;
    const start = text.length;
    text += stringOf(block['text']);
    append(annotations, annotationsOf(block['citations'], start, text.length));
  }
  return { text, annotations };
}

function thoughtsOf(blocks: readonly ThinkingBlock[]): string {
  return blocks.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
}
