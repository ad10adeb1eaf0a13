/**
 * A native Messages request, to a chat completions request.
 *
 * The chat body is built from what is known, never by copying and deleting. What cannot be carried is
 * told in notes; what would change the meaning if left out is refused.
 */

import type { Note, RequestProblem } from '../note.js';
import type { JsonObject } from '../raw-json.js';
import {
  RefusedRequestError,
  noteUnknownMembers,
  quote,
  readArray,
  readBoolean,
  readObject,
  readString,
  refuse,
  refuseType,
} from '../translation.js';
import { writeChatRequest, type ChatRequest, type ChatResponseFormat } from './chat-request.js';
import { translateTurns } from './messages.js';
import { cacheMembers, readNative, type NativeTranslation } from './native-source.js';
import { translateThinking } from './reasoning.js';
import { noteIgnoredMembers } from './request-fields.js';
import type { MessageContext } from './stop-reason.js';
import { translateToolUse } from './tools.js';
import type { ChatTraits } from './traits.js';

export interface TranslateMessagesOptions {
  /** The upstream's name of the model, sent instead of the client's own. */
  readonly model: string;
  readonly traits: ChatTraits;
}

export type MessagesRequestTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the chat completions request. */
      readonly body: string;
      readonly stream: boolean;
      /** What the translation of the answer has to know. */
      readonly response: MessageContext;
      /** What was ignored, dropped or rewritten: 100 at most, and one that counts the rest. */
      readonly notes: readonly Note[];
    }
  | {
      /** The client's error, `invalid_request_error`: nothing may be sent upstream. */
      readonly outcome: 'refused';
      readonly problem: RequestProblem;
    };

/**
 * Translates the body of a native request, given as its text, so that the inputs of past calls and
 * the schemas of tools are carried digit for digit and key by key.
 *
 * Never throws on what a client may send, and opens no URL. A streamed request asks for usage, which
 * the native format always tells.
 *
 * @example
 * const result = translateMessagesRequest(body, { model: 'gpt-5', traits });
 * if (result.outcome === 'translated') send(result.body);
 */
export function translateMessagesRequest(
  body: string | Uint8Array,
  options: TranslateMessagesOptions,
): MessagesRequestTranslation {
  try {
    return translate(body, options);
  } catch (error) {
    if (error instanceof RefusedRequestError) return { outcome: 'refused', problem: error.problem };
    throw error;
  }
}

function translate(
  body: string | Uint8Array,
  { model: upstreamModel, traits }: TranslateMessagesOptions,
): MessagesRequestTranslation {
  const { native, t } = readNative(body, traits);
  const model = readModel(native);
  const maxTokens = readMaxTokens(native);
  const stopSequences = readArray(native['stop_sequences'] ?? [], 'stop_sequences').map(
    (item, index) => readString(item, `stop_sequences[${String(index)}]`),
  );
  const stream = readBoolean(native['stream'] ?? false, 'stream');
  const request: ChatRequest = {
    model: upstreamModel,
    messages: translateTurns(t, native),
    ...(traits.maxTokens === 'max_tokens'
      ? { max_tokens: maxTokens }
      : { max_completion_tokens: maxTokens }),
    ...translateToolUse(t, native),
    ...(stopSequences.length > 0 ? { stop: stopSequences } : {}),
    ...sampling(t, native),
    ...translateThinking(t, native, traits),
    ...outputFormat(t, native),
    ...endUser(t, native),
    ...cacheMembers(t, native, ''),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  };
  noteIgnoredMembers(t, native);
  return {
    outcome: 'translated',
    body: writeChatRequest(request),
    stream,
    response: { model, stopSequences },
    notes: t.notes.finish(),
  };
}

function readModel({ model }: JsonObject): string {
  if (typeof model === 'string' && model !== '') return model;
  return refuseType('model', 'a non-empty string', model);
}

function readMaxTokens({ max_tokens: value }: JsonObject): number {
  if (typeof value !== 'number') return refuseType('max_tokens', 'an integer above 0', value);
  if (value === 0) {
    refuse('max_tokens', 'unsupported_value', 'caches cannot be filled without an answer here');
  }
  if (!Number.isInteger(value) || value < 0) {
    refuse('max_tokens', 'invalid_value', `must be an integer above 0, got ${quote(value)}`);
  }
  return value;
}

function sampling(
  { notes, traits }: NativeTranslation,
  native: JsonObject,
): Pick<ChatRequest, 'temperature' | 'top_p'> {
  const sent: { temperature?: number; top_p?: number } = {};
  for (const field of ['temperature', 'top_p'] as const) {
    const value = native[field];
    if (value == null) continue;
    if (typeof value !== 'number') refuseType(field, 'a number', value);
    else if (traits.sampling === 'accepted') sent[field] = value;
    // 1 is the default of both: leaving it out loses nothing.
    else if (value !== 1) notes.take(field, 'dropped', 'the model takes no sampling parameters');
  }
  return sent;
}

const CONFIG_MEMBERS = new Set(['effort', 'format']);
const FORMAT_MEMBERS = new Set(['type', 'schema']);
/** The chat format wants a name for every schema; the native one has none. */
const SCHEMA_NAME = 'answer';

function outputFormat(
  t: NativeTranslation,
  native: JsonObject,
): { response_format?: ChatResponseFormat } {
  if (native['output_config'] == null) return {};
  const config = readObject(native['output_config'], 'output_config');
  noteUnknownMembers(t, config, CONFIG_MEMBERS, 'output_config');
  if (config['format'] == null) return {};
  const path = 'output_config.format';
  const format = readObject(config['format'], path);
  const { type } = format;
  if (type !== 'json_schema') {
    refuse(`${path}.type`, 'unsupported_value', `must be "json_schema", got ${quote(type)}`);
  }
  noteUnknownMembers(t, format, FORMAT_MEMBERS, path);
  const schema = { json: t.rawObject(`${path}.schema`) };
  return { response_format: { type, json_schema: { name: SCHEMA_NAME, schema, strict: true } } };
}

const METADATA_MEMBERS = new Set(['user_id']);

function endUser(t: NativeTranslation, native: JsonObject): { user?: string } {
  if (native['metadata'] == null) return {};
  const metadata = readObject(native['metadata'], 'metadata');
  noteUnknownMembers(t, metadata, METADATA_MEMBERS, 'metadata');
  const { user_id: id } = metadata;
  return id == null ? {} : { user: readString(id, 'metadata.user_id') };
}
