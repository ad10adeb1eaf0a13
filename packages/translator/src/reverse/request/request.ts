/**
 * Translates a native Messages request to a chat completions request.
 *
 * The chat body is built from known members, never by copying and deleting. A member without an
 * equivalent is left out and noted. If leaving it out would change the meaning, the request is
 * refused.
 */

import type { Note, RequestProblem } from '../../reading/note.js';
import { type Place, quote } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { requireOption } from '../../wire/require-option.js';
import { finishNotes } from '../../reading/translation.js';
import type { MessageContext } from '../context/message-context.js';
import { type ChatRequest, type ChatResponseFormat, writeChatRequest } from './chat-request.js';
import { chatSchema } from './chat-schema.js';
import { noteIgnoredMembers } from './message-fields.js';
import { translateTurns } from './messages.js';
import { cacheMembers, type NativeTranslation, readNative } from './native-source.js';
import { translateThinking } from './reasoning.js';
import { isStrictSchema, NOT_STRICT } from './strict-schema.js';
import { translateToolUse } from './tools.js';
import type { ChatTraits } from './traits.js';

export interface TranslateMessagesOptions {
  /** The upstream's name of the model. It replaces the client's own. */
  readonly model: string;
  readonly traits: ChatTraits;
  /**
   * Makes the opaque `user` from the client's `metadata.user_id`. OpenAI takes at most 64
   * characters, and clients such as Claude Code send more. Without this function it is ignored.
   */
  readonly endUserId?: ((value: string) => string) | undefined;
}

export type MessagesRequestTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the chat completions request. */
      readonly body: string;
      readonly stream: boolean;
      /** The context that the translation of the answer needs. */
      readonly response: MessageContext;
      /**
       * One note for each part that was ignored, dropped or rewritten: at most 100, and one that
       * counts the rest.
       */
      readonly notes: readonly Note[];
    }
  | {
      /** An error of the client, `invalid_request_error`. There is nothing to send upstream. */
      readonly outcome: 'refused';
      readonly problem: RequestProblem;
    };

/**
 * Translates the body of a native request. It takes the text of the body, so that the inputs of
 * past calls and the schemas of tools keep every digit and the order of their keys.
 *
 * Does not throw on any input, and opens no URL. A streamed request asks the upstream for usage,
 * because a native stream always reports it.
 *
 * @example
 * import { translateMessagesRequest } from '@gateway/translator/reverse';
 *
 * const body = '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}';
 * const result = translateMessagesRequest(body, {
 *   model: 'gpt-5',
 *   traits: {
 *     maxTokens: 'max_completion_tokens',
 *     sampling: 'accepted',
 *     effort: [],
 *     files: 'pdf',
 *     toolResults: 'text',
 *     thinking: 'dropped',
 *     cacheControl: 'dropped',
 *   },
 * });
 * if (result.outcome === 'translated') console.log(result.body);
 */
export function translateMessagesRequest(
  body: string | Uint8Array,
  options: TranslateMessagesOptions,
): MessagesRequestTranslation {
  const { model, traits } = options ?? {};
  requireOption('model', model, "the upstream's name of the model");
  requireOption('traits.maxTokens', traits?.maxTokens, 'the member that limits the answer');
  requireOption('traits.effort', traits?.effort, 'a list');
  try {
    return translate(body, options);
  } catch (error) {
    if (error instanceof RefusedRequestError) return { outcome: 'refused', problem: error.problem };
    throw error;
  }
}

