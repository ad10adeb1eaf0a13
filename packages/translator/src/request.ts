/**
 * A chat completions request, to a native Messages request.
 *
 * The native body is built from what is known, never by copying and deleting: upstream refuses
 * members it does not know. What cannot be carried is told in notes; what would change the meaning
 * if left out is refused.
 *
 * https://platform.claude.com/docs/en/api/messages
 */

import { fromCacheControl, refuseExcessCachePoints } from './cache-control.js';
import { translateMessages } from './messages.js';
import { writeNativeRequest, type NativeRequest, type TextBlock } from './native-request.js';
import type { Note, RequestProblem } from './note.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import { translateReasoning } from './reasoning.js';
import { noteIgnoredFields } from './request-fields.js';
import type { ResponseContext } from './response-context.js';
import { translateSampling } from './sampling.js';
import { translateTools } from './tools.js';
import type { ModelTraits } from './traits.js';
import {
  createTranslation,
  noteUnknownMembers,
  quote,
  readArray,
  readBoolean,
  readObject,
  readString,
  refuse,
  refuseType,
  RefusedRequestError,
  type Translation,
} from './translation.js';

export interface TranslateRequestOptions {
  /** The upstream id of the model, sent instead of the client's own. */
  readonly model: string;
  readonly traits: ModelTraits;
  /** The most tokens the model can generate: sent when no limit is given, and never exceeded. */
  readonly maxOutputTokens: number;
  /**
   * Makes the opaque `metadata.user_id` of the client's `safety_identifier` or `user`, which often
   * are e-mail addresses: return a keyed hash. Without it they are ignored.
   */
  readonly endUserId?: (value: string) => string;
}

export type RequestTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the native request. */
      readonly body: string;
      readonly stream: boolean;
      /** What the translation of the answer has to know. */
      readonly response: ResponseContext;
      /**
       * What was ignored, dropped, capped or rewritten: 100 at most, and one that counts the rest.
       */
      readonly notes: readonly Note[];
    }
  | {
      /** The client's error, status 400: nothing may be sent upstream. */
      readonly outcome: 'refused';
      readonly problem: RequestProblem;
    };

/**
 * Translates the body of a chat completions request, given as `JSON.parse` returns it.
 *
 * Never throws on what a client may send, never changes its input, and opens no URL. Members that
 * are unknown, or known to have no equivalent, are ignored whatever their type; members that are
 * translated are refused when their type is wrong. Numbers are as exact as the given values; in the
 * arguments of past calls, which are text, every digit is kept.
 *
 * @example
 * const chat = { model: 'my-model', messages: [{ role: 'user', content: 'Hi' }] };
 * const result = translateRequest(chat, {
 *   model: 'claude-opus-4-6',
 *   maxOutputTokens: 128_000,
 *   traits: { sampling: 'accepted', forcedToolChoice: 'accepted', effort: [], thinkingOff: 'omit' },
 * });
 * if (result.outcome === 'translated') console.log(result.body);
 */
export function translateRequest(
  chat: unknown,
  options: TranslateRequestOptions,
): RequestTranslation {
  try {
    return translate(chat, options);
  } catch (error) {
    if (error instanceof RefusedRequestError) return { outcome: 'refused', problem: error.problem };
    throw error;
  }
}

const JSON_OBJECT_INSTRUCTION =
  'Whenever you reply with text, the whole text must be one valid JSON object: ' +
  'no Markdown code fence, nothing before it, nothing after it.';

function translate(chat: unknown, options: TranslateRequestOptions): RequestTranslation {
  if (!isJsonObject(chat)) {
    const message = `The body must be a JSON object, got ${quote(chat)}.`;
    throw new RefusedRequestError({ message, param: null, code: 'invalid_type' });
  }
  const t = createTranslation();
  const { traits } = options;
  const model = readModel(chat);
  const maxTokens = readMaxTokens(t, chat, options.maxOutputTokens);
  const stream = readStream(chat);
  const includeUsage = readIncludeUsage(t, chat, stream);
  const conversation = translateMessages(t, chat['messages']);
  const toolUse = translateTools(t, chat, traits, conversation.calledTools);
  // After the client's own blocks, so that a prefix the client caches stays what it was.
  const system = [
    ...conversation.system,
    ...instruction(toolUse.instruction),
    ...instruction(wantsJsonObject(t, chat) ? JSON_OBJECT_INSTRUCTION : undefined),
  ];
  const stopSequences = readStop(t, chat);
  const userId = readEndUser(t, chat, options.endUserId);
  const cacheControl = chat['cache_control'];
  noteIgnoredFields(t, chat);

  const request: NativeRequest = {
    model: options.model,
    max_tokens: maxTokens,
    ...(toolUse.tools.length > 0 ? { tools: toolUse.tools } : {}),
    ...(system.length > 0 ? { system } : {}),
    messages: conversation.messages,
    ...(toolUse.toolChoice ? { tool_choice: toolUse.toolChoice } : {}),
    ...(stopSequences.length > 0 ? { stop_sequences: stopSequences } : {}),
    ...translateSampling(t, chat, traits),
    ...translateReasoning(t, chat['reasoning_effort'], traits),
    ...(userId === undefined ? {} : { metadata: { user_id: userId } }),
    ...(cacheControl == null
      ? {}
      : { cache_control: fromCacheControl(t, cacheControl, 'cache_control') }),
    ...(stream ? { stream } : {}),
  };
  refuseExcessCachePoints(t, request);
  return {
    outcome: 'translated',
    body: writeNativeRequest(request),
    stream,
    response: { model, includeUsage, legacyFunctions: toolUse.isLegacy },
    notes: t.notes.finish(),
  };
}

