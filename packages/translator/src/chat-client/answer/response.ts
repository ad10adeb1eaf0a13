/**
 * Translates a native message to a chat completion.
 *
 * https://platform.claude.com/docs/en/api/messages (SDK: `Message`, `ContentBlock`)
 */

import { decodeStrictly } from '../../wire/bytes.js';
import { listed } from '../../wire/lists.js';
import { type JsonObject, objectOf, parseObject, stringOf } from '../../wire/raw-json.js';
import { chatUsage, readUsage, type UsageReading } from '../../wire/usage.js';
import type { ResponseContext } from '../response-context.js';
import { finishReason } from './finish-reason.js';
import { inputTexts } from './input-texts.js';

export interface TranslateResponseContext extends ResponseContext {
  /** The `created` time of the completion, in seconds since the epoch. */
  readonly created: number;
  /**
   * Adds `message.thinking_blocks`: thinking with its signatures. A client that sends them back
   * unchanged keeps the model's reasoning in tool loops. If absent, thinking is left out.
   */
  readonly reasoning?: 'thinking_blocks';
}

export type ResponseTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the chat completion. */
      readonly body: string;
      readonly usage: UsageReading;
      readonly messageId: string | undefined;
      readonly stopReason: string | undefined;
    }
  | { readonly outcome: 'malformed'; readonly reason: string };

/**
 * Translates the body of a successful response.
 *
 * The arguments of tool calls have the digits and the order of the native `input`. Thinking, server
 * tools and blocks of unknown type are left out. An unknown stop reason counts as `stop`. The
 * content is null if there are calls and no text; otherwise it is a string.
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
  const calls = callsOf(blocks, json);
  const hasCalls = calls.length > 0;
  const { created, model, legacyFunctions, reasoning } = context;
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
          content: textOf(blocks) || (hasCalls ? null : ''),
          refusal: stopReason === 'refusal' ? refusalOf(details) : null,
          thinking_blocks: reasoning && listed(blocks.filter(isThinking)),
          ...(legacyFunctions
            ? { function_call: calls[0]?.function }
            : { tool_calls: listed(calls) }),
        },
        logprobs: null,
        finish_reason: finishReason(stopReason, { hasCalls, legacyFunctions }),
      },
    ],
    usage: usage.outcome === 'read' ? chatUsage(usage.usage) : undefined,
  };
  return { outcome: 'translated', body: JSON.stringify(completion), usage, messageId, stopReason };
}

export function completionId(messageId: string | undefined): string {
  return `chatcmpl-${messageId ?? 'unknown'}`;
}

/** The `message.refusal` of a refused message. The upstream may give no explanation. */
export function refusalOf(stopDetails: unknown): string {
  return stringOf(objectOf(stopDetails)['explanation']) || 'The model declined to answer.';
}

export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

function callsOf(blocks: readonly JsonObject[], json: string): ChatToolCall[] {
  let inputs: ReadonlyMap<unknown, string> | undefined;
  return blocks.flatMap(({ type, id, name }, index) => {
    if (type !== 'tool_use') return [];
    inputs ??= inputTexts(json);
    const input = inputs.get(index) ?? 'null';
    const called = { name: String(name), arguments: input === 'null' ? '{}' : input };
    return { id: String(id), type: 'function', function: called };
  });
}

function textOf(blocks: readonly JsonObject[]): string {
  return blocks.map(({ type, text }) => (type === 'text' ? stringOf(text) : '')).join('');
}

export function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}
