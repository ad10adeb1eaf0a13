/**
 * A native message, to a chat completion.
 *
 * https://platform.claude.com/docs/en/api/messages (SDK: `Message`, `ContentBlock`)
 */

import { decodeUtf8, encodeUtf8 } from './bytes.js';
import { finishReason, refusalText } from './finish-reason.js';
import { scanTopLevel, type JsonShape } from './json-members.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import type { ResponseContext } from './response-context.js';
import { chatUsage, readUsage, type UsageReading } from './usage.js';

export interface TranslateResponseContext extends ResponseContext {
  /** When the completion is said to be made, in seconds since the epoch. */
  readonly created: number;
  /**
   * Adds `message.thinking_blocks`: thinking with its signatures, to be sent back unchanged with the
   * message, so that tool loops keep their reasoning. Absent: thinking is left out.
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
 * The arguments of tool calls are the very digits and order of the native `input`. Thinking, server
 * tools and blocks of unknown type are left out; an unknown stop reason counts as `stop`. Without
 * calls the content is a string, with calls and no text it is null.
 */
export function translateResponse(
  nativeBody: string | Uint8Array,
  context: TranslateResponseContext,
): ResponseTranslation {
  const bytes = typeof nativeBody === 'string' ? encodeUtf8(nativeBody) : nativeBody;
  const inputs = new Map<number, string>();
  const scan = scanTopLevel(bytes, { shape: inputShape(bytes, inputs) });
  if (scan.outcome === 'refused') return { outcome: 'malformed', reason: scan.message };
  const message = JSON.parse(decodeUtf8(bytes)) as JsonObject;
  const { content, id, usage: nativeUsage } = message;
  if (!Array.isArray(content)) return { outcome: 'malformed', reason: 'content is no array' };

  const usage = readUsage(nativeUsage);
  const stopReason =
    typeof message['stop_reason'] === 'string' ? message['stop_reason'] : undefined;
  const messageId = typeof id === 'string' ? id : undefined;
  const blocks = content.map((block: unknown) => (isJsonObject(block) ? block : {}));
  const calls = blocks.flatMap((block, index) =>
    block['type'] === 'tool_use' ? [callOf(block, inputs.get(index))] : [],
  );
  const hasCalls = calls.length > 0;
  const completion = {
    id: completionId(messageId),
    object: 'chat.completion',
    created: context.created,
    model: context.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: textOf(blocks, hasCalls),
          refusal: stopReason === 'refusal' ? refusalOf(message['stop_details']) : null,
          ...thinkingMembers(blocks, context),
          ...callMembers(calls, context),
        },
        logprobs: null,
        finish_reason: finishReason(stopReason, {
          hasCalls,
          legacyFunctions: context.legacyFunctions,
        }),
      },
    ],
    ...(usage.outcome === 'read' ? { usage: chatUsage(usage.usage) } : {}),
  };
  return { outcome: 'translated', body: JSON.stringify(completion), usage, messageId, stopReason };
}

export function completionId(messageId: string | undefined): string {
  return `chatcmpl-${messageId ?? 'unknown'}`;
}

export function refusalOf(stopDetails: unknown): string {
  return refusalText(isJsonObject(stopDetails) ? stopDetails['explanation'] : undefined);
}

export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Remembers the raw text of each block's `input`, by the block's index. */
function inputShape(bytes: Uint8Array, inputs: Map<number, string>): JsonShape {
  const input: JsonShape = {
    onValue({ start, end }, path) {
      const [, index] = path;
      if (typeof index === 'number') inputs.set(index, decodeUtf8(bytes.subarray(start, end)));
    },
  };
  const block: JsonShape = { member: (name) => (name === 'input' ? input : undefined) };
  return { member: (name) => (name === 'content' ? { item: block } : undefined) };
}

function callOf(block: JsonObject, rawInput: string | undefined): ChatToolCall {
  return {
    id: String(block['id']),
    type: 'function',
    function: {
      name: String(block['name']),
      arguments: rawInput === undefined || rawInput === 'null' ? '{}' : rawInput,
    },
  };
}

function callMembers(calls: readonly ChatToolCall[], { legacyFunctions }: ResponseContext) {
  const [first] = calls;
  if (first === undefined) return {};
  return legacyFunctions ? { function_call: first.function } : { tool_calls: calls };
}

function textOf(blocks: readonly JsonObject[], hasCalls: boolean): string | null {
  const texts = blocks.filter((block) => block['type'] === 'text');
  const text = texts
    .map((block) => (typeof block['text'] === 'string' ? block['text'] : ''))
    .join('');
  return text === '' && hasCalls ? null : text;
}

function thinkingMembers(blocks: readonly JsonObject[], { reasoning }: TranslateResponseContext) {
  const thinking = blocks.filter(isThinking);
  return reasoning === undefined || thinking.length === 0 ? {} : { thinking_blocks: thinking };
}

export function isThinking(block: JsonObject): boolean {
  return block['type'] === 'thinking' || block['type'] === 'redacted_thinking';
}