function readModel(chat: JsonObject): string {
  const { model } = chat;
  if (typeof model === 'string' && model !== '') return model;
  return refuseType('model', 'a non-empty string', model);
}

function readMaxTokens(t: Translation, chat: JsonObject, maxOutputTokens: number): number {
  const { max_completion_tokens: newer, max_tokens: older } = chat;
  const field = newer == null ? 'max_tokens' : 'max_completion_tokens';
  const value = newer ?? older;
  if (value == null) return maxOutputTokens;
  if (typeof value !== 'number' || !Number.isInteger(value) || value <= 0) {
    const code = typeof value === 'number' ? 'invalid_value' : 'invalid_type';
    refuse(field, code, `must be an integer above 0, got ${quote(value)}`);
  }
  if (newer != null && older != null && older !== newer) {
    t.notes.take('max_tokens', 'ignored', 'max_completion_tokens is used');
  }
  if (value <= maxOutputTokens) return value;
  t.notes.take(field, 'capped', `sent as ${String(maxOutputTokens)}, the model's maximum`);
  return maxOutputTokens;
}

function readStream(chat: JsonObject): boolean {
  return readBoolean(chat['stream'] ?? false, 'stream');
}

const STREAM_OPTIONS = new Set(['include_usage', 'include_obfuscation']);

function readIncludeUsage(t: Translation, chat: JsonObject, stream: boolean): boolean {
  const options = chat['stream_options'];
  if (options == null) return false;
  if (!stream) {
    t.notes.take('stream_options', 'ignored', 'the answer is not streamed');
    return false;
  }
  const written = readObject(options, 'stream_options');
  noteUnknownMembers(t, written, STREAM_OPTIONS, 'stream_options');
  if (written['include_obfuscation'] === true) {
    t.notes.take('stream_options.include_obfuscation', 'ignored', 'chunks are not padded');
  }
  return readBoolean(written['include_usage'] ?? false, 'stream_options.include_usage');
}

function wantsJsonObject(t: Translation, chat: JsonObject): boolean {
  const format = chat['response_format'];
  const type = isJsonObject(format) ? format['type'] : format;
  if (type === 'json_object' && format !== type) return true;
  if (type != null && !(isJsonObject(format) && type === 'text')) {
    t.notes.take('response_format', 'ignored', `no equivalent of ${quote(type)}`);
  }
  return false;
}

function instruction(text: string | undefined): TextBlock[] {
  return text === undefined ? [] : [{ type: 'text', text }];
}

function readStop(t: Translation, chat: JsonObject): string[] {
  const { stop } = chat;
  if (stop == null) return [];
  const isSingle = typeof stop === 'string';
  const sequences: string[] = [];
  (isSingle ? [stop] : readArray(stop, 'stop')).forEach((item, index) => {
    const path = isSingle ? 'stop' : `stop[${String(index)}]`;
    const sequence = readString(item, path);
    if (/\S/.test(sequence)) sequences.push(sequence);
    else t.notes.take(path, 'dropped', 'upstream takes no stop sequence of white space only');
  });
  return sequences;
}

function readEndUser(
  t: Translation,
  chat: JsonObject,
  endUserId: ((value: string) => string) | undefined,
): string | undefined {
  const { safety_identifier: identifier, user } = chat;
  const field = identifier == null ? 'user' : 'safety_identifier';
  const value = identifier ?? user;
  if (value == null || value === '') return undefined;
  if (identifier != null && user != null && user !== identifier) {
    t.notes.take('user', 'ignored', 'safety_identifier is used');
  }
  if (endUserId === undefined) {
    t.notes.take(field, 'ignored', 'end users are not told upstream');
    return undefined;
  }
  return endUserId(readString(value, field));
}