function translate(
  body: string | Uint8Array,
  { model: upstreamModel, traits, endUserId }: TranslateMessagesOptions,
): MessagesRequestTranslation {
  const { native, t } = readNative(body, traits);
  const model = native.at('model').nonEmptyString();
  const maxTokens = readMaxTokens(native.at('max_tokens'));
  const stopSequences = readStopSequences(native.given('stop_sequences'), traits);
  const stream = native.at('stream').boolean(false);
  const messages = translateTurns(t, native);
  const { request: toolUse, toolNames } = translateToolUse(t, native);
  const request: ChatRequest = {
    model: upstreamModel,
    messages,
    ...(traits.maxTokens === 'max_tokens'
      ? { max_tokens: maxTokens }
      : { max_completion_tokens: maxTokens }),
    ...toolUse,
    ...(stopSequences.length > 0 ? { stop: stopSequences } : {}),
    ...sampling(t, native),
    ...translateThinking(native, traits),
    ...outputFormat(t, native.at('output_config')),
    ...endUser(native.given('metadata'), endUserId),
    ...serviceTier(native.at('service_tier')),
    ...cacheMembers(t, native),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  };
  noteIgnoredMembers(native);
  return {
    outcome: 'translated',
    body: writeChatRequest(request),
    stream,
    response: { model, stopSequences, ...(toolNames.size > 0 ? { toolNames } : {}) },
    notes: finishNotes(t),
  };
}

function readMaxTokens(field: Place): number {
  const { value } = field;
  if (typeof value !== 'number') return field.mustBe('an integer above 0');
  if (value === 0) {
    field.refuse(
      '0 would fill a cache without an answer, which this upstream cannot do',
      'unsupported_value',
    );
  }
  if (!Number.isInteger(value) || value < 0) field.mustBe('an integer above 0', 'invalid_value');
  return value;
}

function readStopSequences(
  list: Place | undefined,
  { maxStopSequences = 4 }: ChatTraits,
): string[] {
  const sequences = list?.items((item, index) => {
    const sequence = item.string();
    if (index < maxStopSequences) return sequence;
    item.note('dropped', `the upstream takes at most ${maxStopSequences} stop sequences`);
    return undefined;
  });
  return sequences ?? [];
}

function sampling(
  { traits }: NativeTranslation,
  native: Place,
): Pick<ChatRequest, 'temperature' | 'top_p'> {
  const sent: { temperature?: number; top_p?: number } = {};
  for (const name of ['temperature', 'top_p'] as const) {
    const field = native.at(name);
    const { value } = field;
    if (value == null) continue;
    if (typeof value !== 'number') field.mustBe('a number');
    else if (traits.sampling === 'accepted') sent[name] = value;
    // 1 is the default of both, so leaving it out needs no note.
    else if (value !== 1) field.note('dropped', 'the model takes no sampling parameters');
  }
  return sent;
}

/** The chat format requires a name for every schema, and the native format has none. */
const SCHEMA_NAME = 'answer';

function outputFormat(
  t: NativeTranslation,
  config: Place,
): { response_format?: ChatResponseFormat } {
  const format = config.given('format');
  config.at('effort');
  config.noteUnread();
  if (format === undefined) return {};
  const type = format.object().at('type');
  if (type.value !== 'json_schema') return type.mustBe('"json_schema"', 'unsupported_value');
  const place = format.at('schema');
  const schema = { json: chatSchema(t.rawObject(place), 'answer') };
  format.noteUnread();
  const strict = isStrictSchema(place.value);
  if (!strict) place.note('rewritten', NOT_STRICT);
  return {
    response_format: {
      type: type.value,
      json_schema: { name: SCHEMA_NAME, schema, strict },
    },
  };
}

/** `auto` is the default of both formats. */
function serviceTier(field: Place): { service_tier?: 'default' } {
  const { value } = field;
  if (value === 'standard_only') return { service_tier: 'default' };
  if (value != null && value !== 'auto') field.note('ignored', `unknown value ${quote(value)}`);
  return {};
}

function endUser(
  metadata: Place | undefined,
  endUserId: TranslateMessagesOptions['endUserId'],
): { user?: string } {
  if (metadata === undefined) return {};
  const id = metadata.object().given('user_id');
  metadata.noteUnread();
  if (!id || id.value === '') return {};
  if (endUserId) return { user: endUserId(id.string()) };
  id.note('ignored', 'end users are not sent upstream');
  return {};
}
